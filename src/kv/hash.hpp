// SPDX-License-Identifier: BSD-3-Clause
// What the hash of a key says.
#pragma once

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstddef>
#include <cstdint>

namespace shm::kv {

using UserHash = std::uint64_t (*)(const void* key, std::size_t n);

/// The hash of a table's keys: XXH3, or what the program gives, whose bits are spread first, as it may be no
/// more than the key itself.  Different results of the program's function stay different.
inline std::uint64_t hash_of(UserHash user, const void* key, std::size_t n) {
  if (user == nullptr) [[likely]]
    return XXH3_64bits(key, n);
  std::uint64_t h = user(key, n);
  h = (h ^ (h >> 32)) * 0xd6e8feb86659fd93U;
  h = (h ^ (h >> 32)) * 0xd6e8feb86659fd93U;
  return h ^ (h >> 32);
}

/// A number below n, n < 2^32, as even as 32 bits of the hash are.
constexpr std::uint32_t scale(std::uint64_t bits, std::uint64_t n) {
  return static_cast<std::uint32_t>(((bits & 0xffffffffU) * n) >> 32);
}

/// The PE comes from the upper half, the group from the lower, the tag from the least bits of the upper: keys
/// of one PE differ in them wherever there are few PEs, and keys of one group always.  0 is the tag of a free
/// slot.
constexpr int pe_of(std::uint64_t hash, unsigned npes) { return static_cast<int>(scale(hash >> 32, npes)); }
constexpr std::uint64_t group_of(std::uint64_t hash, std::uint64_t groups) { return scale(hash, groups); }
constexpr std::uint8_t tag_of(std::uint64_t hash) {
  const auto tag = static_cast<std::uint8_t>(hash >> 32);
  return tag == 0 ? 1 : tag;
}

}  // namespace shm::kv
