// SPDX-License-Identifier: BSD-3-Clause
// Sleeping on a word of memory.  Async-signal-safe.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <ctime>

namespace shm::pages {

inline constexpr std::uint32_t kAnyBit = ~std::uint32_t{0};

/// Sleeps as long as the word has that value, until it is woken, or so long (negative: no limit).  May return
/// early. Only who wakes one of `bits` wakes it.  The word may lie in memory that processes share.
inline void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t value, long microseconds = -1,
                       std::uint32_t bits = kAnyBit) {
  timespec until{};
  if (microseconds >= 0) {
    clock_gettime(CLOCK_MONOTONIC, &until);
    const long nanoseconds = until.tv_nsec + microseconds % 1'000'000 * 1000;
    until.tv_sec += microseconds / 1'000'000 + nanoseconds / 1'000'000'000;
    until.tv_nsec = nanoseconds % 1'000'000'000;
  }
  syscall(SYS_futex, &word, FUTEX_WAIT_BITSET, value, microseconds < 0 ? nullptr : &until, nullptr, bits);
}
/// Wakes all who sleep on it with one of `bits`.
inline void futex_wake(std::atomic<std::uint32_t>& word, std::uint32_t bits = kAnyBit) {
  syscall(SYS_futex, &word, FUTEX_WAKE_BITSET, 1 << 30, nullptr, nullptr, bits);
}

}  // namespace shm::pages
