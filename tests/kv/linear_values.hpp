// SPDX-License-Identifier: BSD-3-Clause
// What linear.cpp and its workers share: the table, the keys that are judged, their values, what was seen of
// them.
//
// A value begins with a word that arithmetic works on and a tag, from which its length and all other bytes
// follow; one that an upsert has made has the word alone.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "kv_check.h"
#include "linear.hpp"

namespace kv_linear {

using shm::linear::Kind;
using shm::linear::Operation;
using shm::linear::Outcome;
using shm::linear::State;
using shm::linear::Value;

constexpr int kKeys = 3, kDecoys = 8, kThreads = 3, kMostBurst = 6, kCrowd = 64;
constexpr std::size_t kKeyBytes = 20, kOperations = 64, kMoreOperations = 64, kMostValue = 40000;

struct Record {
  int key;
  Operation operation;
};

/// Of a thread, in symmetric memory: kOperations, and more where one more call may be several.
struct Journal {
  std::size_t count;
  Record records[kOperations + kMoreOperations];
};

inline int me, npes;  // in the team
inline shmemx_kv_t kv;
inline std::size_t value_bytes;
inline bool crowded;                          // the table grows
inline bool is_cleared;                       // in this round, by the first threads
inline unsigned char keys[kKeys][kKeyBytes];  // the same on all PEs
inline std::atomic<int> awaited[kKeys];       // by how many threads of this PE, in get_wait
inline Journal* journals;                     // [kThreads]

// ---- Functions of the program

/// Adds the operand to the first word of what is there, or makes it that.
inline int add_word_function(const void*, std::size_t, const void* old, std::size_t old_bytes,
                             const void* operand, std::size_t, void* value, std::size_t* n) {
  std::uint64_t word = 0, more;
  std::memcpy(&more, operand, sizeof more);
  if (old != nullptr) {
    std::memcpy(&word, old, sizeof word);
    std::memcpy(value, old, old_bytes);
  }
  word += more;
  std::memcpy(value, &word, sizeof word);
  *n = old != nullptr ? old_bytes : sizeof word;
  return SHMEMX_KV_STORE;
}
inline int keep_function(const void*, std::size_t, const void*, std::size_t, const void*, std::size_t, void*,
                         std::size_t*) {
  return SHMEMX_KV_KEEP;
}
inline int erase_function(const void*, std::size_t, const void*, std::size_t, const void*, std::size_t, void*,
                          std::size_t*) {
  return SHMEMX_KV_ERASE;
}

inline struct { int add_word, keep, erase; } functions;  // by number

inline void register_functions() {
  functions.add_word = shmemx_kv_register(add_word_function);
  functions.keep = shmemx_kv_register(keep_function);
  functions.erase = shmemx_kv_register(erase_function);
}

inline std::uint64_t now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1000000000 + static_cast<std::uint64_t>(time.tv_nsec);
}

// ---- Values and their bytes

inline std::size_t length_of(std::uint64_t tag) {
  if (tag == shm::linear::kUpserted) return 8;
  const std::size_t most = value_bytes - 16;
  return 16 + (tag >> 8) % ((tag & 3) == 0 ? most + 1 : std::min<std::size_t>(most, 64) + 1);
}

inline std::size_t encode(const Value& value, unsigned char* bytes) {
  const std::size_t n = length_of(value.tag);
  std::memcpy(bytes, &value.word, 8);
  if (n > 8) std::memcpy(bytes + 8, &value.tag, 8);
  if (n > 16) make_bytes(bytes + 16, n - 16, value.tag);
  return n;
}

// That all but the first 16 bytes belong to one value, which they name.
inline Value decode(const unsigned char* bytes, std::size_t n) {
  Value value;
  CHECK(n == 8 || n >= 16);
  std::memcpy(&value.word, bytes, 8);
  if (n > 8) std::memcpy(&value.tag, bytes + 8, 8);
  CHECK_EQ(n, length_of(value.tag));
  if (n > 16) CHECK_MADE(bytes + 16, n - 16, value.tag);
  return value;
}

inline Outcome outcome_of(int status) {
  switch (status) {
    case SHMEMX_KV_OK: return Outcome::done;
    case SHMEMX_KV_NOT_FOUND: return Outcome::not_found;
    case SHMEMX_KV_EXISTS: return Outcome::exists;
    case SHMEMX_KV_MISMATCH: return Outcome::mismatch;
    case SHMEMX_KV_INSERTED: return Outcome::inserted;
    default: CHECK_EQ(status, SHMEMX_KV_OK); std::abort();
  }
}

}  // namespace kv_linear
