// SPDX-License-Identifier: BSD-3-Clause
#include "ticks.hpp"

#ifdef __x86_64__
#include <cpuid.h>
#endif

namespace observe {
namespace {

constexpr int kTries = 16;

bool find_out() {
#ifdef __x86_64__
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d >> 8 & 1) != 0;  // "invariant TSC"
#else
  return false;
#endif
}

}  // namespace

bool counter_is_even = find_out();

Moment this_moment() {
  Moment best;
  std::uint64_t narrowest = ~std::uint64_t{0};
  for (int i = 0; i < kTries; ++i) {
    const std::uint64_t before = ticks(), now = shm::monotonic_ns(), width = ticks() - before;
    if (width >= narrowest) continue;
    narrowest = width;
    best = {before + width / 2, now};
  }
  return best;
}

std::uint64_t Conversion::nanoseconds(std::uint64_t ticks) const {
  if (!counter_is_even || last.ticks <= first.ticks) return first.nanoseconds + (ticks - first.ticks);
  const bool before = ticks < first.ticks;
  const auto passed = static_cast<__uint128_t>(before ? first.ticks - ticks : ticks - first.ticks);
  const auto time = static_cast<std::uint64_t>(passed * (last.nanoseconds - first.nanoseconds) /
                                               (last.ticks - first.ticks));
  return before ? first.nanoseconds - time : first.nanoseconds + time;
}

}  // namespace observe
