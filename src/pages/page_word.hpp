// SPDX-License-Identifier: BSD-3-Clause
// The word of a page: what a node has of it, in which frame, and how many threads have it latched, that is,
// copy to or from it.  In memory that all PEs of the node share.  From the lowest bit: 3 bits of state, 1
// closed, 20 of latches, 1 stored, 1 awaited; from bit 32 on the frame, or, of a page that is not here, its
// departure.
//
// Pages that only their node uses (LocalPages) are exclusive, that is clean, or modified, that is dirty. Such
// a page belongs to whichever thread has closed it:
//
//   absent --claim--> closed, coming --publish--> clean or dirty --try_close--> closed --publish, reopen-->
//   ...
//      ^                    |                                                     |
//      +------vacate--------+-----------------------vacate-----------------------+
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

/// How reports say that a node has a page so.
constexpr const char* state_here(PageState state) {
  constexpr const char* kSaid[] = {", which is not here", ", shared here", ", owned here", ", exclusive here",
                                   ", modified here"};
  return kSaid[static_cast<unsigned>(state)];
}

/// Whether a node that has the page in `state` may read, or write, without asking anybody.
constexpr bool permits(PageState state, Access access) {
  if (access == Access::read) return state != PageState::invalid;
  return state == PageState::exclusive || state == PageState::modified;
}

/// The state of a page on a node, its frame, and how many threads are copying to or from it.
/// Thread safety: latch() and unlatch() by any thread of any PE of the node, signal handlers included; the
/// rest by the pager that caches the page, or, of a page that only its node uses, as is said below.
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
  /// Returns whether somebody awaits it.
  bool reopen() {
    return (word_.fetch_and(~(kClosed | kAwaited), std::memory_order_acq_rel) & kAwaited) != 0;
  }
  /// REQUIRES: closed, not latched.
  void clear() { word_.store(0, std::memory_order_release); }
  /// While the page is not here: which departure its last one was, of all of the node; 0: it never was here,
  /// or that is forgotten.
  void remember(std::uint32_t departure) {
    std::uint64_t seen = word_.load(std::memory_order_relaxed);
    while (state_of(seen) == PageState::invalid && seen >> kFrameShift == 0 &&
           !word_.compare_exchange_weak(seen, seen | std::uint64_t{departure} << kFrameShift,
                                        std::memory_order_relaxed)) {
    }
  }
  std::uint32_t departure() const {
    const std::uint64_t word = word_.load(std::memory_order_relaxed);
    return state_of(word) == PageState::invalid ? static_cast<std::uint32_t>(word >> kFrameShift) : 0;
  }

  // Of a page that only its node uses, by any of its threads, signal handlers included.

  /// Where it is, or was a moment ago; kNoFrame: not here.
  FrameNumber frame_if_here() const {
    const std::uint64_t word = word_.load(std::memory_order_acquire);
    return state_of(word) == PageState::invalid ? kNoFrame : frame_of(word);
  }
  bool closed() const { return (word_.load(std::memory_order_acquire) & kClosed) != 0; }
  /// Whether what the page holds has to be read from where it is kept; else it reads as zeros.  Of a page
  /// that is dirty it says nothing.
  bool stored() const { return (word_.load(std::memory_order_acquire) & kStored) != 0; }
  /// Whether it is not here, nobody's, and reads as zeros.
  bool holds_nothing() const {
    const std::uint64_t word = word_.load(std::memory_order_acquire);
    return state_of(word) == PageState::invalid && (word & (kClosed | kStored)) == 0;
  }
  /// The page is not here, and is the caller's to bring: closed.  Returns false if it is here, or another's.
  bool claim() {
    std::uint64_t seen = word_.load(std::memory_order_relaxed);
    do {
      if (state_of(seen) != PageState::invalid || (seen & kClosed) != 0) return false;
    } while (!word_.compare_exchange_weak(seen, seen | kClosed, std::memory_order_acq_rel,
                                          std::memory_order_relaxed));
    return true;
  }
  /// The same for one that is here, in `frame`.  Returns false if it is not there, or latched, or another's.
  bool try_close(FrameNumber frame) {
    std::uint64_t seen = word_.load(std::memory_order_relaxed);
    do {
      if (state_of(seen) == PageState::invalid || (seen & kClosed) != 0 || latches_of(seen) != 0 ||
          frame_of(seen) != frame)
        return false;
    } while (!word_.compare_exchange_weak(seen, seen | kClosed, std::memory_order_acq_rel,
                                          std::memory_order_relaxed));
    return true;
  }
  /// Whether it is another's, to whom it is said that somebody waits until it is not.
  bool await() {
    std::uint64_t seen = word_.load(std::memory_order_acquire);
    do {
      if ((seen & kClosed) == 0) return false;
    } while (!word_.compare_exchange_weak(seen, seen | kAwaited, std::memory_order_acq_rel,
                                          std::memory_order_acquire));
    return true;
  }
  /// By who has it closed; these two return whether somebody awaits it.  It is in `frame`, filled, and open.
  bool publish(PageState state, FrameNumber frame, bool stored, unsigned latches = 0) {
    return replace(bits(state) | kLatch * latches | (stored ? kStored : 0) |
                   std::uint64_t{frame} << kFrameShift);
  }
  /// It is not here.
  bool vacate(bool stored) {
    const std::uint64_t departed = std::uint64_t{departure()} << kFrameShift;
    return replace(departed | (stored ? kStored : 0));
  }
  /// What the page holds does not matter any more, unless it is dirty.  Returns false if it is another's.
  bool forget_stored() {
    std::uint64_t seen = word_.load(std::memory_order_relaxed);
    do {
      if ((seen & kClosed) != 0) return false;
    } while ((seen & kStored) != 0 &&
             !word_.compare_exchange_weak(seen, seen & ~kStored, std::memory_order_acq_rel,
                                          std::memory_order_relaxed));
    return true;
  }

 private:
  static constexpr std::uint64_t kStateMask = 7, kClosed = 8, kLatch = 16, kStored = std::uint64_t{1} << 24,
                                 kAwaited = std::uint64_t{1} << 25;
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

  bool replace(std::uint64_t word) {
    return (word_.exchange(word, std::memory_order_acq_rel) & kAwaited) != 0;
  }

  std::atomic<std::uint64_t> word_;
};
static_assert(sizeof(PageWord) == 8);

}  // namespace shm::pages
