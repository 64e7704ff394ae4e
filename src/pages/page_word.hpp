// SPDX-License-Identifier: BSD-3-Clause
// The word of a page: what a node has of it, in which frame, and how many threads have it latched, that is,
// copy to or from it.  In memory that all PEs of the node share.  From the lowest bit: 3 bits of state, 1
// closed, 20 of latches; from bit 32 on the frame, or, of a page that is not here, its departure.
#pragma once

#include <atomic>
#include <cstdint>

#include "pages/frame_order.hpp"

namespace shm::pages {

/// Number of a page in the job: the PE in whose segment it lies, times the pages of a segment, plus its
/// place.
using PageNumber = std::uint64_t;
using FrameNumber = std::uint32_t;
inline constexpr FrameNumber kNoFrame = ~FrameNumber{0};

/// `count` pages: first, first + step, ...
struct PageRange {
  PageNumber first = 0;
  std::int64_t step = 1;
  std::uint64_t count = 0;
};

/// What a node has of a page: MOESI.
enum class PageState : std::uint8_t { invalid, shared, owned, exclusive, modified };
enum class Access : std::uint8_t { read, write };

/// Whether a node that has the page in `state` may read, or write, without asking anybody.
constexpr bool permits(PageState state, Access access) {
  if (access == Access::read) return state != PageState::invalid;
  return state == PageState::exclusive || state == PageState::modified;
}

/// The state of a page on a node, its frame, and how many threads are copying to or from it.
/// Thread safety: latch() and unlatch() by any thread of any PE of the node, signal handlers included; the
/// rest by the pager that caches the page.
class PageWord {
 public:
  /// Latches the page, if the state permits the access; a write makes the page modified.  Returns the frame,
  /// which stays where it is until unlatch(), or kNoFrame.
  FrameNumber latch(Access access) {
    std::uint64_t seen = word_.load(std::memory_order_acquire);
    for (;;) {
      if ((seen & kClosed) != 0 || !permits(state_of(seen), access)) return kNoFrame;
      std::uint64_t next = seen + kLatch;
      if (access == Access::write) next = (next & ~kStateMask) | bits(PageState::modified);
      if (word_.compare_exchange_weak(seen, next, std::memory_order_acq_rel, std::memory_order_acquire)) {
        frame_taken();
        return frame_of(seen);
      }
    }
  }
  /// Release: what was copied in is seen by whoever closes or latches the page next.
  void unlatch() {
    frame_left();
    word_.fetch_sub(kLatch, std::memory_order_release);
  }

  PageState state() const { return state_of(word_.load(std::memory_order_acquire)); }
  /// REQUIRES: the page is here.
  FrameNumber frame() const { return frame_of(word_.load(std::memory_order_relaxed)); }
  bool latched() const { return latches_of(word_.load(std::memory_order_acquire)) != 0; }

  /// The page is in `frame`, filled, latched `latches` times for those who wait for it.
  void open(PageState state, FrameNumber frame, unsigned latches = 0) {
    word_.store(bits(state) | kLatch * latches | std::uint64_t{frame} << kFrameShift,
                std::memory_order_release);
  }
  /// Another state; latches stay.  REQUIRES: the page is here, and stays.
  void become(PageState state) {
    std::uint64_t seen = word_.load(std::memory_order_relaxed);
    // An exclusive page that has just been written to is modified, and stays so.
    while (!(state == PageState::exclusive && state_of(seen) == PageState::modified) &&
           !word_.compare_exchange_weak(seen, (seen & ~kStateMask) | bits(state), std::memory_order_release,
                                        std::memory_order_relaxed)) {
    }
  }
  /// No new latches.  Returns whether there are none: then nobody copies any more.
  bool close() { return latches_of(word_.fetch_or(kClosed, std::memory_order_acq_rel)) == 0; }
  void reopen() { word_.fetch_and(~kClosed, std::memory_order_release); }
  /// REQUIRES: closed, not latched.
  void clear() { word_.store(0, std::memory_order_release); }
  /// While the page is not here: which departure its last one was, of all of the node; 0: it never was here,
  /// or that is forgotten.
  void remember(std::uint32_t departure) {
    std::uint64_t absent = 0;
    word_.compare_exchange_strong(absent, std::uint64_t{departure} << kFrameShift, std::memory_order_relaxed);
  }
  std::uint32_t departure() const {
    const std::uint64_t word = word_.load(std::memory_order_relaxed);
    return state_of(word) == PageState::invalid ? static_cast<std::uint32_t>(word >> kFrameShift) : 0;
  }

 private:
  static constexpr std::uint64_t kStateMask = 7, kClosed = 8, kLatch = 16;
  static constexpr unsigned kLatchBits = 20, kFrameShift = 32;
  static constexpr std::uint64_t bits(PageState state) { return static_cast<std::uint64_t>(state); }
  static constexpr PageState state_of(std::uint64_t word) {
    return static_cast<PageState>(word & kStateMask);
  }
  static constexpr std::uint64_t latches_of(std::uint64_t word) {
    return word / kLatch & ((std::uint64_t{1} << kLatchBits) - 1);
  }
  static constexpr FrameNumber frame_of(std::uint64_t word) {
    return static_cast<FrameNumber>(word >> kFrameShift);
  }

  std::atomic<std::uint64_t> word_;
};
static_assert(sizeof(PageWord) == 8);

}  // namespace shm::pages
