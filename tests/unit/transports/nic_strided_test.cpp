// SPDX-License-Identifier: BSD-3-Clause
// Strided puts and gets as single records: what they write and read, when they are used, and what is refused.
#include <deque>
#include <random>
#include <vector>

#include "base/stats.hpp"
#include "nic/executor.hpp"
#include "nic_job.hpp"

namespace shm::test {
namespace {

constexpr std::size_t kHeap = 4096;  // words

nic::Shape shape_of(std::uint64_t step, std::size_t blocks, std::size_t block, unsigned low = 0) {
  return {step, blocks, block, low};
}

TEST(NicShape, WordsKeepAllTheirParts) {
  for (const std::uint64_t step :
       {std::uint64_t{0}, std::uint64_t{8}, std::uint64_t{nic::kLongestStep - 1}}) {
    for (const std::size_t blocks : {std::size_t{1}, nic::kStridedData}) {
      for (const std::size_t block : {std::size_t{1}, nic::kStridedData / 2}) {
        for (unsigned low = 0; low < 4; ++low) {
          const nic::Shape out = nic::decode_shape(nic::encode(shape_of(step, blocks, block, low)));
          EXPECT_EQ(out.step, step);
          EXPECT_EQ(out.blocks, blocks);
          EXPECT_EQ(out.block, block);
          EXPECT_EQ(out.low, low);
        }
      }
    }
  }
}

class NicStrided : public testing::Test {
 protected:
  bool put(const Strides& strides, std::size_t offset = 0) {
    return pe.ops().put_strided(pe.channel, 1, {SegmentId::heap, offset}, source(), strides);
  }
  bool get(const Strides& strides, std::size_t offset = 0) {
    return pe.ops().get_strided(pe.channel, 1, got.data(), {SegmentId::heap, offset}, strides);
  }
  const std::byte* source() { return reinterpret_cast<const std::byte*>(words.data()); }
  static std::uint64_t of(const StatValues& stats, Stat stat) {
    return stats[static_cast<std::size_t>(stat)];
  }

  std::vector<std::uint64_t> words = std::vector<std::uint64_t>(kHeap, 7);
  std::vector<std::byte> got = std::vector<std::byte>(kHeap * 8);
  LoopJob job{2, kHeap, ignore, behind_nic(0, Packed::all)};  // first to go: it polls until it is idle
  LoopPe& pe = job.pes[0];
};

// 100 words are one record of 816 bytes, and each counts.
TEST_F(NicStrided, IsOneRecordAndCountsAsEachOfItsBlocks) {
  hint(pe, true);
  take_stats();
  EXPECT_TRUE(put({100, 8, 16, 8}));
  job.quiet(pe);
  StatValues stats = take_stats();
  EXPECT_EQ(of(stats, Stat::packet_bytes), sizeof(nic::PacketHead) + 16 + 800);
  EXPECT_EQ(of(stats, Stat::packed), 100u);
  EXPECT_EQ(of(stats, Stat::puts), 100u);
  EXPECT_EQ(of(stats, Stat::put_bytes), 800u);
  EXPECT_EQ(of(stats, Stat::atomics), 0u);
  EXPECT_EQ(of(stats, Stat::combined), 0u);
  EXPECT_TRUE(get({100, 8, 8, 16}));
  job.quiet(pe);
  stats = take_stats();
  EXPECT_EQ(of(stats, Stat::packet_bytes), sizeof(nic::PacketHead) + 16);
  EXPECT_EQ(of(stats, Stat::packed), 100u);
  EXPECT_EQ(of(stats, Stat::gets), 100u);
  EXPECT_EQ(of(stats, Stat::get_bytes), 800u);
  EXPECT_EQ(std::memcmp(got.data(), source(), 800), 0);
}

// A reply of a packet has as much room as the packet.
TEST_F(NicStrided, TakesAsManyRecordsAndPacketsAsThereIsRoomFor) {
  constexpr std::size_t kBlocks = 3000;
  for (std::size_t i = 0; i < kBlocks; ++i) words[i] = i;
  hint(pe, true);
  take_stats();
  EXPECT_TRUE(put({kBlocks, 8, 8, 8}));
  job.quiet(pe);
  EXPECT_EQ(of(take_stats(), Stat::packets), 2u);
  EXPECT_TRUE(get({kBlocks, 8, 8, 8}));
  job.quiet(pe);
  EXPECT_EQ(of(take_stats(), Stat::packets), 2u);
  EXPECT_EQ(std::memcmp(got.data(), source(), kBlocks * 8), 0);
}

TEST_F(NicStrided, LeavesWhatIsNoShorterToItsCaller) {
  take_stats();
  const std::ptrdiff_t longest = nic::kLongestStep;
  for (const Strides& strides : {Strides{2, 8, 16, 16}, Strides{3, nic::kStridedData / 2 + 1, 1024, 1024},
                                 Strides{3, 8, longest, longest}, Strides{3, 8, -8, -8}}) {
    EXPECT_FALSE(put(strides));
    EXPECT_FALSE(get(strides));
  }
  EXPECT_EQ(of(take_stats(), Stat::packed), 0u);
  EXPECT_TRUE(put({3, nic::kStridedData / 2, 1024, 1024}));
  EXPECT_TRUE(get({3, nic::kStridedData / 2, 1024, 1024}));
}

// To this PE nothing is packed; behind a fence behind a long put only gets.
TEST_F(NicStrided, IsPackedWhereSinglePutsAndGetsAre) {
  EXPECT_FALSE(pe.ops().put_strided(pe.channel, 0, {SegmentId::heap, 0}, source(), {9, 8, 16, 16}));
  EXPECT_FALSE(pe.ops().get_strided(pe.channel, 0, got.data(), {SegmentId::heap, 0}, {9, 8, 16, 16}));
  pe.ops().put(pe.channel, 1, LoopPe::word(1), source(), nic::kLargestPacked + 8, false, nullptr);
  EXPECT_TRUE(pe.ops().fence(pe.channel));
  EXPECT_FALSE(put({9, 8, 16, 16}));
  EXPECT_TRUE(get({9, 8, 16, 16}));
  job.quiet(pe);
  EXPECT_TRUE(put({9, 8, 16, 16}));
}

TEST(NicStridedModes, AreThoseOfPuts) {
  std::byte bytes[256] = {};
  LoopJob job(2, kHeap, ignore, behind_nic(0, Packed::atomics));
  LoopPe& pe = job.pes[0];
  EXPECT_FALSE(pe.ops().put_strided(pe.channel, 1, LoopPe::word(0), bytes, {9, 8, 16, 16}));
  EXPECT_FALSE(pe.ops().get_strided(pe.channel, 1, bytes, LoopPe::word(0), {9, 8, 16, 16}));
  hint(pe, true);
  EXPECT_TRUE(pe.ops().put_strided(pe.channel, 1, LoopPe::word(0), bytes, {9, 8, 16, 16}));
  EXPECT_TRUE(pe.ops().get_strided(pe.channel, 1, bytes, LoopPe::word(0), {9, 8, 16, 16}));
}

// PE 0 and PE 1, of one node, write and read memory of PEs of the other: each its own half of it, as no order
// is between them.  What may overlap is behind a fence; a get is behind a quiet.
class StridedProgram {
 public:
  StridedProgram(std::uint64_t seed, bool faults)
      : random_(seed),
        job_(kPes, kHeap, ignore, behind_nic(faults ? seed : 0, Packed::all)),
        nodes_(job_, 2) {
    for (auto& bytes : model_) bytes.resize(kHeap * 8);
  }

