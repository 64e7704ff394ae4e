// SPDX-License-Identifier: BSD-3-Clause
// Whether two ranges of addresses have one in common.
#pragma once

#include <cstddef>
#include <cstdint>

namespace shm {

/// Of [a, a + n) and [b, b + m), which may go beyond the last address.
constexpr bool ranges_meet(std::uintptr_t a, std::size_t n, std::uintptr_t b, std::size_t m) {
  return n != 0 && m != 0 && (a >= b ? a - b < m : b - a < n);
}

}  // namespace shm
