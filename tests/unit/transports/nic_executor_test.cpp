// SPDX-License-Identifier: BSD-3-Clause
// Packets against their records applied one by one, and packets that make no sense.
#include "nic/executor.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <set>

#include "base/stats.hpp"
#include "seed.hpp"

namespace shm::nic {
namespace {

struct Memory {
  alignas(16) std::array<std::byte, 256> bytes{};
  Executor executor{{}};
  Memory() { executor.add_segment(SegmentId::heap, bytes.data(), bytes.size()); }
};

std::uint64_t word_of(std::uint64_t offset, std::uint8_t code, AtomicType type = {}, bool result = false,
                      SegmentId segment = SegmentId::heap, unsigned node_rank = kReceiver) {
  return encode({offset, node_rank, segment, type, code, result, false});
}

std::span<const std::byte> send(Memory& to, Packet& packet) {
  packet.finish(42, packet.results.size());
  return to.executor.execute(1, packet.bytes.data(), packet.size);
}

TEST(NicExecutor, PutsOfAllSizesAtAllPlaces) {
  std::array<std::byte, 64> source;
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::byte>(i + 1);
  for (std::uint32_t n = 1; n <= 40; ++n) {
    for (std::uint64_t offset = 0; offset < 9; ++offset) {
      Memory memory;
      Packet packet;
      packet.add_put(word_of(offset, kPutCode), offset, source.data(), n);
      EXPECT_EQ(send(memory, packet).size(), sizeof(ReplyHead));
      std::array<std::byte, 256> expected{};
      std::memcpy(expected.data() + offset, source.data(), n);
      EXPECT_EQ(memory.bytes, expected) << n << " bytes at " << offset;
    }
  }
}

TEST(NicExecutor, PutsOfWordsAtAllPlaces) {
  const std::uint64_t value = 0x0807060504030201;
  for (const std::size_t n : {4, 8}) {
    for (std::uint64_t offset = 0; offset <= 256 - n; offset += 4) {
      ASSERT_TRUE(is_put_word(offset, n));
      Memory memory;
      Packet packet;
      packet.add_put_word(word_of(offset, kPutWordCode, put_word_type(n)), value, n);
      EXPECT_EQ(send(memory, packet).size(), sizeof(ReplyHead));
      std::array<std::byte, 256> expected{};
      std::memcpy(expected.data() + offset, &value, n);
      EXPECT_EQ(memory.bytes, expected) << n << " bytes at " << offset;
    }
  }
  EXPECT_FALSE(is_put_word(2, 4));
  EXPECT_FALSE(is_put_word(0, 2));
}

TEST(NicExecutor, EveryAtomicGivesWhatItGivesHere) {
  for (int o = 0; o < kAtomicOps; ++o) {
    for (int t = 0; t < kAtomicTypes; ++t) {
      const auto op = static_cast<AtomicOp>(o);
      const auto type = static_cast<AtomicType>(t);
      if (!is_defined(op, type)) continue;
      Memory memory;
      for (std::size_t i = 0; i < 8; ++i) memory.bytes[16 + i] = static_cast<std::byte>(3 * i + 1);
      alignas(8) std::array<std::byte, 8> word, old{};
      std::memcpy(word.data(), memory.bytes.data() + 16, 8);
      std::array<std::uint64_t, 2> operands{0x1111111111111111, 0};
      std::memcpy(&operands[1], word.data(), 8);  // compare_swap finds what it compares with
      Packet packet;
      packet.add_fetch(word_of(16, code_of(op), type, true), op, operands[0], operands[1]);
      packet.results.push_back({});
      const std::span<const std::byte> reply = send(memory, packet);
      atomic_apply(op, type, word.data(), &operands[0], &operands[1], old.data());
      ASSERT_EQ(reply.size(), sizeof(ReplyHead) + 8);
      EXPECT_EQ(std::memcmp(reply.data() + sizeof(ReplyHead), old.data(), 8), 0) << o << " " << t;
      EXPECT_EQ(std::memcmp(memory.bytes.data() + 16, word.data(), 8), 0) << o << " " << t;
    }
  }
}

TEST(NicExecutor, RecordsOfOneWordAreExecutedInOrder) {
  Memory memory;
  Packet packet;
  for (std::uint64_t i = 0; packet.has_room(kSmallestRecord); ++i) {
    const AtomicOp op = i % 2 ? AtomicOp::add : AtomicOp::set;
    packet.add_update(word_of(8, code_of(op), AtomicType::u64), i);
  }
  EXPECT_GE(packet.records, 1000u);
  send(memory, packet);
  std::uint64_t word = 0;
  std::memcpy(&word, memory.bytes.data() + 8, 8);
  const std::uint64_t last = packet.records - 1;
  EXPECT_EQ(word, last % 2 ? 2 * last - 1 : last);
}

TEST(NicExecutor, RecordsForNodePeersGoToTheirMemory) {
  std::array<Memory, 3> node;
  std::vector<NodeMap::Segments> segments;
  for (Memory& memory : node)
    segments.push_back(
        {NodeMap::Segment{memory.bytes.data(), 128}, NodeMap::Segment{memory.bytes.data() + 128, 128}});
  node[1].executor.add_node(segments);
  Packet packet;
  for (unsigned node_rank = 0; node_rank < 3; ++node_rank) {
    packet.add_update(word_of(8, code_of(AtomicOp::add), AtomicType::u64, false, SegmentId::heap, node_rank),
                      node_rank + 1);
    packet.add_update(
        word_of(8, code_of(AtomicOp::add), AtomicType::u64, false, SegmentId::statics, node_rank),
        node_rank + 10);
  }
  send(node[1], packet);
  for (unsigned node_rank = 0; node_rank < 3; ++node_rank) {
    std::uint64_t words[2];
    std::memcpy(&words[0], node[node_rank].bytes.data() + 8, 8);
    std::memcpy(&words[1], node[node_rank].bytes.data() + 136, 8);
    EXPECT_EQ(words[0], node_rank + 1);
    EXPECT_EQ(words[1], node_rank + 10);
  }
}

// Of any kinds, for any PE of the node, in one packet beside the same in a packet for each.
TEST(NicExecutor, WordsInARowAreAsGoodAsOneByOne) {
  std::mt19937_64 random(test::seed_of_run());
  const auto below = [&](std::uint64_t n) { return random() % n; };
  for (int round = 0; round < 300; ++round) {
    std::array<std::array<Memory, 3>, 2> nodes;  // with all records together, and with each alone
    for (auto& node : nodes) {
      std::vector<NodeMap::Segments> segments;
      for (Memory& memory : node)
        segments.push_back(
            {NodeMap::Segment{memory.bytes.data(), 128}, NodeMap::Segment{memory.bytes.data() + 128, 128}});
      node[0].executor.add_node(segments);
    }
    Packet together;
    std::set<unsigned> targets;
    const std::uint64_t records = 1 + below(60), special = below(30);
    for (std::uint64_t i = 0; i < records; ++i) {
      const std::size_t n = below(special + 1) != 0 ? 8 : 4;
      const std::uint64_t offset = below(special + 1) != 0 ? 8 * below(16) : 4 * below(31);
      const unsigned node_rank = below(3) != 0 ? 1 : below(3) != 0 ? 2 : kReceiver;
      const auto segment = static_cast<SegmentId>(node_rank == kReceiver ? 0 : below(2));
      const bool atomic = below(special + 1) == 0 && offset % 8 == 0;
      const std::uint64_t ordered = below(special + 1) == 0 ? kOrderedBit : 0;
      const std::uint64_t value = random();
      if (node_rank != kReceiver) targets.insert(node_rank);
      Packet alone;
      for (Packet* packet : {&together, &alone}) {
        if (atomic) {
          packet->add_update(
              word_of(offset, code_of(AtomicOp::bit_xor), AtomicType::u64, false, segment, node_rank) |
                  ordered,
              value);
        } else {
          packet->add_put_word(
              word_of(offset, kPutWordCode, put_word_type(n), false, segment, node_rank) | ordered, value, n);
        }
      }
      if (atomic) {  // executed when its line has come, perhaps behind a put that follows it
        for (Packet* packet : {&together, &alone})
          packet->add_put_word(word_of(0, kPutWordCode, AtomicType::u64) | kOrderedBit, 0, 8);
      }
      send(nodes[1][0], alone);
    }
    send(nodes[0][0], together);
    for (std::size_t pe = 0; pe < 3; ++pe)
      ASSERT_EQ(nodes[0][pe].bytes, nodes[1][pe].bytes) << "round " << round << ", PE " << pe;
    const std::vector<unsigned>& touched = nodes[0][0].executor.touched();
    EXPECT_EQ(std::set<unsigned>(touched.begin(), touched.end()), targets);
    EXPECT_EQ(touched.size(), targets.size()) << "each once";
  }
}

// With room for one line and three atomics on it, what retires when, and what is counted, is known.  Each row
// of the statistics has a number of its own.
TEST(NicExecutor, CountsWhatItsRegistersDo) {
  alignas(64) std::array<std::byte, 128> bytes{};
  Executor executor({1, 3});
  executor.add_segment(SegmentId::heap, bytes.data(), bytes.size());
  Packet packet;
  for (const std::uint64_t offset : {0, 8, 0, 0, 0, 0, 64, 64})
    packet.add_update(word_of(offset, code_of(AtomicOp::add), AtomicType::u64), 1);
  packet.finish(42, 0);
  take_stats();
  for (std::uint64_t times = 1; times <= 2; ++times) {
    executor.execute(1, packet.bytes.data(), packet.size);
    const StatValues stats = read_stats();
    const auto of = [&](Stat stat) { return stats[static_cast<std::size_t>(stat)]; };
    EXPECT_EQ(of(Stat::executed), 8 * times);
    EXPECT_EQ(of(Stat::lines), 3 * times);
    EXPECT_EQ(of(Stat::merged), 5 * times);
    EXPECT_EQ(of(Stat::updates), 4 * times) << "the words of each line, once each time that it retires";
    EXPECT_EQ(of(Stat::stalls), 2 * times) << "the first line is full once, and makes room for the second";
  }
}

TEST(NicPacket, WordsKeepAllTheirParts) {
  for (const std::uint64_t offset : {std::uint64_t{0}, std::uint64_t{4}, (std::uint64_t{1} << 46) - 4}) {
    for (const unsigned node_rank : {0u, 5u, kReceiver}) {
      for (int flags = 0; flags < 8; ++flags) {
        const Record in{offset,
                        node_rank,
                        static_cast<SegmentId>(flags & 1),
                        AtomicType::f64,
                        code_of(AtomicOp::max),
                        (flags & 2) != 0,
                        (flags & 4) != 0};
        const Record out = decode(encode(in));
        EXPECT_EQ(out.offset, in.offset);
        EXPECT_EQ(out.node_rank, in.node_rank);
        EXPECT_EQ(out.segment, in.segment);
        EXPECT_EQ(out.type, in.type);
        EXPECT_EQ(out.code, in.code);
        EXPECT_EQ(out.result, in.result);
        EXPECT_EQ(out.ordered, in.ordered);
      }
    }
  }
}

TEST(NicPacket, CombinesWhatFollowsItself) {
  Memory memory;
  Packet packet;
  const std::uint64_t add32 = word_of(8, code_of(AtomicOp::add), AtomicType::u32);
  packet.add_update(add32, 0xffffffff);
  EXPECT_TRUE(packet.combine(add32, AtomicOp::add, 3));  // wraps around in 4 bytes
  EXPECT_FALSE(packet.combine(word_of(12, code_of(AtomicOp::add), AtomicType::u32), AtomicOp::add, 1));
  const std::uint64_t fetching = word_of(8, code_of(AtomicOp::add), AtomicType::u32, true);
  packet.add_fetch(fetching, AtomicOp::add, 1, 0);
  packet.results.push_back({});
  EXPECT_FALSE(packet.combine(fetching, AtomicOp::add, 1));
  EXPECT_FALSE(packet.combine(add32, AtomicOp::add, 1));
  EXPECT_EQ(packet.records, 2u);
  const std::uint64_t real = word_of(16, code_of(AtomicOp::add), AtomicType::f64);
  packet.add_update(real, 0);
  EXPECT_FALSE(packet.combine(real, AtomicOp::add, 0));  // its bits do not add up
  send(memory, packet);
  std::uint32_t words[2];
  std::memcpy(words, memory.bytes.data() + 8, 8);
  EXPECT_EQ(words[0], 3u);
  EXPECT_EQ(words[1], 0u);
}

TEST(NicExecutorDeath, PacketsThatMakeNoSenseEndTheJob) {
  Memory memory;
  const auto put = [&](std::uint64_t offset, SegmentId segment = SegmentId::heap,
                       unsigned node_rank = kReceiver) {
    Packet packet;
    packet.add_put(word_of(offset, kPutCode, {}, false, segment, node_rank), offset, &memory, 8);
    send(memory, packet);
  };
  const auto atomic = [&](std::uint64_t offset, std::uint8_t code, AtomicType type, bool result = false) {
    Packet packet;
    packet.add_update(word_of(offset, code, type, result), 1);
    send(memory, packet);
  };
  const std::uint8_t add = code_of(AtomicOp::add);
  EXPECT_DEATH(put(249), "PE 1 .*outside the memory");
  EXPECT_DEATH(put((std::uint64_t{1} << 46) - 4), "outside the memory");
  EXPECT_DEATH(put(0, SegmentId::statics), "outside the memory");
  EXPECT_DEATH(put(0, SegmentId::heap, 3), "not on this node");
  EXPECT_DEATH(put(0, SegmentId::heap, 0), "not on this node") << "there is no node";
  EXPECT_DEATH(atomic(0, add, AtomicType::u64, true), "too many results");
  EXPECT_DEATH(atomic(0, 15, AtomicType::u64), "unknown operation");
  EXPECT_DEATH(atomic(0, code_of(AtomicOp::bit_and), AtomicType::f64), "unknown operation");
  EXPECT_DEATH(atomic(0, add, static_cast<AtomicType>(7)), "unknown operation");
  EXPECT_DEATH(atomic(0, add, static_cast<AtomicType>(kAtomicTypes)), "unknown operation");
  EXPECT_DEATH(atomic(0, kGetStridedCode + 1, AtomicType::u64), "unknown operation");
  EXPECT_DEATH(atomic(0, kPutWordCode, AtomicType::f64), "a word of an unknown size");
  EXPECT_DEATH(atomic(0, kPutWordCode, static_cast<AtomicType>(7)), "a word of an unknown size");
  EXPECT_DEATH(atomic(252, kPutWordCode, AtomicType::u64), "outside the memory");
  EXPECT_DEATH(atomic(4, add, AtomicType::u64), "not aligned");
  Packet packet;
  packet.add_put(word_of(0, kPutCode), 0, &memory, 8);
  packet.finish(0, 0);
  EXPECT_DEATH(memory.executor.execute(1, packet.bytes.data(), packet.size - 1), "cut off");
  packet.finish(0, 2);
  EXPECT_DEATH(memory.executor.execute(1, packet.bytes.data(), packet.size), "results that no record is for");
  packet.finish(0, (kMaxMessage - sizeof(ReplyHead)) / 8 + 1);
  EXPECT_DEATH(memory.executor.execute(1, packet.bytes.data(), packet.size),
               "more records or results than it has room for");
  packet.records = 1 << 30;
  packet.finish(0, 0);
  EXPECT_DEATH(memory.executor.execute(1, packet.bytes.data(), packet.size),
               "more records or results than it has room for");
  packet.records = 1;
  packet.finish(0, 0);
  EXPECT_DEATH(memory.executor.execute(1, packet.bytes.data(), packet.size + 8), "bytes .* no record is for");
  EXPECT_DEATH(memory.executor.execute(1, packet.bytes.data(), 30), "cut off");
  EXPECT_DEATH(memory.executor.execute(1, packet.bytes.data(), 3), "without a head");
}

// The first word makes sense.
TEST(NicExecutorDeath, WordsInARowThatMakeNoSenseEndTheJob) {
  Memory memory;
  const auto second = [&](std::uint64_t offset, AtomicType type, SegmentId segment = SegmentId::heap,
                          unsigned node_rank = kReceiver) {
    Packet packet;
    packet.add_put_word(word_of(0, kPutWordCode, AtomicType::u64), 1, 8);
    packet.add_update(word_of(offset, kPutWordCode, type, false, segment, node_rank), 1);
    send(memory, packet);
  };
  EXPECT_DEATH(second(0, AtomicType::f64), "a word of an unknown size");
  EXPECT_DEATH(second(252, AtomicType::u64), "outside the memory");
  EXPECT_DEATH(second(256, AtomicType::u64), "outside the memory");
  EXPECT_DEATH(second((std::uint64_t{1} << 46) - 4, AtomicType::u64), "outside the memory");
  EXPECT_DEATH(second(0, AtomicType::u64, SegmentId::statics), "outside the memory");
  EXPECT_DEATH(second(0, AtomicType::u64, SegmentId::heap, 3), "not on this node");
  Packet words;
  for (int i = 0; i < 2; ++i) words.add_put_word(word_of(0, kPutWordCode, AtomicType::u64), 1, 8);
  words.finish(0, 0);
  EXPECT_DEATH(memory.executor.execute(1, words.bytes.data(), words.size - 8), "cut off");
  words.records = 1;
  words.finish(0, 0);
  EXPECT_DEATH(memory.executor.execute(1, words.bytes.data(), words.size), "bytes .* no record is for");
}

}  // namespace
}  // namespace shm::nic
