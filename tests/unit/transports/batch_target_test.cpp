// SPDX-License-Identifier: BSD-3-Clause
// Packets against their records applied one by one, and packets that make no sense.
#include "batch/target.hpp"

#include <gtest/gtest.h>

#include <numeric>

namespace shm::batch {
namespace {

struct Memory {
  alignas(16) std::array<std::byte, 256> bytes{};
  Target target;
  Memory() { target.add_segment(SegmentId::heap, bytes.data(), bytes.size()); }
};

std::vector<std::byte> send(Memory& to, Packet& packet) {
  packet.finish(42);
  return to.target.apply(1, packet.bytes.data(), packet.size);
}

TEST(BatchTarget, PutsOfAllSizesAtAllPlaces) {
  std::array<std::byte, 64> source;
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::byte>(i + 1);
  for (std::uint32_t n = 1; n <= 40; ++n) {
    for (std::uint64_t offset = 0; offset < 9; ++offset) {
      Memory memory;
      Packet packet;
      packet.add({offset, n, SegmentId::heap, kPutCode, {}, 0}, source.data());
      EXPECT_EQ(send(memory, packet).size(), sizeof(ReplyHead));
      std::array<std::byte, 256> expected{};
      std::memcpy(expected.data() + offset, source.data(), n);
      EXPECT_EQ(memory.bytes, expected) << n << " bytes at " << offset;
    }
  }
}

TEST(BatchTarget, EveryAtomicGivesWhatItGivesHere) {
  for (int o = 0; o < kAtomicOps; ++o) {
    for (int t = 0; t < kAtomicTypes; ++t) {
      const auto op = static_cast<AtomicOp>(o);
      const auto type = static_cast<AtomicType>(t);
      if (!is_defined(op, type)) continue;
      Memory memory;
      for (std::size_t i = 0; i < 8; ++i) memory.bytes[16 + i] = static_cast<std::byte>(3 * i + 1);
      alignas(8) std::array<std::byte, 8> word, old{};
      std::memcpy(word.data(), memory.bytes.data() + 16, 8);
      std::array<std::byte, 16> operands;
      operands.fill(std::byte{0x11});
      std::memcpy(operands.data() + 8, word.data(), 8);  // compare_swap finds what it compares with
      const std::uint32_t length = op == AtomicOp::fetch ? 0 : op == AtomicOp::compare_swap ? 16 : 8;
      Packet packet;
      packet.add({16, length, SegmentId::heap, code_of(op), type, 1}, operands.data());
      packet.results.push_back({});
      const std::vector<std::byte> reply = send(memory, packet);
      atomic_apply(op, type, word.data(), operands.data(), operands.data() + 8, old.data());
      ASSERT_EQ(reply.size(), sizeof(ReplyHead) + 8);
      EXPECT_EQ(std::memcmp(reply.data() + sizeof(ReplyHead), old.data(), 8), 0) << o << " " << t;
      EXPECT_EQ(std::memcmp(memory.bytes.data() + 16, word.data(), 8), 0) << o << " " << t;
    }
  }
}

TEST(BatchTarget, RecordsAreExecutedInOrder) {
  Memory memory;
  Packet packet;
  for (std::uint64_t i = 0; packet.has_room(kSmallestRecord); ++i) {
    const AtomicOp op = i % 2 ? AtomicOp::add : AtomicOp::set;
    packet.add({8, 8, SegmentId::heap, code_of(op), AtomicType::u64, 0}, &i);
  }
  EXPECT_GE(packet.records, 600u);
  send(memory, packet);
  std::uint64_t word = 0;
  std::memcpy(&word, memory.bytes.data() + 8, 8);
  const std::uint64_t last = packet.records - 1;
  EXPECT_EQ(word, last % 2 ? 2 * last - 1 : last);
}

TEST(BatchTargetDeath, PacketsThatMakeNoSenseEndTheJob) {
  Memory memory;
  const std::uint64_t value = 0;
  const auto with = [&](RecordHead head) {
    Packet packet;
    packet.add(head, &value);
    send(memory, packet);
  };
  EXPECT_DEATH(with({249, 8, SegmentId::heap, kPutCode, {}, 0}), "PE 1 .*outside the memory");
  EXPECT_DEATH(with({0, 8, SegmentId::statics, kPutCode, {}, 0}), "outside the memory");
  EXPECT_DEATH(with({~std::uint64_t{0}, 8, SegmentId::heap, kPutCode, {}, 0}), "outside the memory");
  EXPECT_DEATH(with({0, 8, static_cast<SegmentId>(9), kPutCode, {}, 0}), "unknown segment");
  EXPECT_DEATH(with({0, 8, SegmentId::heap, code_of(AtomicOp::add), AtomicType::u64, 1}), "too many results");
  Packet packet;
  packet.add({0, 8, SegmentId::heap, kPutCode, {}, 0}, &value);
  packet.finish(0);
  EXPECT_DEATH(memory.target.apply(1, packet.bytes.data(), packet.size - 1), "cut off");
  EXPECT_DEATH(memory.target.apply(1, packet.bytes.data(), 20), "ends too early");
  EXPECT_DEATH(memory.target.apply(1, packet.bytes.data(), 3), "without a head");
}

}  // namespace
}  // namespace shm::batch
