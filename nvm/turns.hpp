// SPDX-License-Identifier: BSD-3-Clause
// Whose turn it is to make a round of a pager: its own thread's, or a thread's that waits for it, or drives
// the network.  One word:
//
//   free --begin()--> taken --end()--> free
//
//   call(), at any time: there is something new for a round to find.  It is in the next one if the word is
//   free; if it is taken, whoever has the turn learns of it from end(), and sees that another round is made.
//
// Nothing called is forgotten if who calls then tries begin(), or rings the pager, and whoever gets true from
// end() does the same.
#pragma once

#include <atomic>
#include <cstdint>

namespace shm::nvm {

/// Thread safety: any thread.  What is done between begin() and end() happens before what is done in the next
/// turn; what is done before call(), before the next round of whoever has the turn.
class Turns {
 public:
  /// Takes the turn.  Returns false if another has it.
  bool begin() {
    std::uint32_t seen = word_.load(std::memory_order_relaxed);
    while ((seen & kTaken) == 0) {
      if (word_.compare_exchange_weak(seen, kTaken, std::memory_order_acq_rel, std::memory_order_relaxed))
        return true;
    }
    return false;
  }
  bool taken() const { return (word_.load(std::memory_order_relaxed) & kTaken) != 0; }
  void call() { word_.fetch_or(kCalled, std::memory_order_acq_rel); }
  bool called() const { return (word_.load(std::memory_order_acquire) & kCalled) != 0; }
  /// By who has the turn.  Returns whether somebody has called since begin().
  bool end() { return (word_.fetch_and(~kTaken, std::memory_order_acq_rel) & kCalled) != 0; }

 private:
  static constexpr std::uint32_t kTaken = 1, kCalled = 2;

  std::atomic<std::uint32_t> word_{0};
};

}  // namespace shm::nvm
