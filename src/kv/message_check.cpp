// SPDX-License-Identifier: BSD-3-Clause
#include "kv/message_check.hpp"

#include <algorithm>
#include <cstring>

#include "transports/matcher.hpp"

namespace shm::kv {
namespace {

constexpr const char* kUnknown = "with an unknown operation";
constexpr const char* kTooLong = "with a key or value that the table has no room for";
constexpr const char* kNoPlace = "for a place that is not in the table";

// The first of all operations, so a number up to the last of them is one of them.
bool is_store(KvOp op) { return op == KvOp::put || op == KvOp::insert || op == KvOp::update; }
static_assert(static_cast<int>(KvOp::update) == 2 && static_cast<int>(KvOp::put) == 0);

// A block that is reserved for a value that was put there.
bool is_block(const RequestHead& head, const ShardLayout& layout) {
  if (layout.inlined || !is_store(head.op) || head.block < layout.blocks_at || head.block >= layout.bytes)
    return false;
  return (head.block - layout.blocks_at) % layout.smallest_block == 0 &&
         sizeof(Block) + padded(head.key_bytes) + padded(head.n) <= layout.bytes - head.block;
}

const char* wrong_without_key(const RequestHead& head, const ShardLayout& layout) {
  if (head.key_bytes != 0 || head.block != 0) return kUnknown;
  if (head.op == KvOp::confirm && head.offset >= layout.groups) return kNoPlace;
  if (head.op == KvOp::scan && (head.n < sizeof(std::uint64_t) || head.n > most_scan_bytes(layout)))
    return kTooLong;
  return nullptr;
}

// A block for an element of this key.
const char* wrong_with_reserve(const RequestHead& head, std::size_t body, std::size_t left,
                               const ShardLayout& layout) {
  if (head.block != 0 || head.offset > static_cast<std::uint64_t>(KvOp::update)) return kUnknown;
  if (layout.inlined || head.key_bytes - 1 >= layout.key_bytes || head.n > layout.largest_block)
    return kTooLong;
  return body > left ? kCutOff : nullptr;
}

}  // namespace

const char* wrong_with_packet(const std::byte* message, std::size_t n, KvPacketHead::Kind first,
                              KvPacketHead::Kind last) {
  if (n < sizeof(KvPacketHead)) return kCutOff;
  const auto kind = head_at<KvPacketHead>(message).kind;
  return kind < first || kind > last ? "of an unknown kind" : nullptr;
}

const char* wrong_with_request(const RequestHead& head, std::size_t body, std::size_t left,
                               const ShardLayout& layout) {
  const unsigned may_want = head.op == KvOp::get ? kWantsOld | kWantsLocation | kWaits : kWantsOld;
  if (head.op > KvOp::leave || (head.wants & ~may_want) != 0) return kUnknown;
  if (head.op == KvOp::reserve) return wrong_with_reserve(head, body, left, layout);
  if (!is_of_a_key(head.op)) return wrong_without_key(head, layout);
  if (head.key_bytes - 1 >= layout.key_bytes) return kTooLong;
  const bool has_value = brings_value(head.op) || head.op == KvOp::compare_swap;
  const std::uint64_t longest =
      head.op == KvOp::apply ? std::max(layout.value_bytes, kLongestOperand) : layout.value_bytes;
  if (has_value && head.n > longest) return kTooLong;
  switch (head.op) {
    case KvOp::accumulate:
    case KvOp::upsert:
      if (static_cast<int>(head.atomic) >= kAtomicOps || static_cast<int>(head.type) >= kAtomicTypes ||
          !has_non_fetching_form(head.atomic) || !is_defined(head.atomic, head.type))
        return kUnknown;
      break;
    default: break;
  }
  if (head.block != 0 && !is_block(head, layout)) return kNoPlace;
  return body > left ? kCutOff : nullptr;
}

const char* wrong_with_paged_request(const RequestHead& head) {
  const bool by_rma = head.op == KvOp::reserve || head.op == KvOp::confirm || head.block != 0;
  return by_rma || (head.wants & (kWantsLocation | kWaits)) != 0 ? kUnknown : nullptr;
}

const char* wrong_with_piece(const std::byte* piece, std::size_t n, std::size_t arrived,
                             const ShardLayout& layout) {
  if (n <= sizeof(PieceHead)) return kCutOff;
  const auto head = head_at<PieceHead>(piece);
  const std::uint64_t longest = sizeof(RequestHead) + padded(layout.key_bytes) +
                                std::max(2 * padded(layout.value_bytes), kLongestOperand);
  if (head.total > longest) return kTooLong;
  if (head.total < sizeof(RequestHead)) return kCutOff;
  const std::size_t bytes = n - sizeof head;
  if (head.offset != arrived || arrived > head.total || bytes > head.total - arrived) return kUnordered;
  return nullptr;
}

namespace {

// Of the first of them.
const char* wrong_with_run(const std::byte* run, std::size_t n, const ShardLayout& layout) {
  if (n < sizeof(RunHead)) return kCutOff;
  const auto head = head_at<RunHead>(run);
  const RequestHead& like = head.like;
  if (!is_of_a_key(like.op) || like.op == KvOp::apply || like.block != 0 || (like.wants & ~kWantsOld) != 0)
    return kUnknown;
  const std::size_t left = n - sizeof head;
  const std::size_t body = body_bytes(like);
  if (const char* wrong = wrong_with_request(like, body, left, layout)) return wrong;
  if (head.count == 0 || left < head.count * body) return kCutOff;
  const std::uint64_t reply = sizeof(RunReply) + padded(reply_bytes(layout, like));
  if (head.count > (kPacketBytes - sizeof(KvPacketHead) - sizeof(RunReplyHead)) / reply)
    return "with more results than it has room for";
  return nullptr;
}

}  // namespace

const char* wrong_with_runs(const std::byte* runs, std::size_t n, const ShardLayout& layout) {
  do {
    if (const char* wrong = wrong_with_run(runs, n, layout)) return wrong;
    const std::size_t bytes = run_bytes(run_at(runs));
    runs += bytes;
    n -= bytes;
  } while (n != 0);
  return nullptr;
}

int sender_of_match(const std::byte* message, std::size_t n, unsigned npes) {
  if (n < sizeof(MatchHead)) return kUnknownRank;
  const int from = head_at<MatchHead>(message).from;
  return from >= 0 && from < static_cast<int>(npes) ? from : kUnknownRank;
}

std::uint32_t table_of_match(const std::byte* message, std::size_t n) {
  return n < sizeof(MatchHead) ? kNoTable : head_at<MatchHead>(message).table;
}

const char* wrong_with_match(const std::byte* message, std::size_t n, const ShardLayout& layout,
                             unsigned npes) {
  if (n < sizeof(MatchHead)) return kCutOff;
  const auto entry = head_at<MatchHead>(message);
  const RequestHead& head = entry.request;
  if (sender_of_match(message, n, npes) == kUnknownRank) return "in the name of a PE that is not there";
  if (!is_of_a_key(head.op) || head.op == KvOp::apply || head.block != 0 || (head.wants & ~kWantsOld) != 0 ||
      (head.token & kClassBits) != 0)
    return kUnknown;
  if (const char* wrong = wrong_with_request(head, body_bytes(head), n - sizeof entry, layout)) return wrong;
  return sizeof(KvReplyHead) + reply_bytes(layout, head) > kMostMatched ? kTooLong : nullptr;
}

const char* wrong_with_reply_piece(const std::byte* piece, std::size_t n) {
  if (n < sizeof(PieceHead) + sizeof(KvReplyHead)) return kCutOff;
  const auto head = head_at<PieceHead>(piece);
  return head.total == 0 || head.offset >= head.total ? kUnordered : nullptr;
}

const char* wrong_with_next_piece(const KvReplyHead& head, const PieceHead& piece, std::size_t left,
                                  const ReplyLimits& limits, std::uint64_t arrived) {
  if (padded(head.bytes) > left) return kCutOff;
  if (piece.total > limits.room) return kNotAskedFor;
  if (piece.offset != arrived || head.bytes == 0 || head.bytes > piece.total - piece.offset ||
      padded(head.bytes) != left)
    return kUnordered;
  return head.status == kByRma ? kUnknownStatus : wrong_with_status(head.status, head.n, piece.total, limits);
}

const char* wrong_with_run_replies(const RunReplyHead& head, std::size_t asked, std::uint64_t left) {
  const bool within =
      head.count != 0 && head.first <= asked && head.count <= asked - head.first && head.count <= left;
  return within ? nullptr : "to more requests than there were";
}

const char* wrong_with_run_reply(const std::byte* reply, std::size_t left, KvOp op, std::uint64_t room) {
  if (left < sizeof(RunReply)) return kCutOff;
  const auto head = head_at<RunReply>(reply);
  const std::uint64_t bytes = bytes_of(head, op);
  const ReplyLimits limits{room, gives_value(op), false};
  if (const char* wrong = wrong_with_status(head.status, head.n, bytes, limits)) return wrong;
  if (bytes > room) return kNotAskedFor;
  return padded(bytes) > left - sizeof head ? kCutOff : nullptr;
}

const char* wrong_with_location(const Location& location, std::uint64_t n, std::uint64_t room,
                                const ShardLayout& layout) {
  if (n > room || n > layout.value_bytes) return kNotAskedFor;
  const bool within = location.at >= layout.blocks_at && location.at <= layout.bytes &&
                      n <= layout.bytes - location.at && location.group < layout.groups;
  return within ? nullptr : kNoPlace;
}

}  // namespace shm::kv
