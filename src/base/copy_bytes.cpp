// SPDX-License-Identifier: BSD-3-Clause
#include "base/copy_bytes.hpp"

#include <algorithm>

namespace shm::detail {

// Of so few bytes no C library's memcpy uses `rep movsb`.  The compiler would in its place, if it knew the
// most that a piece may have.
void copy_in_pieces(void* to, const void* from, std::size_t n) {
  constexpr std::size_t kPiece = 1920;
  static_assert(kPiece < kLeastByMicrocode);
  auto* out = static_cast<std::byte*>(to);
  const auto* in = static_cast<const std::byte*>(from);
  while (n > 0) {
    std::size_t piece = std::min(n, kPiece);
    __asm__("" : "+r"(piece));
    std::memcpy(out, in, piece);
    out += piece, in += piece, n -= piece;
  }
}

}  // namespace shm::detail
