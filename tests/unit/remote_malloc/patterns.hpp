// SPDX-License-Identifier: BSD-3-Clause
// Remote blocks with contents that say where they lie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "enabled.hpp"

namespace remote_malloc {

inline std::uint8_t pattern(std::size_t i, std::size_t seed) {
  return static_cast<std::uint8_t>((i * 2654435761U + seed * 40503U) >> 7);
}

inline std::vector<std::uint8_t> pattern_of(std::size_t n, std::size_t seed) {
  std::vector<std::uint8_t> bytes(n);
  for (std::size_t i = 0; i < n; ++i) bytes[i] = pattern(i, seed);
  return bytes;
}

/// The first byte that differs; n: none does.
inline std::size_t first_other(const void* at, std::size_t n, std::size_t seed) {
  const auto* bytes = static_cast<const std::uint8_t*>(at);
  for (std::size_t i = 0; i < n; ++i) {
    if (bytes[i] != pattern(i, seed)) return i;
  }
  return n;
}

inline void fill(void* at, std::size_t n, std::size_t seed) {
  for (std::size_t i = 0; i < n; ++i) static_cast<std::uint8_t*>(at)[i] = pattern(i, seed);
}

/// A remote block, of which nothing is resident after absent().
class Block {
 public:
  explicit Block(std::size_t bytes) : at_(static_cast<std::uint8_t*>(std::malloc(bytes))) {
    EXPECT_TRUE(is_remote(at_));
  }
  ~Block() { std::free(at_); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  std::uint8_t* at(std::size_t offset = 0) const { return at_ + offset; }

 private:
  std::uint8_t* const at_;
};

/// Which pages of a buffer are resident when a call begins.
enum class Resident { none, first, all_but_first };

inline void make_resident(Resident which, std::uint8_t* at, std::size_t n) {
  paged::close_all();
  volatile std::uint8_t touched = 0;
  if (which == Resident::first) touched = *at;
  if (which == Resident::all_but_first) {
    const std::size_t first = paged::kPage - reinterpret_cast<std::uintptr_t>(at) % paged::kPage;
    for (std::size_t i = first; i < n; i += paged::kPage) touched = at[i];
  }
  (void)touched;
}

}  // namespace remote_malloc
