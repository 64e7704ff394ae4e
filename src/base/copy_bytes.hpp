// SPDX-License-Identifier: BSD-3-Clause
// memcpy for the bytes that programs move.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace shm {

namespace detail {

// A C library may copy so much with `rep movsb`, as glibc does up to the size of the second-level cache.
inline constexpr std::size_t kLeastByMicrocode = 2048, kMostByMicrocode = 4 << 20;

void copy_in_pieces(void* to, const void* from, std::size_t n);

}  // namespace detail

/// As memcpy, and as fast where `to` lies 1 to 31 bytes behind `from` within a page of 4 KiB.  There `rep
/// movsb` moves a byte a cycle on AMD's processors from Zen 3 on, a twentieth of its rate, and glibc uses it
/// (bug 30994, mended in newer releases).  What malloc gives for 128 KiB or more begins 16 bytes behind a
/// page, so a get of something aligned into it is such a copy.
[[gnu::always_inline]] inline void copy_bytes(void* to, const void* from, std::size_t n) {
  constexpr std::uintptr_t kPage = 4096, kClose = 32;
  if (n >= detail::kLeastByMicrocode) [[unlikely]] {
    const std::uintptr_t behind =
        (reinterpret_cast<std::uintptr_t>(to) - reinterpret_cast<std::uintptr_t>(from)) % kPage;
    if (behind - 1 < kClose - 1 && n <= detail::kMostByMicrocode) return detail::copy_in_pieces(to, from, n);
  }
  std::memcpy(to, from, n);
}

}  // namespace shm
