// SPDX-License-Identifier: BSD-3-Clause
// Pages that only their node, that is one process, uses: a fault is resolved by the thread that has it,
// without a message and without a pager.
//
//   absent -claim--> coming --frame filled, or zeros--> clean --store: mprotect--> dirty
//      ^                                                 |  ^                        |
//      +--frame needed-- standby <--------unmapped-------+  +------written-----------+
//
// A thread that needs what another one is doing to a page sleeps until that is done (LocalWaits).  Nobody who
// sleeps holds a lock; who has a page closed takes no signals, as the handler might need that page.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/status.hpp"
#include "pages/fault.hpp"
#include "pages/local_frames.hpp"
#include "pages/local_slots.hpp"
#include "pages/local_space.hpp"

namespace shm::pages {

/// An area of memory, bytes [base, base + size), of which few pages are in frames at a time.  They are zeros
/// at first. Thread safety: all calls and all accesses by any thread, also in signal handlers, unless it says
/// otherwise.
class LocalPages final : private FaultResolver {
 public:
  struct Settings {
    std::size_t page_bytes = std::size_t{2} << 20;  // a power of two, 4 KiB or more
    std::size_t frames = 0;
    std::size_t bytes = 0;    // of the area; a multiple of page_bytes
    unsigned read_slots = 2;  // reads under way that a thread waits for
    unsigned writes = 4;      // writes of pages that leave
  };
  static constexpr std::size_t kFewestFrames = 4;

  /// `backing` outlives it.
  static Result<std::unique_ptr<LocalPages>> create(Backing& backing, const Settings& settings);
  /// REQUIRES: no access and no call is under way, or follows.
  ~LocalPages();
  LocalPages(const LocalPages&) = delete;
  LocalPages& operator=(const LocalPages&) = delete;

  std::byte* base() const { return space_->base(); }
  std::size_t size() const { return space_->size(); }
  bool contains(const void* address) const {
    const auto* at = static_cast<const std::byte*>(address);
    return at >= base() && at < base() + size();
  }
  /// Where the backing reads and writes: for networks that have to be told.  Part of it is no page's.
  std::byte* frame_memory() const { return pool_.bytes(0); }
  std::size_t frame_bytes() const { return settings_.frames * settings_.page_bytes; }

  const LocalStatistics& statistics() const { return statistics_; }
  /// Writes all pages that are dirty; they stay where they are.
  void quiesce();

 private:
  LocalPages(Backing& backing, const Settings& settings, std::unique_ptr<LocalSpace> space);
  void resolve(std::size_t offset, Access access) override;
  void bring(PageNumber page, Access access);
  void fill(PageNumber page, FrameNumber& frame);
  void map(PageNumber page, FrameNumber frame, Access access);

  const Settings settings_;
  const std::unique_ptr<LocalSpace> space_;
  const Pool pool_;
  Mappings mappings_;
  LocalStatistics statistics_;
  LocalSlots slots_;
  LocalFrames frames_;
};

}  // namespace shm::pages
