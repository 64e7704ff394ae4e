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
#include <deque>
#include <map>
#include <memory>
#include <utility>

#include "base/mutex.hpp"
#include "base/status.hpp"
#include "pages/fault.hpp"
#include "pages/local_frames.hpp"
#include "pages/local_slots.hpp"
#include "pages/local_space.hpp"
#include "pages/local_sweeper.hpp"
#include "pages/swap_stages.hpp"
#include "pages/thread_read_ahead.hpp"

namespace shm::pages {

/// An area of memory, bytes [base, base + size), of which few pages are in frames at a time.  They are zeros
/// at first. Thread safety: all calls and all accesses by any thread, also in signal handlers, unless it says
/// otherwise.
class LocalPages final : private FaultResolver, private LocalSweeper::Work {
 public:
  struct Settings {
    std::size_t page_bytes = std::size_t{2} << 20;  // a power of two, 4 KiB or more
    std::size_t frames = 0;
    std::size_t bytes = 0;    // of the area; a multiple of page_bytes
    unsigned read_slots = 2;  // reads under way that a thread waits for
    unsigned writes = 4;      // writes of pages that leave
    unsigned ahead = 1;       // reads ahead of use
    // Whether the calling thread is where it must not use the backing, as it might hold the backing's locks;
    // then the sweeper resolves its faults.  Async-signal-safe; null: it never is.
    bool (*is_inside)() = nullptr;
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
  bool contains(const void* address) const { return space_->contains(address); }
  /// Where in the area a byte is.  REQUIRES: contains().
  std::size_t offset_of(const void* address) const { return space_->offset_of(address); }

  /// Pages [offset, offset + n) are at `at` from now on, instead of base() + offset: see
  /// LocalSpace::add_window(). `at` is a multiple of the page.  An error says why not, and all is as before.
  /// Thread safety: any thread, not in a signal handler.
  Status add_window(std::size_t offset, std::size_t n, std::byte* at);
  const Windows& windows() const { return space_->windows(); }
  /// Where the backing reads and writes: for networks that have to be told.  Part of it is no page's.
  std::byte* frame_memory() const { return pool_.bytes(0); }
  std::size_t frame_bytes() const { return settings_.frames * settings_.page_bytes; }

  /// Puts memory below all frames.  See LocalSpace.
  void lay_out() const { space_->lay_out(); }

  /// The thread that makes room for pages ahead of need.  Without it faults do.  Thread safety: one thread.
  void start() { sweeper_.start(); }
  void stop() { sweeper_.stop(); }

  // Of [offset, offset + n) of the area.

  /// What the pages hold that lie in it wholly is lost: they read as zeros, and have no frames.  Waits for
  /// those that are on their way.  REQUIRES: none is pinned.
  void forget(std::size_t offset, std::size_t n);
  /// What the pages hold that lie in it wholly does not matter, as all of it is about to be stored: it need
  /// not be read, nor written before.
  void overwrite(std::size_t offset, std::size_t n);

  /// Past the cache: what is in frames is copied, the rest moved straight between where it is kept and that
  /// memory, and no page comes or leaves for it.  Words are read and written whole.  REQUIRES: that memory is
  /// not in the area.
  void read(std::size_t offset, void* into, std::size_t n);
  void write(std::size_t offset, const void* from, std::size_t n);

  /// Pages of which part lies there are in frames and mapped for `access` until unpin().  Returns false, and
  /// nothing is pinned, if that is more than a quarter of the frames, with those pinned already.  Not in
  /// signal handlers.
  bool pin(std::size_t offset, std::size_t n, Access access);
  /// Returns false if that range has not been pinned.
  bool unpin(std::size_t offset, std::size_t n);
  /// Whether a page is pinned of which part lies there.
  bool any_pinned(std::size_t offset, std::size_t n);

  const LocalStatistics& statistics() const { return statistics_; }
  const SwapStages& stages() const { return stages_; }
  /// Frames that a page may get at once, about.
  std::size_t frames_at_hand() const { return frames_.at_hand(); }
  const LocalSpace::Calls& system_calls() const { return space_->calls(); }
  /// Writes all pages that are dirty, but those that are pinned to be written; they stay where they are.
  void quiesce();

 private:
  LocalPages(Backing& backing, const Settings& settings, std::unique_ptr<LocalSpace> space);
  /// Faults of a window.
  struct Door final : FaultResolver {
    Door(LocalPages& of, std::size_t at) : pages(of), offset(at) {}
    void resolve(std::size_t within, Access access) override { pages.resolve_page(offset + within, access); }

    LocalPages& pages;
    const std::size_t offset;
  };
  void resolve(std::size_t offset, Access access) override;
  void resolve_page(std::size_t offset, Access access);
  bool in_one_place(PageNumber page, PageNumber other) const;
  void bring_mapped(PageNumber page, Access access) override;
  void sweep() override { frames_.sweep(); }
  FrameNumber fill(PageNumber page, SwapTimes& times);
  void use(PageNumber page);
  bool read_ahead(PageNumber page);
  void map(PageNumber page, FrameNumber frame, Access access);
  FrameNumber bring_latched(PageNumber page, Access access);
  void pin_page(PageNumber page, Access access);
  void read_piece(PageNumber page, std::size_t within, std::byte* into, std::size_t n);
  void write_piece(PageNumber page, std::size_t within, const std::byte* from, std::size_t n);

  const Settings settings_;
  const std::unique_ptr<LocalSpace> space_;
  const Pool pool_;
  Mappings mappings_;
  ThreadReadAhead read_ahead_;
  LocalStatistics statistics_;
  SwapStages stages_;
  LocalSlots slots_;
  LocalSweeper sweeper_;
  LocalFrames frames_;

  Mutex doors_mutex_;
  std::deque<Door> doors_ GUARDED_BY(doors_mutex_);

  Mutex pins_mutex_;
  std::multimap<std::pair<std::size_t, std::size_t>, Access> pins_
      GUARDED_BY(pins_mutex_);  // by offset and size
};

}  // namespace shm::pages
