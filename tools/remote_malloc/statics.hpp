// SPDX-License-Identifier: BSD-3-Clause
// Large static variables of the executable, as remote memory where they are (SHMEM_REMOTE_BSS).
#pragma once

#include <cstddef>
#include <cstdint>

#include "hull.hpp"

namespace remote_malloc::statics {

// Of all of them, and so of others that lie between them and stay local.
inline constinit Hull hull;

/// Whether any of [at, at + n), which meets the hull, is in a variable that is remote.
[[gnu::cold]] bool look_for(std::uintptr_t at, std::size_t n);

/// Whether any of [at, at + n) is in such a variable.  Any thread, and signal handlers.
inline bool touches(const void* at, std::size_t n) {
  return hull.meets(at, n) && look_for(reinterpret_cast<std::uintptr_t>(at), n);
}

/// From now on they are wanted.
void enable();
/// Before the program's main: starts Atoll if there are any, and makes them remote.  A program of OpenSHMEM's
/// starts itself: then after_start().
void before_main();
/// Once Atoll has started: makes them remote, if they are wanted.  REQUIRES: no thread uses them meanwhile.
void after_start();

}  // namespace remote_malloc::statics
