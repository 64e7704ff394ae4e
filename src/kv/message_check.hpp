// SPDX-License-Identifier: BSD-3-Clause
// What is wrong with a message of a table, before anything of it is used: each function returns how
// "PE 3 sent a packet of table requests ..." goes on, or null where nothing is wrong.  Pure.
//
// They refuse what no PE of the job can have meant.  What a PE may ask and not get, such as an element that
// is not there, is none of their business.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/fatal.hpp"
#include "kv/match_message.hpp"
#include "kv/wire.hpp"

namespace shm::kv {

/// What is wrong in more than one place.
inline constexpr const char* kCutOff = "that is cut off";
inline constexpr const char* kUnordered = "with pieces that do not follow one another";
inline constexpr const char* kNotAskedFor = "with a value that nobody has asked for";
inline constexpr const char* kUnknownStatus = "with an unknown status";

/// Of any message: all of its n bytes, whose head is to say a kind from `first` to `last`.
const char* wrong_with_packet(const std::byte* message, std::size_t n, KvPacketHead::Kind first,
                              KvPacketHead::Kind last);

// ---- requests, at the server

/// Most requests are such that few looks tell that nothing is wrong with them, whatever memory the table is
/// in. As wrong_with_request().
inline bool is_plain(const RequestHead& head, std::size_t body, std::size_t left, const ShardLayout& layout) {
  return head.op <= KvOp::remove && head.wants <= kWantsOld && head.block == 0 &&
         head.key_bytes - 1 < layout.key_bytes && (head.n <= layout.value_bytes || head.op == KvOp::get) &&
         body <= left;
}

/// Of a request: its head, and the `left` bytes of its packet behind that.  `body`: body_bytes(head).
const char* wrong_with_request(const RequestHead& head, std::size_t body, std::size_t left,
                               const ShardLayout& layout);

/// Of a request to a table on NVM, beside that: there no value goes by RMA, and no get waits at its server.
const char* wrong_with_paged_request(const RequestHead& head);

/// Of a packet of pieces: `n` bytes from its PieceHead on.  `arrived`: bytes of the pieces before it.
const char* wrong_with_piece(const std::byte* piece, std::size_t n, std::size_t arrived,
                             const ShardLayout& layout);

/// Of runs that follow each other: `n` bytes from the first RunHead on.
const char* wrong_with_runs(const std::byte* runs, std::size_t n, const ShardLayout& layout);

/// Whose a request by a list of receives says it is, as the network does not; kUnknownRank: it is none of the
/// PEs.
int sender_of_match(const std::byte* message, std::size_t n, unsigned npes);

/// The table that such a request says it is of; kNoTable: it is too short for that.
std::uint32_t table_of_match(const std::byte* message, std::size_t n);
inline constexpr std::uint32_t kNoTable = ~std::uint32_t{0};

/// Of such a request: all of it.
const char* wrong_with_match(const std::byte* message, std::size_t n, const ShardLayout& layout,
                             unsigned npes);

// ---- replies, at who asked

/// Of a packet with a piece of a reply: `n` bytes are behind its KvPacketHead.
const char* wrong_with_reply_piece(const std::byte* piece, std::size_t n);

/// What a reply may be.
struct ReplyLimits {
  std::uint64_t room;  // bytes of the longest value that it may bring, or of the old one that it must bring
  bool gets;           // the request gives a value
  bool by_rma;         // that wanted a Location, if the value is long
};
/// Of the status of a reply that says `n` and brings `total` bytes of a value.
inline const char* wrong_with_status(Code status, std::uint64_t n, std::uint64_t total,
                                     const ReplyLimits& limits) {
  if (status == kByRma && limits.by_rma && total == sizeof(Location)) return nullptr;
  if (status < SHMEMX_KV_OK || status == SHMEMX_KV_PENDING || status > SHMEMX_KV_INSERTED)
    return kUnknownStatus;
  const bool brings_value = status == SHMEMX_KV_OK || (status == SHMEMX_KV_MISMATCH && !limits.gets);
  const std::uint64_t due = !brings_value ? 0 : limits.gets ? n : limits.room;
  return total != due ? kNotAskedFor : nullptr;
}

/// Of a reply that comes whole: its head, and the `left` bytes behind that.  `arrived`: bytes of pieces that
/// came before it.
inline const char* wrong_with_reply(const KvReplyHead& head, std::size_t left, const ReplyLimits& limits,
                                    std::uint64_t arrived) {
  if (padded(head.bytes) > left) return kCutOff;
  if (head.bytes > limits.room) return kNotAskedFor;
  if (arrived != 0) return kUnordered;
  return wrong_with_status(head.status, head.n, head.bytes, limits);
}

/// Of a piece of a reply, with `left` bytes behind its heads, which wrong_with_reply_piece() has looked at.
const char* wrong_with_next_piece(const KvReplyHead& head, const PieceHead& piece, std::size_t left,
                                  const ReplyLimits& limits, std::uint64_t arrived);

/// Of the replies to a run: their head.  `asked`: requests of that name, of which so many are `left`.
const char* wrong_with_run_replies(const RunReplyHead& head, std::size_t asked, std::uint64_t left);
/// And each of them: `left` bytes from it on.  `room`: as in ReplyLimits.
const char* wrong_with_run_reply(const std::byte* reply, std::size_t left, KvOp op, std::uint64_t room);

/// Where a value of n bytes is said to lie, which is going to be read.  `room`: the most that were asked for.
const char* wrong_with_location(const Location& location, std::uint64_t n, std::uint64_t room,
                                const ShardLayout& layout);

/// What check_message() calls them.
inline constexpr const char* kTableRequests = "a packet of table requests";
inline constexpr const char* kTableReplies = "a packet of table replies";
inline constexpr const char* kMatchRequest = "a request by match list";

}  // namespace shm::kv
