// SPDX-License-Identifier: BSD-3-Clause
// Who writes down what a PE does: libshmem_observe (tools/observe), loaded where SHMEM_TRACE or SHMEM_STATS
// asks for it. Calls of the API come to it by themselves (setup/observation); this is what else it is told,
// and all it is told.
#pragma once

#include <time.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/inside.hpp"

namespace shm {

/// Grows with each change of what follows: library and observer are two files.
inline constexpr unsigned kObserverVersion = 1;

struct ObserverSettings {
  const char* trace;        ///< file of the timeline; empty: none
  std::size_t events;       ///< of a thread that are kept
  bool pairs;               ///< count who talks to whom
  const char* pairs_file;   ///< where to, beside the terminal; empty: nowhere
  std::byte* window;        ///< symmetric memory for ends(), for the case that there is no other
  std::size_t window_size;  ///< bytes
  const char* host;
  int node;
};

/// `starts` and `ends`: by one thread, while no other is in the library.
struct Observer {
  void (*starts)();        ///< collective, at the end of init
  std::uint64_t (*now)();  ///< what page() takes; async-signal-safe
  /// A thread has waited for memory at `at` since `begin`; async-signal-safe.
  void (*page)(const void* at, bool store, std::uint64_t begin);
  void (*ends)();  ///< collective, in finalize: calls are past, operations work
  void (*dies)();  ///< the process is about to end otherwise; takes no memory, and no lock; once
};

/// The variable `atoll_observer` of the observer.  open() returns null if the version is not its own.
struct ObserverEntry {
  const Observer* (*open)(unsigned version, const ObserverSettings& settings);
};

/// Null: nobody observes.
ATOLL_INSIDE extern std::atomic<const Observer*> observer;

/// Of all processes of a kernel the same clock.
inline std::uint64_t monotonic_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1000000000U + static_cast<std::uint64_t>(now.tv_nsec);
}

/// What has been observed is not lost with this process.
inline void tell_observer_of_end() {
  if (const Observer* here = observer.load()) here->dies();
}

}  // namespace shm
