// SPDX-License-Identifier: BSD-3-Clause
// Large static variables of the executable, as remote memory where they are (SHMEM_REMOTE_BSS).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace remote_malloc::statics {

// All of them lie in [lowest, highest), and so do others that stay local.
inline constinit std::atomic<std::uintptr_t> lowest{UINTPTR_MAX}, highest{0};

/// Whether any of [at, at + n), which meets that range, is in a variable that is remote.
[[gnu::cold]] bool look_for(std::uintptr_t at, std::size_t n);

/// Whether any of [at, at + n) is in such a variable.  Any thread, and signal handlers.
inline bool touches(const void* at, std::size_t n) {
  const auto begin = reinterpret_cast<std::uintptr_t>(at);
  if (begin >= highest.load(std::memory_order_relaxed)) return false;
  const std::uintptr_t low = lowest.load(std::memory_order_relaxed);
  return n != 0 && (begin >= low || low - begin < n) && look_for(begin, n);
}

/// From now on they are wanted.
void enable();
/// Before the program's main: starts Atoll if there are any, and makes them remote.  A program of OpenSHMEM's
/// starts itself: then after_start().
void before_main();
/// Once Atoll has started: makes them remote, if they are wanted.  REQUIRES: no thread uses them meanwhile.
void after_start();

}  // namespace remote_malloc::statics
