// SPDX-License-Identifier: BSD-3-Clause
// memcpy for the bytes that programs move.
#pragma once

#include <cstddef>
#include <cstring>

namespace shm {

namespace detail {

// From so many bytes on a C library may copy with `rep movsb`.
inline constexpr std::size_t kLeastByMicrocode = 2048;

void copy_long(void* to, const void* from, std::size_t n);

}  // namespace detail

/// As memcpy, and as fast where (to - from) % 4096 is 1 to 31.  There `rep movsb` moves a byte a cycle on
/// AMD's processors from Zen 3 on, a twentieth of its rate, and glibc uses it (bug 30994, mended in newer
/// releases).  What malloc gives for 128 KiB or more begins 16 bytes behind a page, so a get of something
/// aligned into it is such a copy.
[[gnu::always_inline]] inline void copy_bytes(void* to, const void* from, std::size_t n) {
  if (n >= detail::kLeastByMicrocode) [[unlikely]]
    return detail::copy_long(to, from, n);
  std::memcpy(to, from, n);
}

}  // namespace shm
