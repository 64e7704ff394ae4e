// SPDX-License-Identifier: BSD-3-Clause
// The ends of the pages that a pager has under way, at which threads may look that have no turn: so who polls
// makes a round only if it may find something.
//
// Thread safety: begin() and end() by who has the pager's turn; any() by any thread.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>

#include "transports/net.hpp"

namespace shm::nvm {

class Arrivals {
 public:
  static constexpr std::size_t kMost = 256;

  /// For a page that is to leave or to be fetched: before it is.  Null: so many are under way that this one
  /// is not looked at; any() is true until it ends.
  Completion* begin() {
    const auto free = std::ranges::find(slots_, false, [](const Slot& slot) { return slot.taken.load(); });
    if (free == slots_.end()) {
      unseen_.fetch_add(1, std::memory_order_relaxed);
      return nullptr;
    }
    free->completion.reset();
    used_.store(std::max<std::size_t>(used_.load(), free - slots_.begin() + 1), std::memory_order_relaxed);
    free->taken.store(true, std::memory_order_release);
    return &free->completion;
  }

  /// What begin() has returned, or what was used instead of null: it is done, and that has been seen to.
  void end(const Completion* completion) {
    const auto slot = std::ranges::find(slots_, completion, [](const Slot& one) { return &one.completion; });
    if (slot == slots_.end()) {
      unseen_.fetch_sub(1, std::memory_order_relaxed);
    } else {
      slot->taken.store(false, std::memory_order_relaxed);
    }
  }

  /// Whether one is done that has not been seen to.
  bool any() const {
    const auto last = slots_.begin() + static_cast<std::ptrdiff_t>(used_.load(std::memory_order_relaxed));
    return unseen_.load(std::memory_order_relaxed) != 0 ||
           std::any_of(slots_.begin(), last, [](const Slot& slot) {
             return slot.taken.load(std::memory_order_acquire) && slot.completion.done();
           });
  }

 private:
  struct Slot {
    std::atomic<bool> taken{false};
    Completion completion;
  };
  std::array<Slot, kMost> slots_;
  std::atomic<std::size_t> used_{0};    // slots that ever were, the first ones
  std::atomic<std::size_t> unseen_{0};  // under way without a slot
};

}  // namespace shm::nvm
