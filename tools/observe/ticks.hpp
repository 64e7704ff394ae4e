// SPDX-License-Identifier: BSD-3-Clause
// The clock that calls are written down with: the processor's counter where that runs evenly and never stops,
// since the kernel's takes several times as long to read; else the kernel's.
#pragma once

#include <cstdint>

#include "base/observer.hpp"

namespace observe {

[[gnu::visibility("hidden")]] extern bool counter_is_even;

inline std::uint64_t ticks() {
#ifdef __x86_64__
  if (counter_is_even) [[likely]]
    return __builtin_ia32_rdtsc();
#endif
  return shm::monotonic_ns();
}

/// A moment by both clocks.
struct Moment {
  std::uint64_t ticks = 0, nanoseconds = 0;
};
/// With little between the two: the narrowest of a few tries.
Moment this_moment();

/// Nanoseconds of monotonic_ns() at a time in ticks, by two moments of which one lies well behind the other.
struct Conversion {
  Moment first, last;
  std::uint64_t nanoseconds(std::uint64_t ticks) const;
};

}  // namespace observe
