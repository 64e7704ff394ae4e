// SPDX-License-Identifier: BSD-3-Clause
// Whose turn it is to make a round of a pager: its own thread's, or a thread's that waits for it, or drives
// the network.  One word:
//
//   free --begin()--> taken --end()--> free
//
//   call(), at any time: there is something new for a round to find.  It is in the next one if the word is
//   free; if it is taken, whoever has the turn learns of it from end(), and sees that another round is made.
//
// So what is called is never forgotten, as long as who calls tries begin() then, or rings the pager, and so
// does whose end() returns true.
#pragma once

#include <atomic>
#include <cstdint>

namespace shm::nvm {

/// Thread safety: any thread.  What is done between begin() and end() happens before what is done in the next
/// turn; what is done before call(), before the next round of whoever has the turn.
class Turns {
 public:
  /// Takes the turn.  Returns false if another has it.
  bool begin() { return take(0); }
  /// The same; if another has it, calls.
  bool begin_or_call() { return take(kCalled); }
  void call() { word_.fetch_or(kCalled, std::memory_order_acq_rel); }
  bool called() const { return (word_.load(std::memory_order_acquire) & kCalled) != 0; }
  /// By who has the turn.  Returns whether somebody has called since begin().
  bool end() { return (word_.fetch_and(~kTaken, std::memory_order_acq_rel) & kCalled) != 0; }

 private:
  static constexpr std::uint32_t kTaken = 1, kCalled = 2;

  bool take(std::uint32_t otherwise) {
    std::uint32_t seen = word_.load(std::memory_order_relaxed);
    for (;;) {
      const bool taken = (seen & kTaken) != 0;
      const std::uint32_t next = taken ? seen | otherwise : kTaken;
      if (word_.compare_exchange_weak(seen, next, std::memory_order_acq_rel, std::memory_order_relaxed))
        return !taken;
    }
  }

  std::atomic<std::uint32_t> word_{0};
};

}  // namespace shm::nvm