  void run(int steps) {
    {
      const Agents agents(job_);
      for (int i = 0; i < steps && !testing::Test::HasFailure(); ++i) step();
      for (LoopPe& pe : job_.pes) wait_for_quiet(pe);
    }
    for (std::size_t pe = 0; pe < kPes; ++pe)
      EXPECT_EQ(std::memcmp(job_.pes[pe].bytes(), model_[pe].data(), kHeap * 8), 0) << "memory of PE " << pe;
  }

 private:
  std::size_t below(std::size_t most) { return random_() % most; }
  static void wait_for_quiet(LoopPe& pe) {
    pe.ops().flush(pe.channel);
    while (!pe.ops().idle(pe.channel)) pe.net->poll();
  }
  // Blocks of any size, within half of the heap: the first byte is at `offset` there.
  Strides random_strides(std::size_t& offset, std::size_t half) {
    const std::size_t block = below(3) != 0 ? std::size_t{1} << below(5) : 1 + below(600);
    const std::size_t blocks = 1 + below(kHeap * 4 / block);
    const std::size_t most = blocks == 1 ? block : (kHeap * 4 - block) / (blocks - 1);
    const std::size_t step = block + below(std::max(most, block + 1) - block);
    const std::size_t span = step * (blocks - 1) + block;
    offset = half * kHeap * 4 + below(kHeap * 4 - span + 1);
    return {blocks, block, static_cast<std::ptrdiff_t>(step), static_cast<std::ptrdiff_t>(block + below(9))};
  }

  void put(LoopPe& pe, std::size_t to, std::size_t half) {
    std::size_t offset = 0;
    const Strides s = random_strides(offset, half);
    const auto from_step = static_cast<std::size_t>(s.from_step),
               to_step = static_cast<std::size_t>(s.to_step);
    std::vector<std::byte> source(s.blocks * from_step);
    for (std::byte& byte : source) byte = static_cast<std::byte>(random_());
    const RemoteAddress at{SegmentId::heap, offset};
    if (!pe.ops().put_strided(pe.channel, static_cast<int>(to), at, source.data(), s)) {
      for (std::size_t i = 0; i < s.blocks; ++i)
        pe.ops().put(pe.channel, static_cast<int>(to), {SegmentId::heap, offset + i * to_step},
                     source.data() + i * from_step, s.block, true, nullptr);
    }
    for (std::size_t i = 0; i < s.blocks; ++i)
      std::memcpy(model_[to].data() + offset + i * to_step, source.data() + i * from_step, s.block);
    std::fill(source.begin(), source.end(), std::byte{0});  // it has been copied
    if (!pe.ops().fence(pe.channel)) wait_for_quiet(pe);
  }

