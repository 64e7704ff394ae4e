// SPDX-License-Identifier: BSD-3-Clause
// What the hash of a key says.
#pragma once

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace shm::kv {

using UserHash = std::uint64_t (*)(const void* key, std::size_t n);

/// How a table's keys are hashed: by hash_of_bytes(); or by what the program gives, which says which PE has a
/// key.
struct KeyHash {
  KeyHash(UserHash function = nullptr, bool decides_alone = false)  // NOLINT: one is as good as the other
      : user(function), alone(decides_alone) {}

  UserHash user;
  /// Keys with one result of `user` have one hash: where that is to be told.  Else the key's bytes say where
  /// on its PE it is, so that a function with few results costs nothing there.
  bool alone;
};

/// Bits of the hash that say where on its PE a key is.
inline constexpr int kBitsOnPe = 40;

/// Of keys of 8 bytes, which are the most frequent: two multiplications, each of whose halves are mixed.
inline std::uint64_t hash_of_word(std::uint64_t word) {
  const auto mix = [](std::uint64_t a, std::uint64_t b) {
    const auto product = static_cast<unsigned __int128>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  };
  return mix(mix(word ^ 0x8f3a17c5d2b94e61U, 0xd6e8feb86659fd93U), 0x9e3779b97f4a7c15U);
}
/// Where the program gives no function: of the key's bytes alone.
[[gnu::always_inline]] inline std::uint64_t hash_of_bytes(const void* key, std::size_t n) {
  if (n != sizeof(std::uint64_t)) return XXH3_64bits(key, n);
  std::uint64_t word;
  std::memcpy(&word, key, sizeof word);
  return hash_of_word(word);
}

/// What the program's function gives is spread first, as it may be no more than the key itself; different
/// results stay different.
inline std::uint64_t hash_of(const KeyHash& hash, const void* key, std::size_t n) {
  if (hash.user == nullptr) [[likely]]
    return hash_of_bytes(key, n);
  std::uint64_t h = hash.user(key, n);
  h = (h ^ (h >> 32)) * 0xd6e8feb86659fd93U;
  h = (h ^ (h >> 32)) * 0xd6e8feb86659fd93U;
  h ^= h >> 32;
  if (hash.alone) return h;
  constexpr std::uint64_t kOnPe = (std::uint64_t{1} << kBitsOnPe) - 1;
  return (h & ~kOnPe) | (hash_of_bytes(key, n) & kOnPe);
}

/// A number below n, n < 2^32, as even as 32 bits of the hash are.
constexpr std::uint32_t scale(std::uint64_t bits, std::uint64_t n) {
  return static_cast<std::uint32_t>(((bits & 0xffffffffU) * n) >> 32);
}

/// The PE comes from the upper 24 bits, the tag from the 8 below, the group from the lower half: keys of one
/// PE differ in group and tag, and keys of one group in the tag.  0 is the tag of a free slot.
constexpr int pe_of(std::uint64_t hash, unsigned npes) {
  return static_cast<int>(((hash >> kBitsOnPe) * npes) >> (64 - kBitsOnPe));
}
constexpr std::uint64_t group_of(std::uint64_t hash, std::uint64_t groups) { return scale(hash, groups); }
constexpr std::uint8_t tag_of(std::uint64_t hash) {
  const auto tag = static_cast<std::uint8_t>(hash >> 32);
  return static_cast<std::uint8_t>(tag + (tag < 1 ? 1 : 0));
}

}  // namespace shm::kv
