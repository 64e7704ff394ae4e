// SPDX-License-Identifier: BSD-3-Clause
// The memory of LocalPages: frames that only this process has, and addresses for the pages of its area.
#pragma once

#include <cstddef>
#include <memory>

#include "base/status.hpp"
#include "pages/mappings.hpp"
#include "pages/pool.hpp"

namespace shm::pages {

/// A forked child has none of it.  Thread safety: as for AddressSpace; all of it is async-signal-safe.
class LocalSpace final : public AddressSpace {
 public:
  /// A pool of that shape, all frames free, with memory below all of them, in huge pages where there are any;
  /// and addresses for all its pages, where each access is a fault.
  static Result<std::unique_ptr<LocalSpace>> create(const PoolShape& shape);
  ~LocalSpace();
  LocalSpace(const LocalSpace&) = delete;
  LocalSpace& operator=(const LocalSpace&) = delete;

  std::byte* base() const { return area_; }
  std::size_t size() const { return shape_.segment_pages * shape_.page_bytes; }
  Pool pool() const { return {pool_, shape_}; }

  bool map(std::byte* at, std::size_t offset, std::size_t n, bool writable) override;
  bool protect(std::byte* at, std::size_t n, bool writable) override;
  bool unmap(std::byte* at, std::size_t n) override;

 private:
  explicit LocalSpace(const PoolShape& shape) : shape_(shape) {}
  Status open();

  const PoolShape shape_;
  int file_ = -1;
  std::byte* pool_ = nullptr;
  std::byte* area_ = nullptr;
};

}  // namespace shm::pages
