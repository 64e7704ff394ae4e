// SPDX-License-Identifier: BSD-3-Clause
// How requests and replies travel: many in a packet, each followed by its bytes, padded to 8.
//
//   requests      KvPacketHead | { RequestHead | key | value | expected } ...
//   replies       KvPacketHead | { KvReplyHead | value } ...
//   run           KvPacketHead | { RunHead | { key | value } ... } ...            requests of a run are alike
//                                                                                 otherwise
//   run_replies   KvPacketHead | { RunReplyHead | { RunReply | value } ... } ...  in the order of the runs
//   piece         KvPacketHead | PieceHead | bytes of one request, or of one reply's value, too long for a
//   packet
//
// The value of a request is what is to be stored, or the operand.  The replies to one run fit a packet.  The
// pieces of a request or reply follow one another on their channel.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kv/layout.hpp"
#include "kv/request.hpp"
#include "transports/net.hpp"

namespace shm::kv {

struct KvPacketHead {
  enum Kind : std::uint32_t { requests, request_piece, run, replies, reply_piece, run_replies };
  std::uint32_t table;
  Kind kind;
};

struct RequestHead {
  std::uint64_t token;  // of who waits: its name there (base/names)
  std::uint64_t hash;
  std::uint64_t n;  // KvRequest::n
  std::uint64_t offset;
  std::uint64_t block;
  std::uint32_t key_bytes;
  KvOp op;
  AtomicOp atomic;
  AtomicType type;
  std::uint8_t wants;  // bits of those below
};
static_assert(sizeof(RequestHead) == 48);
inline constexpr std::uint8_t kWantsOld = 1;       // accumulate, upsert, compare_swap: what was there
inline constexpr std::uint8_t kWantsLocation = 2;  // get: of a long value
inline constexpr std::uint8_t kWaits = 4;          // get: for the element

struct KvReplyHead {
  std::uint64_t token;
  std::uint64_t n;  // ValueRoom::n
  std::int32_t status;
  std::uint32_t bytes;  // of the value that follow
};
static_assert(sizeof(KvReplyHead) == 24);

/// Of any kind.  REQUIRES: there are so many bytes.
template <class Head>
Head head_at(const std::byte* bytes) {
  Head head;
  std::memcpy(&head, bytes, sizeof head);
  return head;
}

struct RunHead {
  RequestHead like;            // without hash
  std::uint32_t first, count;  // which of the requests of `token` these are
};

inline RunHead run_at(const std::byte* bytes) { return head_at<RunHead>(bytes); }

/// So that who asks, who answers and the network work at the same time, no packet has more requests in runs.
inline constexpr std::uint32_t kMostInRuns = 512;

struct RunReplyHead {
  std::uint64_t token;
  std::uint32_t first, count;
};

struct RunReply {
  std::int32_t status;
  std::uint32_t n;  // where it gives a value ValueRoom::n; else the bytes of the value that follow
};
/// Bytes of the value that follow.
constexpr std::uint64_t bytes_of(const RunReply& reply, KvOp op) {
  return gives_value(op) && reply.status != SHMEMX_KV_OK ? 0 : reply.n;
}

struct PieceHead {
  std::uint64_t offset, total;
};

inline constexpr std::size_t kPacketBytes = kMaxMessage / 8 * 8;
inline constexpr std::size_t kRunBytes = kPacketBytes - sizeof(KvPacketHead) - sizeof(RunHead);
static_assert(sizeof(RunReplyHead) <= sizeof(RunHead));
/// Longer values travel by RMA.
inline constexpr std::uint64_t kLongestInPackets = 8192;

inline constexpr std::size_t kPieceBytes =
    kPacketBytes - sizeof(KvPacketHead) - sizeof(PieceHead) - sizeof(KvReplyHead);

/// Bytes of the request's `value` and `expected` that travel.
constexpr std::uint64_t value_bytes(const RequestHead& head) {
  if (head.block != 0) return 0;
  switch (head.op) {
    case KvOp::compare_swap: return head.n;
    case KvOp::accumulate:
    case KvOp::upsert: return atomic_size(head.type);
    default: return brings_value(head.op) ? head.n : 0;
  }
}
constexpr std::uint64_t expected_bytes(const RequestHead& head) {
  return head.op == KvOp::compare_swap ? head.n : 0;
}

inline RequestHead head_of(const KvRequest& request, std::uint64_t token, bool wants_old) {
  const int wants =
      (wants_old ? kWantsOld : 0) | (request.by_rma ? kWantsLocation : 0) | (request.waits ? kWaits : 0);
  return {.token = token,
          .hash = request.key.hash,
          .n = request.n,
          .offset = request.offset,
          .block = request.block,
          .key_bytes = request.key.n,
          .op = request.op,
          .atomic = request.atomic,
          .type = request.type,
          .wants = static_cast<std::uint8_t>(wants)};
}

/// Without a call for what is most frequent.
inline void copy_often_a_word(void* to, const void* from, std::size_t n) {
  if (n == sizeof(std::uint64_t)) {
    std::memcpy(to, from, sizeof(std::uint64_t));
  } else if (n != 0) {
    std::memcpy(to, from, n);
  }
}

/// Of what follows a head.
constexpr std::size_t body_bytes(const RequestHead& head) {
  return padded(head.key_bytes) + padded(value_bytes(head)) + padded(expected_bytes(head));
}
inline void write_body(std::byte* to, const RequestHead& head, const KvRequest& request) {
  const auto append = [&to](const void* bytes, std::size_t n) {
    copy_often_a_word(to, bytes, n);
    to += padded(n);
  };
  append(request.key.bytes, head.key_bytes);
  append(request.value, value_bytes(head));
  append(request.expected, expected_bytes(head));
}
/// Of a run, with its head.
constexpr std::size_t run_bytes(const RunHead& run) { return sizeof run + run.count * body_bytes(run.like); }
/// The request refers to the body.
inline KvRequest request_at(const std::byte* body, const RequestHead& head) {
  const std::byte* value = body + padded(head.key_bytes);
  return {.op = head.op,
          .atomic = head.atomic,
          .type = head.type,
          .key = {head.hash, body, head.key_bytes},
          .value = value,
          .n = head.n,
          .expected = value + padded(value_bytes(head)),
          .offset = head.offset,
          .block = head.block};
}

/// Bytes of what was there, if that is wanted.
constexpr std::uint64_t old_bytes(const RequestHead& head) {
  if ((head.wants & kWantsOld) == 0) return 0;
  if (head.op == KvOp::compare_swap) return head.n;
  return head.op == KvOp::accumulate || head.op == KvOp::upsert ? atomic_size(head.type) : 0;
}
/// Bytes for the value that it gives, if it gives one.
constexpr std::uint64_t room_of(const RequestHead& head) { return room_of(head.op, head.n, head.offset); }
/// Bytes of the value that the reply to a request has at most: what it gives, or what was there.
inline std::uint64_t reply_bytes(const ShardLayout& layout, const RequestHead& head) {
  if (head.op == KvOp::scan) return head.n;
  return gives_value(head.op) ? std::min(room_of(head), layout.value_bytes) : old_bytes(head);
}
/// What scan gives: the cursor behind all that was looked at, and of each element a ScanHead, key and value,
/// each padded to 8.
struct ScanHead {
  std::uint64_t cursor;  // behind it
  std::uint64_t key_bytes, value_bytes;
};
constexpr std::uint64_t scan_bytes(std::uint64_t key_bytes, std::uint64_t value_bytes) {
  return sizeof(ScanHead) + padded(key_bytes) + padded(value_bytes);
}
/// Room for one element, whatever it is, and for what fills a packet.
inline constexpr std::uint64_t kScanRoom = kPacketBytes - sizeof(KvPacketHead) - sizeof(KvReplyHead);
inline std::uint64_t most_scan_bytes(const ShardLayout& layout) {
  return std::max(kScanRoom, sizeof(std::uint64_t) + scan_bytes(layout.key_bytes, layout.value_bytes));
}
/// How many of them come with this status; `n`: ValueRoom::n.
constexpr std::uint64_t bytes_given(const RequestHead& head, Code status, std::uint64_t n,
                                    std::uint64_t most) {
  if (gives_value(head.op)) return status == SHMEMX_KV_OK ? n : 0;
  return status == SHMEMX_KV_OK || status == SHMEMX_KV_MISMATCH ? most : 0;
}

}  // namespace shm::kv
