// SPDX-License-Identifier: BSD-3-Clause
// Read-ahead of threads that fault: each one's pages are judged by themselves, where it faults, so that the
// sequences of several threads do not hide each other, and the pager is told only what it has to bring.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>

#include "pages/read_ahead.hpp"

namespace shm::pages {

/// Of a process.  Thread safety: any thread, also in a signal handler that nothing else interrupts.
class ThreadReadAhead {
 public:
  /// Threads beyond so many share places.
  static constexpr std::size_t kPlaces = 64;

  explicit ThreadReadAhead(std::uint64_t most_ahead) {
    for (std::size_t i = 0; i < kPlaces; ++i) places_.emplace_back(most_ahead);
  }

  struct Use {
    PageRange bring;    // what ReadAhead::use() returns
    PageRange awaited;  // what ReadAhead::awaited() does
  };
  /// The calling thread uses `page`.  Async-signal-safe.
  Use use(PageNumber page);

 private:
  struct alignas(64) Place {
    explicit Place(std::uint64_t most_ahead) : read_ahead(most_ahead) {}
    std::atomic<bool> taken{false};  // by a thread that is inside
    ReadAhead read_ahead;
  };
  std::deque<Place> places_;
};

}  // namespace shm::pages
