// SPDX-License-Identifier: BSD-3-Clause
// Short waits between threads: a pause, and a lock for critical sections of a few hundred nanoseconds.
#pragma once

#include <sched.h>

#include <atomic>

#include "base/thread_annotations.hpp"

namespace shm {

/// Tells the CPU that this is a polling loop.
[[gnu::always_inline]] inline void cpu_pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield" ::: "memory");
#endif
}

/// A lock that spins briefly and then yields, so that it stays usable with more threads than cores.
/// Thread safety: any thread; not recursive.  Never held while waiting for another PE.
class CAPABILITY("mutex") SpinLock {
 public:
  void lock() ACQUIRE() {
    for (int polls = 0; !try_lock();) {
      if (++polls < 64) {
        cpu_pause();
      } else {
        sched_yield();
      }
    }
  }
  // The acquire pairs with the release in unlock(): what the last holder wrote is seen by the next.
  bool try_lock() TRY_ACQUIRE(true) {
    return !held_.load(std::memory_order_relaxed) && !held_.exchange(true, std::memory_order_acquire);
  }
  /// The same for who nearly always finds it free: does not look first.
  bool take_if_free() TRY_ACQUIRE(true) { return !held_.exchange(true, std::memory_order_acquire); }
  void unlock() RELEASE() { held_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> held_{false};
};

}  // namespace shm
