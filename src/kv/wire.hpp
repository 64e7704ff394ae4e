// SPDX-License-Identifier: BSD-3-Clause
// How requests and replies travel: many in a packet, each followed by its bytes, padded to 8.
//
//   requests   PacketHead | { RequestHead | key | value | expected } ...       value: what is stored, or the
//   operand replies    PacketHead | { ReplyHead | value } ... piece      PacketHead | PieceHead | bytes of
//   one request, or of one reply's value, too long for a packet
//
// The pieces of a request or reply follow one another on their channel.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kv/request.hpp"
#include "transports/net.hpp"

namespace shm::kv {

struct PacketHead {
  enum Kind : std::uint32_t { requests, request_piece, replies, reply_piece };
  std::uint32_t table;
  Kind kind;
};

struct RequestHead {
  std::uint64_t token;  // of who waits
  std::uint64_t hash;
  std::uint64_t n;  // Request::n
  std::uint64_t offset;
  std::uint64_t block;
  std::uint32_t key_bytes;
  Op op;
  AtomicOp atomic;
  AtomicType type;
  std::uint8_t wants;  // bits of the two below
};
static_assert(sizeof(RequestHead) == 48);
inline constexpr std::uint8_t kWantsOld = 1;       // accumulate, upsert, compare_swap: what was there
inline constexpr std::uint8_t kWantsLocation = 2;  // get: of a long value

struct ReplyHead {
  std::uint64_t token;
  std::uint64_t n;  // Result::n
  std::int32_t status;
  std::uint32_t bytes;  // of the value that follow
};
static_assert(sizeof(ReplyHead) == 24);

struct PieceHead {
  std::uint64_t offset, total;
};

inline constexpr std::size_t kPacketBytes = kMaxMessage / 8 * 8;
/// Longer values travel by RMA.
inline constexpr std::uint64_t kLongestInPackets = 8192;

inline constexpr std::size_t kPieceBytes =
    kPacketBytes - sizeof(PacketHead) - sizeof(PieceHead) - sizeof(ReplyHead);

/// Bytes of the request's `value` and `expected` that travel.
constexpr std::uint64_t value_bytes(Op op, AtomicType type, std::uint64_t n, std::uint64_t block = 0) {
  if (block != 0) return 0;
  switch (op) {
    case Op::put:
    case Op::insert:
    case Op::update:
    case Op::compare_swap: return n;
    case Op::accumulate:
    case Op::upsert: return atomic_size(type);
    default: return 0;
  }
}
constexpr std::uint64_t expected_bytes(Op op, std::uint64_t n) { return op == Op::compare_swap ? n : 0; }

/// Bytes of Result::value that an operation other than get gives, if they are wanted.
constexpr std::uint64_t old_bytes(Op op, AtomicType type, std::uint64_t n) {
  if (op == Op::compare_swap) return n;
  return op == Op::accumulate || op == Op::upsert ? atomic_size(type) : 0;
}

}  // namespace shm::kv
