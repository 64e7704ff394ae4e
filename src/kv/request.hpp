// SPDX-License-Identifier: BSD-3-Clause
// An operation on a key, and its result, as shard and network have them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/atomic_op.hpp"
#include "shmem/kv.h"

namespace shm::kv {

/// Values go over the wire between PEs of one job.
/// `reserve` and `confirm` are steps of operations on values that travel by RMA (kv/table.hpp); `leave` says
/// that a member of a team's table has left it; `remove_if` does not travel.
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
  get_or_insert,
  exchange,
  insert_or_update,
  take,
  apply,
  count,
  reserve,
  confirm,
  scan,
  leave,
  remove_if
};

/// Whether the operation may change an element.
constexpr bool may_change(KvOp op) {
  return op != KvOp::get && op != KvOp::contains && op != KvOp::count && op != KvOp::scan;
}

/// Whether it is one on a key.
constexpr bool is_of_a_key(KvOp op) { return op < KvOp::count || op == KvOp::remove_if; }
/// Whether it depends on the value that is there, or its status says if there was one: OK, or INSERTED.
constexpr bool tells_what_was(KvOp op) {
  return (op >= KvOp::get_or_insert && op <= KvOp::apply) || op == KvOp::remove_if;
}
/// Whether OK brings the whole value that was there, for which the request says the room.
constexpr bool gives_value(KvOp op) {
  return op == KvOp::get ||
         (op >= KvOp::get_or_insert && op <= KvOp::apply && op != KvOp::insert_or_update) || op == KvOp::scan;
}
/// Whether the request brings a whole value, or the operand of a function, of KvRequest::n bytes.
constexpr bool brings_value(KvOp op) {
  return op == KvOp::put || op == KvOp::insert || op == KvOp::update || op == KvOp::get_or_insert ||
         op == KvOp::exchange || op == KvOp::insert_or_update || op == KvOp::apply;
}
/// Whether the key may get an element that it had not.
constexpr bool may_add(KvOp op) {
  return op == KvOp::put || op == KvOp::insert || op == KvOp::upsert || op == KvOp::get_or_insert ||
         op == KvOp::exchange || op == KvOp::insert_or_update || op == KvOp::apply;
}
constexpr bool may_remove(KvOp op) {
  return op == KvOp::remove || op == KvOp::take || op == KvOp::apply || op == KvOp::remove_if;
}

/// One of enum shmemx_kv_status.  No program sees kBusy: a lock was not free soon, nothing is done; kByRma:
/// the result of a get is a Location; and kNoSlot, which stays in the shard: the key's segment has no room.
using Code = int;
inline constexpr Code kBusy = -1;
inline constexpr Code kByRma = -2;
inline constexpr Code kNoSlot = -3;

/// Whether the operation has been carried out.
constexpr bool is_done(Code status) { return status == SHMEMX_KV_OK || status == SHMEMX_KV_INSERTED; }

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
  std::uint64_t offset = 0;        // in the value: accumulate, compare_swap; of confirm the group; of reserve
                                   // which KvOp is to store; of scan the cursor; of get_or_insert and
                                   // exchange the room for what was there; of apply in_offset()
  bool by_rma = false;             // get: the caller can fetch long values itself
  bool waits = false;              // get, of another node: it is answered when there is an element
  std::uint64_t block = 0;         // put, insert, update: where key and value are already, if not 0
};

/// Bytes for the value that it gives, if it gives one.
constexpr std::uint64_t room_of(KvOp op, std::uint64_t n, std::uint64_t offset) {
  if (op == KvOp::apply) return offset & 0xffffffffU;
  return op == KvOp::get || op == KvOp::take || op == KvOp::scan ? n : offset;
}
/// Of apply: the room, 0 if what was there is not wanted, and the number of a registered function.
constexpr std::uint64_t in_offset(std::uint32_t room, std::uint32_t function) {
  return room | std::uint64_t{function} << 32;
}
constexpr std::uint32_t function_of(std::uint64_t offset) { return static_cast<std::uint32_t>(offset >> 32); }
/// As long as the operand of apply may be, where the table's values are shorter.
inline constexpr std::uint64_t kLongestOperand = 1024;

/// What `expected` of remove_if is.
struct Predicate {
  int (*holds)(const void* key, std::size_t key_bytes, const void* value, std::size_t value_bytes,
               void* context);
  void* context;
};
constexpr std::uint64_t room_of(const KvRequest& request) {
  return room_of(request.op, request.n, request.offset);
}
constexpr void set_room(KvRequest& request, std::uint64_t room) {
  if (request.op == KvOp::apply)
    request.offset = in_offset(static_cast<std::uint32_t>(room), function_of(request.offset));
  else
    (request.op == KvOp::get || request.op == KvOp::take ? request.n : request.offset) = room;
}

/// What an operation gives beside its status.
struct ValueRoom {
  void* value = nullptr;  // where it gives a value: room_of() bytes; accumulate, upsert, compare_swap: what
                          // was there, or null
  std::uint64_t n = 0;    // bytes of the value that it gives; count: elements
};

}  // namespace shm::kv
