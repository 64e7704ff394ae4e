// SPDX-License-Identifier: BSD-3-Clause
// The question of every system call whose buffer may be remote, in two comparisons.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace remote_malloc {

/// The smallest range of addresses that all that were added lie in.  Any thread, and signal handlers.
class Hull {
 public:
  /// Who has got what was added from another thread finds it in here.
  void add(std::uintptr_t begin, std::size_t bytes) {
    std::uintptr_t low = lowest_.load(), high = highest_.load();
    while (begin < low && !lowest_.compare_exchange_weak(low, begin)) {
    }
    while (begin + bytes > high && !highest_.compare_exchange_weak(high, begin + bytes)) {
    }
  }

  /// Whether any of [at, at + n) is in it.
  bool meets(const void* at, std::size_t n) const {
    const auto begin = reinterpret_cast<std::uintptr_t>(at);
    if (begin >= highest_.load(std::memory_order_relaxed)) return false;
    const std::uintptr_t low = lowest_.load(std::memory_order_relaxed);
    return n != 0 && (begin >= low || low - begin < n);
  }
  bool empty() const { return highest_.load(std::memory_order_relaxed) == 0; }

 private:
  std::atomic<std::uintptr_t> lowest_{UINTPTR_MAX}, highest_{0};
};

}  // namespace remote_malloc
