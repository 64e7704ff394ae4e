// SPDX-License-Identifier: BSD-3-Clause
// Copies of the elements of an alltoall, which may have gaps between them.
#pragma once

#include <cstddef>
#include <cstring>

#include "base/copy_bytes.hpp"

namespace shm {

template <std::size_t kElement>
void copy_elements(std::byte* to, std::size_t to_step, const std::byte* from, std::size_t from_step,
                   std::size_t count) {
  for (; count > 0; --count, to += to_step, from += from_step) std::memcpy(to, from, kElement);
}

/// `count` elements, each `to_step` and `from_step` bytes on.
inline void copy_strided(std::byte* to, std::size_t to_step, const std::byte* from, std::size_t from_step,
                         std::size_t element, std::size_t count) {
  if (to_step == element && from_step == element) {
    copy_bytes(to, from, element * count);
    return;
  }
  switch (element) {  // constant sizes become single moves
    case 1: return copy_elements<1>(to, to_step, from, from_step, count);
    case 2: return copy_elements<2>(to, to_step, from, from_step, count);
    case 4: return copy_elements<4>(to, to_step, from, from_step, count);
    case 8: return copy_elements<8>(to, to_step, from, from_step, count);
    default: return copy_elements<16>(to, to_step, from, from_step, count);
  }
}

}  // namespace shm
