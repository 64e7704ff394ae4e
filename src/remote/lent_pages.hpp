// SPDX-License-Identifier: BSD-3-Clause
// Pages that lie on memory servers, for who moves them itself.
#pragma once

#include <chrono>
#include <cstddef>

#include "pages/backing.hpp"
#include "remote/lent_range.hpp"

namespace shm::remote {

/// As Backing, on a range: page k of the one is page k of the other.  Each is moved by one transfer.
class LentPages final : public pages::Backing {
 public:
  explicit LentPages(const LentRange& range) : range_(range) {}

  void read(pages::PageNumber page, std::size_t within, std::byte* into, std::size_t n,
            Completion& done) override;
  void write(pages::PageNumber page, std::size_t within, const std::byte* from, std::size_t n,
             Completion& done) override;
  bool poll() override { return range_.servers().poll(); }
  void waits(std::chrono::steady_clock::time_point since, WaitWatch& watch) override {
    range_.servers().look_for_silence(since, watch);
  }

 private:
  Place place(pages::PageNumber page, std::size_t within) const {
    return range_.place(page * range_.shape().page_bytes + within);
  }

  const LentRange& range_;
};

}  // namespace shm::remote
