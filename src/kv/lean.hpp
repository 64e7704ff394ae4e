// SPDX-License-Identifier: BSD-3-Clause
// The shortest way to what programs do most: gets and puts of short elements, whose keys and values have one
// length, in shards that are mapped here.  Only what needs nothing else: the element at its home, or nothing
// there, and nobody at work on it.  All else goes the way of Shard, whose rules these follow.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/thread_counter.hpp"
#include "kv/layout.hpp"
#include "kv/request.hpp"

namespace shm::kv {

struct LeanTable;
struct LeanCalls;

/// As in shmem/kv.h, of a table.
struct KvCalls {
  Code (*get)(LeanTable&, const void* key, std::size_t key_bytes, void* value, std::size_t room,
              std::size_t* n);
  Code (*put)(LeanTable&, const void* key, std::size_t key_bytes, const void* value, std::size_t n);
};

/// What of a table this needs, and what the program's handle is.
struct LeanTable {
  const LeanTable* self = this;             // null: it is no table any more
  std::atomic<const LeanCalls*> lean;       // others may choose other ones at any time
  KvCalls others{};                         // all other ways
  std::byte* const* directories = nullptr;  // of the shards of all PEs; null: not mapped here
  std::uint64_t npes = 0;
  std::uint64_t groups = 0;          // of a segment
  ThreadCounter* counter = nullptr;  // of calls that were done here

  LeanTable();
  const LeanCalls& calls() const { return *lean.load(std::memory_order_relaxed); }
  LeanTable(const LeanTable&) = delete;
  LeanTable& operator=(const LeanTable&) = delete;
};

/// A key of a batch that another node has.
struct LeanFar {
  std::uint32_t request, pe;
};

/// The keys of one batch, one after the other, and where their results go; they share no memory.
struct LeanGets {
  const std::byte* keys;
  std::byte* values;
  std::size_t* lengths;  // may be null
  int* status;           // kBusy: not done; PENDING: not here
  LeanFar* far;          // those that are not here, in their order; room for all, unless all PEs are here
};
/// How many of them are done, of these how many have found their element, and how many are not here.
struct LeanGot {
  std::size_t done, found, far;
};

/// Where the replies to gets of a run go (kv/wire.hpp).
struct LeanReplies {
  std::byte* to;  // the next one
  /// Makes the reply to one that a look does not do.  False: not soon.
  bool (*other)(LeanReplies&, const std::byte* key);
};

/// What is not as these need it they leave to `others`, with its arguments not checked.
struct LeanCalls {
  std::size_t key_bytes, value_bytes;
  KvCalls one;
  /// REQUIRES: keys and values of these lengths.
  LeanGot (*get_many)(LeanTable&, const LeanGets&, std::size_t n);
  /// The same, in the shard with this directory, of keys one after the other, until one is not done soon;
  /// returns how many are done.
  std::size_t (*serve)(std::byte* directory, std::uint64_t groups, const std::byte* keys, std::size_t n,
                       LeanReplies&);
};

/// For tables of this layout whose keys are hashed by hash_of_bytes(); or calls that do nothing, for keys of
/// 0 bytes.
const LeanCalls& lean_calls(const ShardLayout& layout);
const LeanCalls& no_lean_calls();

inline LeanTable::LeanTable() : lean(&no_lean_calls()) {}

}  // namespace shm::kv
