// SPDX-License-Identifier: BSD-3-Clause
// Strided transfers: blocks of one size that lie apart on both sides.
#pragma once

#include <cstddef>
#include <cstring>

#include "base/copy_bytes.hpp"

namespace shm {

/// The shape of a strided transfer: `blocks` blocks of `block` bytes whose starts are `to_step` and
/// `from_step` bytes apart.
struct Strides {
  std::size_t blocks, block;
  std::ptrdiff_t to_step, from_step;
};

namespace detail {
template <std::size_t kBlock>
void copy_words(std::byte* to, const std::byte* from, const Strides& s) {
  for (std::size_t i = 0; i < s.blocks; ++i, to += s.to_step, from += s.from_step)
    std::memcpy(to, from, kBlock);
}
}  // namespace detail

inline void copy_blocks(std::byte* to, const std::byte* from, const Strides& s) {
  switch (s.block) {  // constant sizes become single moves
    case 1: return detail::copy_words<1>(to, from, s);
    case 2: return detail::copy_words<2>(to, from, s);
    case 4: return detail::copy_words<4>(to, from, s);
    case 8: return detail::copy_words<8>(to, from, s);
    case 16: return detail::copy_words<16>(to, from, s);
    default: break;
  }
  for (std::size_t i = 0; i < s.blocks; ++i, to += s.to_step, from += s.from_step)
    copy_bytes(to, from, s.block);
}

}  // namespace shm
