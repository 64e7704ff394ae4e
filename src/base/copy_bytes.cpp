// SPDX-License-Identifier: BSD-3-Clause
#include "base/copy_bytes.hpp"

#include <algorithm>
#include <cstdint>

namespace shm::detail {
namespace {

// glibc uses `rep movsb` up to the size of the second-level cache, which is less on all of them.
constexpr std::size_t kMostByMicrocode = 4 << 20;

bool just_behind(const void* to, const void* from) {
  constexpr std::uintptr_t kPage = 4096, kClose = 32;
  const std::uintptr_t behind = reinterpret_cast<std::uintptr_t>(to) - reinterpret_cast<std::uintptr_t>(from);
  return behind % kPage != 0 && behind % kPage < kClose;
}

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

}  // namespace

void copy_long(void* to, const void* from, std::size_t n) {
  if (just_behind(to, from) && n <= kMostByMicrocode) return copy_in_pieces(to, from, n);
  std::memcpy(to, from, n);
}

}  // namespace shm::detail