  void get(LoopPe& pe, std::size_t of, std::size_t half) {
    wait_for_quiet(pe);
    std::size_t offset = 0;
    const Strides there = random_strides(offset, half);
    const Strides s{there.blocks, there.block, there.from_step, there.to_step};
    const auto from_step = static_cast<std::size_t>(s.from_step),
               to_step = static_cast<std::size_t>(s.to_step);
    std::vector<std::byte> got(s.blocks * to_step, std::byte{0x5a}), expected = got;
    if (!pe.ops().get_strided(pe.channel, static_cast<int>(of), got.data(), {SegmentId::heap, offset}, s)) {
      for (std::size_t i = 0; i < s.blocks; ++i)
        pe.ops().get(pe.channel, static_cast<int>(of), got.data() + i * to_step,
                     {SegmentId::heap, offset + i * from_step}, s.block, nullptr);
    }
    for (std::size_t i = 0; i < s.blocks; ++i)
      std::memcpy(expected.data() + i * to_step, model_[of].data() + offset + i * from_step, s.block);
    wait_for_quiet(pe);
    EXPECT_EQ(got, expected) << s.blocks << " blocks of " << s.block << ", " << from_step << " apart, at "
                             << offset;
  }

  void step() {
    const std::size_t me = below(2), other = 2 + below(2);
    LoopPe& pe = job_.pes[me];
    switch (below(8)) {
      case 0: return hint(pe, below(2) != 0);
      case 1: return wait_for_quiet(pe);
      case 2:
      case 3: return get(pe, other, me);
      default: return put(pe, other, me);
    }
  }

  std::mt19937_64 random_;
  LoopJob job_;
  Node nodes_;
  std::vector<std::byte> model_[kPes];
};

TEST(NicStridedPrograms, GiveWhatTheModelGives) {
  const std::uint64_t first = seed_of_run();
  for (std::uint64_t seed = first; seed < first + 10 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    StridedProgram(seed, seed % 2 != 0).run(100);
  }
}

class NicStridedDeath : public testing::Test {
 protected:
  void put(std::uint64_t offset, const nic::Shape& shape) {
    nic::Packet packet;
    const std::uint64_t word =
        nic::encode({offset, nic::kReceiver, SegmentId::heap, {}, nic::kPutStridedCode, {}, {}});
    packet.add_put_strided(word, shape, source, 1);
    packet.finish(1, 0);
    executor.execute(1, packet.bytes.data(), packet.size);
  }
  void get(std::uint64_t offset, const nic::Shape& shape, std::size_t results) {
    nic::Packet packet;
    const std::uint64_t word =
        nic::encode({offset, nic::kReceiver, SegmentId::heap, {}, nic::kGetStridedCode, true, false});
    packet.add_get_strided(word, shape);
    packet.finish(1, results);
    executor.execute(1, packet.bytes.data(), packet.size);
  }
  NicStridedDeath() { executor.add_segment(SegmentId::heap, memory, sizeof memory); }

  alignas(8) std::byte memory[256] = {};
  std::byte source[256] = {};
  nic::Executor executor{{}};
};

TEST_F(NicStridedDeath, ShapesThatMakeNoSenseEndTheJob) {
  constexpr auto kOutside = "PE 1 .*outside the memory";
  put(24, shape_of(32, 8, 8));
  get(24, shape_of(32, 8, 8), 8);
  put(0, shape_of(31, 9, 8));
  EXPECT_DEATH(put(28, shape_of(32, 8, 8)), kOutside);
  EXPECT_DEATH(put(24, shape_of(32, 8, 8, 1)), kOutside);
  EXPECT_DEATH(put(24, shape_of(33, 8, 8)), kOutside);
  EXPECT_DEATH(put(24, shape_of(32, 9, 8)), kOutside);
  EXPECT_DEATH(put(24, shape_of(32, 8, 9)), kOutside);
  EXPECT_DEATH(get(28, shape_of(32, 8, 8), 8), kOutside);
  EXPECT_DEATH(get(0, shape_of(nic::kLongestStep - 1, 3, 8), 3), kOutside);
  EXPECT_DEATH(put(0, shape_of(8, 0, 8)), "blocks of nothing");
  EXPECT_DEATH(put(0, shape_of(8, 8, 0)), "blocks of nothing");
  EXPECT_DEATH(get(0, shape_of(8, 0, 8), 0), "blocks of nothing");
  EXPECT_DEATH(get(0, shape_of(8, 8, 8), 7), "too many results");
  EXPECT_DEATH(get(0, shape_of(8, 8, 8), 9), "results that no record is for");
}

TEST_F(NicStridedDeath, APutThatIsCutOffEndsTheJob) {
  nic::Packet packet;
  packet.add_put_strided(nic::encode({0, nic::kReceiver, SegmentId::heap, {}, nic::kPutStridedCode, {}, {}}),
                         shape_of(8, 8, 8), source, 8);
  packet.finish(1, 0);
  EXPECT_DEATH(executor.execute(1, packet.bytes.data(), packet.size - 8), "cut off");
}

}  // namespace
}  // namespace shm::test
