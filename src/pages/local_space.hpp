// SPDX-License-Identifier: BSD-3-Clause
// The memory of LocalPages: frames that only this process has, and addresses for the pages of its area.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/spin.hpp"
#include "base/status.hpp"
#include "pages/mappings.hpp"
#include "pages/pool.hpp"
#include "pages/spare_mappings.hpp"
#include "pages/windows.hpp"

namespace shm::pages {

/// A forked child has none of it.  Thread safety: as for AddressSpace; all of it is async-signal-safe.
class LocalSpace final : public AddressSpace {
 public:
  /// A pool of that shape, all frames free; and addresses for all its pages, where each access is a fault.
  /// Takes no memory for them yet.
  static Result<std::unique_ptr<LocalSpace>> create(const PoolShape& shape);
  ~LocalSpace();
  LocalSpace(const LocalSpace&) = delete;
  LocalSpace& operator=(const LocalSpace&) = delete;

  /// Puts memory below all frames, in huge pages where there are any: before the first access, which would
  /// have to wait for it.  Thread safety: one thread; not in a signal handler.
  void lay_out() const;

  /// System calls of each kind that threads have made so far.
  struct Calls {
    std::atomic<std::uint64_t> map{0}, protect{0}, unmap{0};
  };
  const Calls& calls() const { return calls_; }

  std::byte* base() const { return area_; }
  std::size_t size() const { return shape_.segment_pages * shape_.page_bytes; }
  Pool pool() const { return {pool_, shape_}; }

  /// Pages [offset, offset + n) of the area are at `at` from now on, where each access is a fault as well,
  /// instead of base() + offset.  What was at `at` is gone; after the end accesses are still faults.  Returns
  /// false and sets errno if the system has no room; then all is as before.  REQUIRES: Windows::add(); none
  /// of these pages is mapped; nobody uses what is at `at`; its addresses are free for this until the end.
  /// Thread safety: as for Windows.
  bool add_window(std::size_t offset, std::size_t n, std::byte* at);
  const Windows& windows() const { return windows_; }
  /// Whether it is an address of the area, or in a window.
  bool contains(const void* address) const {
    return in_area(address) || windows_.with_address(address) != nullptr;
  }
  /// Where in the area a byte is.  REQUIRES: contains().
  std::size_t offset_of(const void* address) const;

  // `at` is where the pages would be if there were no windows: base() + their offset.
  bool map(std::byte* at, std::size_t offset, std::size_t n, bool writable) override;
  bool protect(std::byte* at, std::size_t n, bool writable) override;
  bool unmap(std::byte* at, std::size_t n) override;

 private:
  explicit LocalSpace(const PoolShape& shape) : shape_(shape) {}
  Status open();
  bool in_area(const void* address) const {
    const auto* at = static_cast<const std::byte*>(address);
    return at >= area_ && at < area_ + size();
  }
  std::byte* place(std::byte* at) const;
  bool unmap_row(std::byte* at, std::size_t n);
  bool give_up_spares();
  void make_spares();

  const PoolShape shape_;
  Calls calls_;
  int file_ = -1;
  std::byte* pool_ = nullptr;
  std::byte* area_ = nullptr;
  Windows windows_;
  SpinLock spares_lock_;
  SpareMappings spares_
      GUARDED_BY(spares_lock_);  // where there is no room for more, one is unmapped with these
};

}  // namespace shm::pages
