// SPDX-License-Identifier: BSD-3-Clause
// Counts what is under way so that a thread can wait for what was begun before it came, and not for what
// others go on to begin.
#pragma once

#include <atomic>
#include <cstdint>

namespace shm {

/// Two epochs are counted at a time, side by side.  Who waits begins the next epoch as soon as the one before
/// this has ended, so that new operations are counted on the other side than those it waits for.
///
/// Thread safety: any thread.
class Epochs {
 public:
  /// One wait: what was under way at the first drained() of it.
  class Wait {
    friend class Epochs;
    static constexpr unsigned kBoth = 3;
    unsigned left = kBoth;  // sides that have not been seen empty since
    bool begun = false;
    std::uint32_t since = 0;  // the epoch then
  };

  /// Counts one more; returns the side, which end() wants.  Relaxed: whoever must see it is this thread, or
  /// was told by it.
  unsigned begin() {
    const unsigned side = epoch_.load(std::memory_order_relaxed) % 2;
    counts_.fetch_add(one(side), std::memory_order_relaxed);
    return side;
  }
  /// Release: pairs with the acquire in idle() and drained().
  void end(unsigned side) { counts_.fetch_sub(one(side), std::memory_order_release); }

  bool idle() const { return counts_.load(std::memory_order_acquire) == 0; }
  std::uint64_t count() const {
    const std::uint64_t counts = counts_.load(std::memory_order_acquire);
    return of(counts, 0) + of(counts, 1);
  }

  /// Whether all that had begun before the first call with this `wait` has ended.
  bool drained(Wait& wait) {
    if (idle()) wait.left = 0;
    return wait.left == 0 || drained_slowly(wait);
  }

 private:
  static constexpr std::uint64_t one(unsigned side) { return std::uint64_t{1} << 32 * side; }
  static constexpr std::uint64_t of(std::uint64_t counts, unsigned side) {
    return counts >> 32 * side & 0xffffffff;
  }

  // Each side must have been empty at some time since the wait began, as a thread that was slow in begin()
  // may count on either.  A side that others keep from being seen empty has been so all the same if somebody
  // has begun an epoch that is counted there: an epoch begins when its side is empty.  The first epoch to
  // begin after the wait may have been found to have an empty side before; those after it cannot, by the
  // order of the sequentially consistent operations here.
  [[gnu::cold, gnu::noinline]] bool drained_slowly(Wait& wait) {
    if (!wait.begun) std::atomic_thread_fence(std::memory_order_seq_cst);
    std::uint32_t epoch = epoch_.load(std::memory_order_seq_cst);
    if (!wait.begun) wait.since = epoch;
    wait.begun = true;
    const std::uint64_t counts = counts_.load(std::memory_order_seq_cst);
    for (unsigned side = 0; side < 2; ++side) {
      if (of(counts, side) == 0) wait.left &= ~(1U << side);
    }
    if (epoch - wait.since >= 3) wait.left = 0;
    if (wait.left != 0 && of(counts, (epoch + 1) % 2) == 0)
      epoch_.compare_exchange_strong(epoch, epoch + 1, std::memory_order_seq_cst);
    return wait.left == 0;
  }

  std::atomic<std::uint64_t> counts_{0};  // of both sides
  std::atomic<std::uint32_t> epoch_{0};
};

}  // namespace shm
