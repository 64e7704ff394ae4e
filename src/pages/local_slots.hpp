// SPDX-License-Identifier: BSD-3-Clause
// So many threads at a time, the others asleep, first come first served.
#pragma once

#include <atomic>
#include <cstdint>

#include "pages/futex.hpp"

namespace shm::pages {

/// Thread safety: any thread that takes no signals.  Async-signal-safe.
class LocalSlots {
 public:
  explicit LocalSlots(unsigned slots) : slots_(slots) {}

  /// Returns whether it had to wait.
  bool acquire() {
    const std::uint32_t ticket = next_.fetch_add(1, std::memory_order_seq_cst);
    bool waited = false;
    for (std::uint32_t left = left_.load(std::memory_order_seq_cst); !admits(left, ticket);
         left = left_.load(std::memory_order_seq_cst)) {
      futex_wait(left_, left, -1, bit_of(ticket));
      waited = true;
    }
    return waited;
  }
  void release() {
    const std::uint32_t left = left_.fetch_add(1, std::memory_order_seq_cst) + 1;
    // A system call only if there is somebody: who takes that ticket after this look sees that it is
    // admitted.
    const std::uint32_t admitted = left + slots_ - 1;
    if (static_cast<std::int32_t>(next_.load(std::memory_order_seq_cst) - admitted) > 0)
      futex_wake(left_, bit_of(admitted));
  }

 private:
  bool admits(std::uint32_t left, std::uint32_t ticket) const {
    return static_cast<std::int32_t>(ticket - left - slots_) < 0;
  }
  static constexpr std::uint32_t bit_of(std::uint32_t ticket) { return std::uint32_t{1} << ticket % 32; }

  const std::uint32_t slots_;
  std::atomic<std::uint32_t> next_{0};  // ticket
  std::atomic<std::uint32_t> left_{0};  // how many have
};

}  // namespace shm::pages
