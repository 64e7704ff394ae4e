// SPDX-License-Identifier: BSD-3-Clause
// A counter for the fast path of many threads: each adds in a line of its own.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace shm {

namespace detail {
/// Where the lines of this thread are, in bytes; below 0: that has not been said yet.  Its place in memory is
/// known when the library is loaded, so it takes no call to find it.
extern __thread long thread_line __attribute__((tls_model("initial-exec")));
[[gnu::cold]] long place_thread();
}  // namespace detail

/// Thread safety: all of it.  Of kThreads threads that come one after the other none shares a line; of those
/// that do counts may be lost.
class ThreadCounter {
 public:
  static constexpr long kThreads = 16, kLine = 64;

  /// Whether this thread has added before.
  [[gnu::always_inline]] static bool has_line() { return detail::thread_line >= 0; }
  void add(std::uint64_t n) {
    if (!has_line()) [[unlikely]]
      detail::place_thread();
    add_in_line(n);
  }
  /// REQUIRES: has_line().
  [[gnu::always_inline]] void add_in_line(std::uint64_t n) {
    auto* const mine =
        reinterpret_cast<std::uint64_t*>(reinterpret_cast<std::byte*>(lines_) + detail::thread_line);
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
    asm("addq %1, %0" : "+m"(*mine) : "er"(n));  // as below, in one instruction
#else
    __atomic_store_n(mine, __atomic_load_n(mine, __ATOMIC_RELAXED) + n, __ATOMIC_RELAXED);
#endif
  }

  std::uint64_t total() const {
    std::uint64_t total = 0;
    for (const Line& line : lines_) total += line.count.load(std::memory_order_relaxed);
    return total;
  }

 private:
  struct alignas(kLine) Line {
    std::atomic<std::uint64_t> count{0};
  };
  Line lines_[kThreads];
};

}  // namespace shm
