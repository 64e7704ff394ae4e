// SPDX-License-Identifier: BSD-3-Clause
// An operation on a key, and its result, as shard and network have them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/atomic_op.hpp"
#include "shmem/kv.h"

namespace shm::kv {

/// Values go over the wire between PEs of one job.
/// `reserve` and `confirm` are steps of operations on values that travel by RMA (kv/table.hpp).
enum class KvOp : std::uint8_t {
  put,
  insert,
  update,
  get,
  contains,
  remove,
  accumulate,
  upsert,
  compare_swap,
  count,
  reserve,
  confirm
};

/// Whether the operation may change an element.
constexpr bool may_change(KvOp op) { return op != KvOp::get && op != KvOp::contains && op != KvOp::count; }

/// One of enum shmemx_kv_status.  No program sees kBusy: a lock was not free soon, nothing is done; kByRma:
/// the result of a get is a Location; and kNoSlot, which stays in the shard: the key's segment has no room.
using Code = int;
inline constexpr Code kBusy = -1;
inline constexpr Code kByRma = -2;
inline constexpr Code kNoSlot = -3;

/// Whether a get with this status says how long the value is.
constexpr bool has_length(Code status) {
  return status == SHMEMX_KV_OK || status == SHMEMX_KV_TOO_LARGE || status == kByRma;
}

/// Where a value is in its PE's shard; as long as the group has this version.
struct Location {
  std::uint64_t at;
  std::uint64_t group;
  std::uint64_t version;
};

struct Key {
  std::uint64_t hash;
  const void* bytes;
  std::uint32_t n;
};

struct KvRequest {
  KvOp op;
  AtomicOp atomic = AtomicOp::fetch;  // accumulate, upsert
  AtomicType type = AtomicType::u64;  // likewise
  Key key;
  const void* value = nullptr;     // to be stored; the operand; what compare_swap stores
  std::uint64_t n = 0;             // its bytes; of get the room for the result
  const void* expected = nullptr;  // n bytes, of compare_swap
  std::uint64_t offset = 0;        // in the value: accumulate, compare_swap; of confirm the group
  bool by_rma = false;             // get: the caller can fetch long values itself
  bool waits = false;              // get, of another node: it is answered when there is an element
  std::uint64_t block = 0;         // put, insert, update: where key and value are already, if not 0
};

/// What an operation gives beside its status.
struct ValueRoom {
  void* value = nullptr;  // get: at least KvRequest::n bytes; accumulate, upsert, compare_swap: what was
                          // there; may be null but for get
  std::uint64_t n = 0;    // get: bytes of the value; count: elements
};

}  // namespace shm::kv
