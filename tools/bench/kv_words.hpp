// SPDX-License-Identifier: BSD-3-Clause
// Words of keys and values: the same ones in `shmem_bench kv` and in what it is compared with.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bench {

using Word = std::uint64_t;

/// First word of the key with this number, which no other key has.
inline Word key_word(std::size_t number) { return (number + 1) * 0xff51afd7ed558ccdU; }

inline constexpr Word kValueFactor = 0x9e3779b97f4a7c15U;

/// Word `at` of the value of key `key`; values of another stamp differ in all words.
inline Word value_word(Word key, std::size_t at, Word stamp) {
  return (key ^ (stamp << 1)) * kValueFactor + at;
}

/// Whether word 0 of a value is that of this key with some stamp below 2^40.
inline bool has_some_stamp(Word key, Word word) {
  constexpr Word kInverse = 0xf1de83e19937733dU;
  static_assert(kInverse * kValueFactor == 1);
  const Word stamp = (word * kInverse) ^ key;
  return (stamp & 1) == 0 && stamp >> 41 == 0;
}

}  // namespace bench
