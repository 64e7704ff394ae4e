// SPDX-License-Identifier: BSD-3-Clause
// Each field of each message of a table, at its limit and beyond it.
#include "kv/message_check.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace shm::kv {
namespace {

using Bytes = std::vector<std::byte>;

// What is wrong, or "".
std::string say(const char* wrong) { return wrong == nullptr ? "" : wrong; }

constexpr const char* kCut = "that is cut off";
constexpr const char* kUnknownOp = "with an unknown operation";
constexpr const char* kNoRoom = "with a key or value that the table has no room for";
constexpr const char* kNotInTable = "for a place that is not in the table";

struct RequestCheck : ::testing::Test {
  const ShardLayout layout = make_layout(16, 1000, 100, 1, false);  // with blocks
  RequestHead head{.token = 0,
                   .hash = 0,
                   .n = 24,
                   .offset = 0,
                   .block = 0,
                   .key_bytes = 9,
                   .op = KvOp::put,
                   .atomic = AtomicOp::add,
                   .type = AtomicType::u64,
                   .wants = 0};

  std::string check(std::size_t left) const {
    const std::size_t body = body_bytes(head);
    const std::string wrong = say(wrong_with_request(head, body, left, layout));
    EXPECT_TRUE(wrong.empty() || !is_plain(head, body, left, layout));
    return wrong;
  }
  std::string check() const { return check(body_bytes(head)); }
};

TEST(PacketCheck, Kind) {
  const auto check = [](std::uint32_t kind, std::size_t n = sizeof(KvPacketHead)) {
    const std::uint32_t head[] = {0, kind};
    const auto* message = reinterpret_cast<const std::byte*>(head);
    return say(wrong_with_packet(message, n, KvPacketHead::request_piece, KvPacketHead::replies));
  };
  EXPECT_EQ(check(KvPacketHead::request_piece), "");
  EXPECT_EQ(check(KvPacketHead::replies), "");
  for (const std::uint32_t kind : {0U, 4U, ~0U}) EXPECT_EQ(check(kind), "of an unknown kind");
  EXPECT_EQ(check(KvPacketHead::replies, sizeof(KvPacketHead) - 1), kCut);
}

TEST_F(RequestCheck, Operation) {
  for (int op = 0; op < static_cast<int>(KvOp::count); ++op) {
    head.op = static_cast<KvOp>(op);
    EXPECT_EQ(check(), "") << op;
  }
  head.op = static_cast<KvOp>(static_cast<int>(KvOp::confirm) + 1);
  EXPECT_EQ(check(), kUnknownOp);
  head.op = KvOp::get;
  head.wants = kWantsOld | kWantsLocation | kWaits;
  EXPECT_EQ(check(), "");
  head.wants = 8;
  EXPECT_EQ(check(), kUnknownOp);
}

TEST_F(RequestCheck, OnlyGetsWaitOrAskWhereAValueIs) {
  for (const std::uint8_t wants : {kWantsLocation, kWaits}) {
    head.wants = wants;
    for (int op = 0; op < static_cast<int>(KvOp::count); ++op) {
      head.op = static_cast<KvOp>(op);
      EXPECT_EQ(check(), head.op == KvOp::get ? "" : kUnknownOp) << op;
    }
    head.op = KvOp::count;
    head.key_bytes = 0;
    EXPECT_EQ(check(), kUnknownOp);
    head.key_bytes = 9;
  }
}

TEST_F(RequestCheck, Key) {
  for (const std::uint32_t n : {1U, 16U}) {
    head.key_bytes = n;
    EXPECT_EQ(check(), "") << n;
  }
  for (const std::uint32_t n : {0U, 17U, ~0U}) {
    head.key_bytes = n;
    EXPECT_EQ(check(1 << 20), kNoRoom) << n;
  }
}

TEST_F(RequestCheck, Value) {
  for (const KvOp op : {KvOp::put, KvOp::insert, KvOp::update, KvOp::compare_swap, KvOp::get_or_insert,
                        KvOp::exchange, KvOp::insert_or_update}) {
    head.op = op;
    head.n = 1000;
    EXPECT_EQ(check(), "");
    for (const std::uint64_t n : {std::uint64_t{1001}, ~std::uint64_t{0}, ~std::uint64_t{0} - 15}) {
      head.n = n;
      EXPECT_EQ(check(1 << 20), kNoRoom) << n;
    }
  }
  head.op = KvOp::get;  // room, of which there may be any
  EXPECT_EQ(check(), "");
}

TEST_F(RequestCheck, Body) {
  for (const KvOp op : {KvOp::put, KvOp::compare_swap, KvOp::upsert, KvOp::contains}) {
    head.op = op;
    EXPECT_EQ(check(body_bytes(head) + 8), "");
    EXPECT_EQ(check(body_bytes(head) - 1), kCut);
    EXPECT_EQ(check(0), kCut);
  }
}

TEST_F(RequestCheck, Word) {
  for (const KvOp op : {KvOp::accumulate, KvOp::upsert}) {
    head.op = op;
    head.type = AtomicType::f64;
    for (const AtomicOp atomic : {AtomicOp::set, AtomicOp::add, AtomicOp::min, AtomicOp::max}) {
      head.atomic = atomic;
      EXPECT_EQ(check(), "");
    }
    for (const AtomicOp atomic : {AtomicOp::fetch, AtomicOp::swap, AtomicOp::compare_swap, AtomicOp::bit_or,
                                  static_cast<AtomicOp>(kAtomicOps)}) {
      head.atomic = atomic;
      EXPECT_EQ(check(), kUnknownOp) << static_cast<int>(atomic);
    }
    head.atomic = AtomicOp::add;
    head.type = static_cast<AtomicType>(kAtomicTypes);
    EXPECT_EQ(check(), kUnknownOp);
  }
}

TEST_F(RequestCheck, Block) {
  head.n = 900;
  head.block = layout.blocks_at;
  EXPECT_EQ(check(), "");
  head.block = layout.bytes - layout.largest_block;
  EXPECT_EQ(check(), "");
  for (const std::uint64_t block :
       {std::uint64_t{8}, layout.blocks_at - layout.smallest_block, layout.blocks_at + 8,
        layout.bytes - layout.smallest_block, layout.bytes, ~std::uint64_t{0} - 7}) {
    head.block = block;
    EXPECT_EQ(check(), kNotInTable) << block;
  }
  head.block = layout.blocks_at;
  head.op = KvOp::get;
  EXPECT_EQ(check(), kNotInTable);
  head.op = KvOp::put;
  head.n = 8;
  const ShardLayout slots = make_layout(16, 8, 100, 1, false);
  EXPECT_EQ(say(wrong_with_request(head, body_bytes(head), body_bytes(head), slots)), kNotInTable)
      << "there are no blocks";
}

TEST_F(RequestCheck, WithoutAKey) {
  head.key_bytes = 0;
  head.op = KvOp::count;
  EXPECT_EQ(check(), "");
  head.op = KvOp::confirm;
  head.offset = layout.groups - 1;
  EXPECT_EQ(check(), "");
  head.offset = layout.groups;
  EXPECT_EQ(check(), kNotInTable);
  head.offset = 0;
  head.key_bytes = 1;
  EXPECT_EQ(check(), kUnknownOp);
}

TEST_F(RequestCheck, OfABlockForAKey) {
  head.op = KvOp::reserve;
  head.key_bytes = 16;
  head.n = layout.largest_block;
  EXPECT_EQ(check(), "");
  head.n = layout.largest_block + 1;
  EXPECT_EQ(check(), kNoRoom);
  head.n = 8;
  for (const std::uint32_t n : {0, 17}) {
    head.key_bytes = n;
    EXPECT_EQ(check(), kNoRoom) << n;
  }
  head.key_bytes = 9;
  EXPECT_EQ(say(wrong_with_request(head, body_bytes(head), 15, layout)), kCut);
  head.block = layout.blocks_at;
  EXPECT_EQ(check(), kUnknownOp);
  head.block = 0;
  for (const KvOp op : {KvOp::put, KvOp::insert, KvOp::update, KvOp::get, KvOp::remove_if}) {
    head.offset = static_cast<std::uint64_t>(op);
    EXPECT_EQ(check(), op <= KvOp::update ? "" : kUnknownOp);
  }
  head.offset = std::uint64_t{1} << 32;
  EXPECT_EQ(check(), kUnknownOp);
  head.offset = 0;
  const ShardLayout slots = make_layout(16, 8, 100, 1, false);
  EXPECT_EQ(say(wrong_with_request(head, body_bytes(head), body_bytes(head), slots)), kNoRoom)
      << "there are no blocks";
}

TEST_F(RequestCheck, OfATableOnNvm) {
  const auto check_paged = [&] { return say(wrong_with_paged_request(head)); };
  EXPECT_EQ(check_paged(), "");
  head.wants = kWantsOld;
  EXPECT_EQ(check_paged(), "");
  for (const std::uint8_t wants : {kWantsLocation, kWaits}) {
    head.wants = wants;
    EXPECT_EQ(check_paged(), kUnknownOp);
  }
  head.wants = 0;
  head.block = layout.blocks_at;
  EXPECT_EQ(check_paged(), kUnknownOp);
  head.block = 0;
  for (const KvOp op : {KvOp::count, KvOp::reserve, KvOp::confirm}) {
    head.op = op;
    EXPECT_EQ(check_paged(), op == KvOp::count ? "" : kUnknownOp);
  }
}

TEST_F(RequestCheck, Pieces) {
  const char* const unordered = "with pieces that do not follow one another";
  const auto check = [&](std::uint64_t offset, std::uint64_t total, std::size_t bytes, std::size_t arrived) {
    Bytes piece(sizeof(PieceHead) + bytes);
    const PieceHead head{offset, total};
    std::memcpy(piece.data(), &head, sizeof head);
    return say(wrong_with_piece(piece.data(), piece.size(), arrived, layout));
  };
  EXPECT_EQ(check(0, 500, 100, 0), "");
  EXPECT_EQ(check(100, 500, 400, 100), "");
  EXPECT_EQ(check(100, 500, 401, 100), unordered);
  EXPECT_EQ(check(99, 500, 1, 100), unordered);
  EXPECT_EQ(check(0, 500, 100, 100), unordered);
  EXPECT_EQ(check(0, 500, 0, 0), kCut);
  EXPECT_EQ(check(0, sizeof(RequestHead) - 1, 8, 0), kCut);
  const std::uint64_t longest = sizeof(RequestHead) + 16 + 2 * 1000;
  EXPECT_EQ(check(0, longest, 100, 0), "");
  EXPECT_EQ(check(0, longest + 1, 100, 0), kNoRoom);
  EXPECT_EQ(check(0, ~std::uint64_t{0}, 100, 0), kNoRoom);
}

TEST_F(RequestCheck, Runs) {
  const auto check = [&](std::uint32_t count, std::ptrdiff_t more = 0) {
    const RunHead run{head, 0, count};
    Bytes bytes(
        static_cast<std::size_t>(static_cast<std::ptrdiff_t>(sizeof run + count * body_bytes(head)) + more));
    std::memcpy(bytes.data(), &run, std::min(bytes.size(), sizeof run));
    return say(wrong_with_runs(bytes.data(), bytes.size(), layout));
  };
  EXPECT_EQ(check(3), "");
  EXPECT_EQ(check(0), kCut);
  EXPECT_EQ(check(3, 8), kCut);
  EXPECT_EQ(check(3, -8), kCut);
  EXPECT_EQ(check(0, -1), kCut);
  head.op = KvOp::get;
  head.n = 1000;
  EXPECT_EQ(check(16), "") << "16 replies of 1008 bytes fit a packet";
  EXPECT_EQ(check(17), "with more results than it has room for");
  head.wants = kWaits;
  EXPECT_EQ(check(1), kUnknownOp);
  head.wants = 0;
  head.op = KvOp::count;
  EXPECT_EQ(check(1), kUnknownOp);
}

TEST_F(RequestCheck, ByMatchList) {
  const auto check = [&](int from, std::size_t less = 0) {
    const MatchHead entry{head, from, 0};
    Bytes bytes(sizeof entry + body_bytes(head) - less);
    std::memcpy(bytes.data(), &entry, std::min(bytes.size(), sizeof entry));
    return say(wrong_with_match(bytes.data(), bytes.size(), layout, 4));
  };
  EXPECT_EQ(check(0), "");
  EXPECT_EQ(check(3), "");
  EXPECT_EQ(check(4), "in the name of a PE that is not there");
  EXPECT_EQ(check(-1), "in the name of a PE that is not there");
  EXPECT_EQ(check(0, 1), kCut);
  EXPECT_EQ(check(0, body_bytes(head) + 1), kCut);
  head.token = kReply;
  EXPECT_EQ(check(0), kUnknownOp);
  head.token = 0;
  head.wants = kWantsLocation;
  EXPECT_EQ(check(0), kUnknownOp);
  head.wants = 0;
  head.block = layout.blocks_at;
  EXPECT_EQ(check(0), kUnknownOp);
}

TEST_F(RequestCheck, WhoseARequestByMatchListIs) {
  const auto sender = [&](int from, std::size_t n = sizeof(MatchHead)) {
    const MatchHead entry{head, from, 0};
    return sender_of_match(reinterpret_cast<const std::byte*>(&entry), n, 4);
  };
  EXPECT_EQ(sender(0), 0);
  EXPECT_EQ(sender(3), 3);
  EXPECT_EQ(sender(4), kUnknownRank);
  EXPECT_EQ(sender(-1), kUnknownRank);
  EXPECT_EQ(sender(3, sizeof(MatchHead) - 1), kUnknownRank) << "what is cut off may not say so";
}

TEST(ReplyCheck, LengthsAndStatus) {
  const char* const unasked = "with a value that nobody has asked for";
  const char* const unordered = "with pieces that do not follow one another";
  const auto check = [](std::int32_t status, std::uint32_t bytes, std::size_t left, std::uint64_t room,
                        PieceHead piece = {}, std::uint64_t arrived = 0) {
    const KvReplyHead head{1, bytes, status, bytes};
    const ReplyLimits limits{room, false, false};
    return say(piece.total == 0 ? wrong_with_reply(head, left, limits, arrived)
                                : wrong_with_next_piece(head, piece, left, limits, arrived));
  };
  EXPECT_EQ(check(SHMEMX_KV_OK, 8, 8, 8), "");
  for (const Code status : {kBusy, kByRma, -3, int{SHMEMX_KV_PENDING}, 9})
    EXPECT_EQ(check(status, 0, 0, 0), "with an unknown status") << status;
  EXPECT_EQ(check(SHMEMX_KV_COLLISION, 0, 0, 0), "");
  EXPECT_EQ(check(SHMEMX_KV_MISMATCH, 8, 8, 8), "");
  EXPECT_EQ(check(SHMEMX_KV_OK, 4, 8, 8), unasked) << "the old value is longer";
  EXPECT_EQ(check(SHMEMX_KV_MISMATCH, 0, 0, 8), unasked);
  EXPECT_EQ(check(SHMEMX_KV_COLLISION, 8, 8, 8), unasked) << "nothing was there";
  EXPECT_EQ(check(SHMEMX_KV_COLLISION, 0, 0, 8), "");
  EXPECT_EQ(check(SHMEMX_KV_OK, 9, 15, 16), kCut);
  EXPECT_EQ(check(SHMEMX_KV_OK, 9, 16, 8), unasked);
  EXPECT_EQ(check(SHMEMX_KV_OK, 1, 8, 0), unasked);
  EXPECT_EQ(check(SHMEMX_KV_OK, 8, 8, 100, {92, 100}, 92), "");
  EXPECT_EQ(check(SHMEMX_KV_OK, 8, 8, 99, {92, 100}, 92), unasked);
  EXPECT_EQ(check(SHMEMX_KV_OK, 9, 16, 100, {92, 100}, 92), unordered);
  EXPECT_EQ(check(SHMEMX_KV_OK, 8, 8, 100, {92, 100}, 84), unordered) << "8 bytes are missing";
  EXPECT_EQ(check(SHMEMX_KV_OK, 8, 8, 100, {92, 100}, 100), unordered) << "it has come";
  EXPECT_EQ(check(SHMEMX_KV_OK, 8, 8, 100, {}, 92), unordered) << "not a piece";
  EXPECT_EQ(check(SHMEMX_KV_OK, 0, 0, 100, {92, 100}, 92), unordered) << "of nothing";
  EXPECT_EQ(check(SHMEMX_KV_OK, 8, 16, 100, {0, 100}), unordered) << "something is behind it";
}

TEST(ReplyCheck, ToAGet) {
  const auto check = [](Code status, std::uint64_t n, std::uint32_t bytes, bool by_rma = false,
                        PieceHead piece = {}) {
    const KvReplyHead head{1, n, status, bytes};
    const ReplyLimits limits{100, true, by_rma};
    return say(piece.total == 0 ? wrong_with_reply(head, padded(bytes), limits, 0)
                                : wrong_with_next_piece(head, piece, padded(bytes), limits, 0));
  };
  const char* const unasked = "with a value that nobody has asked for";
  EXPECT_EQ(check(SHMEMX_KV_OK, 24, 24), "");
  EXPECT_EQ(check(SHMEMX_KV_OK, 25, 24), unasked) << "it would be longer than what has come";
  EXPECT_EQ(check(SHMEMX_KV_OK, 23, 24), unasked);
  EXPECT_EQ(check(SHMEMX_KV_OK, 100, 24, false, {0, 100}), "") << "the rest comes";
  EXPECT_EQ(check(SHMEMX_KV_OK, 24, 24, false, {0, 100}), unasked);
  EXPECT_EQ(check(SHMEMX_KV_TOO_LARGE, 1000, 0), "") << "how long it is";
  EXPECT_EQ(check(kByRma, 1000, 24, true), "");
  EXPECT_EQ(check(kByRma, 1000, 24), "with an unknown status") << "it has not asked where the value is";
  EXPECT_EQ(check(kByRma, 1000, 16, true), "with an unknown status");
  EXPECT_EQ(check(kByRma, 1000, 24, true, {0, 100}), "with an unknown status");
}

TEST(ReplyCheck, Pieces) {
  const auto check = [](std::uint64_t offset, std::uint64_t total, std::size_t n) {
    Bytes bytes(n);
    const PieceHead head{offset, total};
    std::memcpy(bytes.data(), &head, std::min(n, sizeof head));
    return say(wrong_with_reply_piece(bytes.data(), n));
  };
  constexpr std::size_t least = sizeof(PieceHead) + sizeof(KvReplyHead);
  EXPECT_EQ(check(0, 1, least), "");
  EXPECT_EQ(check(0, 1, least - 1), kCut);
  EXPECT_EQ(check(0, 0, least), "with pieces that do not follow one another");
  EXPECT_EQ(check(7, 7, least), "with pieces that do not follow one another");
}

TEST(ReplyCheck, Runs) {
  EXPECT_EQ(say(wrong_with_run_replies({1, 3, 5}, 8, 5)), "");
  EXPECT_EQ(say(wrong_with_run_replies({1, 3, 5}, 8, 4)), "to more requests than there were") << "one twice";
  EXPECT_EQ(say(wrong_with_run_replies({1, 3, 6}, 8, 4)), "to more requests than there were");
  EXPECT_EQ(say(wrong_with_run_replies({1, 9, 0}, 8, 4)), "to more requests than there were");
  EXPECT_EQ(say(wrong_with_run_replies({1, 3, 0}, 8, 4)), "to more requests than there were") << "to none";
  EXPECT_EQ(say(wrong_with_run_replies({1, 3, ~0U}, 8, 4)), "to more requests than there were");
  const auto check = [](std::int32_t status, std::uint32_t bytes, std::size_t left, std::uint64_t room,
                        KvOp op = KvOp::accumulate) {
    Bytes reply(std::max(left, sizeof(RunReply)));
    const RunReply head{status, bytes};
    std::memcpy(reply.data(), &head, sizeof head);
    return say(wrong_with_run_reply(reply.data(), left, op, room));
  };
  EXPECT_EQ(check(SHMEMX_KV_OK, 8, 16, 8), "");
  EXPECT_EQ(check(SHMEMX_KV_OK, 8, 15, 8), kCut);
  EXPECT_EQ(check(SHMEMX_KV_OK, 0, 7, 8), kCut);
  EXPECT_EQ(check(SHMEMX_KV_OK, 9, 24, 8), "with a value that nobody has asked for");
  EXPECT_EQ(check(SHMEMX_KV_OK, 0, 8, 8), "with a value that nobody has asked for")
      << "the old one is missing";
  EXPECT_EQ(check(SHMEMX_KV_MISMATCH, 8, 16, 8), "");
  EXPECT_EQ(check(SHMEMX_KV_COLLISION, 8, 16, 8), "with a value that nobody has asked for");
  EXPECT_EQ(check(SHMEMX_KV_INSERTED, 8, 16, 8, KvOp::exchange), "") << "of which nothing comes";
  EXPECT_EQ(check(SHMEMX_KV_OK, 9, 24, 8, KvOp::take), "with a value that nobody has asked for");
  EXPECT_EQ(check(SHMEMX_KV_OK, 5, 16, 8, KvOp::get), "") << "it is shorter than the most";
  EXPECT_EQ(check(-1, 0, 8, 8), "with an unknown status");
  EXPECT_EQ(check(SHMEMX_KV_PENDING, 0, 8, 8), "with an unknown status");
  EXPECT_EQ(check(SHMEMX_KV_TOO_LARGE, 100, 8, 8, KvOp::get), "") << "how long it is; nothing of it comes";
}

TEST(ReplyCheck, Locations) {
  const ShardLayout layout = make_layout(16, 20000, 100, 1, false);
  const auto check = [&](std::uint64_t at, std::uint64_t group, std::uint64_t n, std::uint64_t room) {
    return say(wrong_with_location({at, group, 0}, n, room, layout));
  };
  EXPECT_EQ(check(layout.blocks_at + 40, 0, 20000, 20000), "");
  EXPECT_EQ(check(layout.bytes - 9000, layout.groups - 1, 9000, 9000), "");
  EXPECT_EQ(check(layout.bytes - 8999, 0, 9000, 9000), kNotInTable);
  EXPECT_EQ(check(layout.blocks_at - 8, 0, 9000, 9000), kNotInTable);
  EXPECT_EQ(check(~std::uint64_t{0}, 0, 9000, 9000), kNotInTable);
  EXPECT_EQ(check(layout.blocks_at, layout.groups, 9000, 9000), kNotInTable);
  EXPECT_EQ(check(layout.blocks_at, 0, 9001, 9000), "with a value that nobody has asked for");
  EXPECT_EQ(check(layout.blocks_at, 0, 20001, 30000), "with a value that nobody has asked for");
}

}  // namespace
}  // namespace shm::kv
