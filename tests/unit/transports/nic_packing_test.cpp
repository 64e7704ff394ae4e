// SPDX-License-Identifier: BSD-3-Clause
// What the software NIC packs, what it counts of that, and why packets leave.
#include <algorithm>
#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "../../spec/packed_limit.h"
#include "base/stats.hpp"
#include "nic/combine.hpp"
#include "nic/nic.hpp"
#include "nic/packet.hpp"
#include "nic_job.hpp"

namespace shm::test {
namespace {

static_assert(kPackedUpTo == nic::kLargestPacked, "programs in C have their sizes from packed_limit.h");

// Puts of up to 4 KiB are packed, and counted as those that are not, with each packet anew.
TEST(NicPacking, ShortPutsArePackedAndCounted) {
  LoopJob job(2, 1024, ignore, behind_nic(0));
  LoopPe& pe = job.pes[0];
  const std::vector<std::byte> source(nic::kLargestPacked + 1, std::byte{1});
  hint(pe, true);
  for (const std::size_t n : {std::size_t{1}, std::size_t{9}, nic::kLargestPacked, nic::kLargestPacked + 1}) {
    take_stats();
    pe.ops().put(pe.channel, 1, LoopPe::word(0), source.data(), n, false, nullptr);
    job.quiet(pe);
    const StatValues stats = take_stats();
    EXPECT_EQ(stats[static_cast<std::size_t>(Stat::packed)], n <= 4096 ? 1u : 0u) << n << " bytes";
    EXPECT_EQ(stats[static_cast<std::size_t>(Stat::puts)], 1u);
    EXPECT_EQ(stats[static_cast<std::size_t>(Stat::put_bytes)], n);
  }
}

TEST(NicPacking, ShortGetsArePackedAndCounted) {
  LoopJob job(2, 1024, ignore, behind_nic(0));
  LoopPe& pe = job.pes[0];
  std::memset(job.pes[1].bytes(), 0x5a, 1024 * 8);
  hint(pe, true);
  for (const std::size_t n : {std::size_t{1}, std::size_t{9}, nic::kLargestPacked, nic::kLargestPacked + 1}) {
    take_stats();
    std::vector<std::byte> got(n);
    pe.ops().get(pe.channel, 1, got.data(), LoopPe::word(1), n, nullptr);
    job.quiet(pe);
    const StatValues stats = take_stats();
    EXPECT_EQ(stats[static_cast<std::size_t>(Stat::packed)], n <= 4096 ? 1u : 0u) << n << " bytes";
    EXPECT_EQ(stats[static_cast<std::size_t>(Stat::gets)], 1u);
    EXPECT_EQ(stats[static_cast<std::size_t>(Stat::get_bytes)], n);
    EXPECT_EQ(got, std::vector<std::byte>(n, std::byte{0x5a}));
  }
}

// Their records would fit into one packet.
TEST(NicPacking, LongGetsTakeAsManyPacketsAsRepliesHaveRoomFor) {
  constexpr std::size_t kGets = 30, kPerReply = (kMaxMessage - sizeof(nic::ReplyHead)) / nic::kLargestPacked;
  LoopJob job(2, 1024, ignore, behind_nic(0));
  LoopPe& pe = job.pes[0];
  for (std::size_t i = 0; i < 1024; ++i) job.pes[1].heap[i] = i;
  hint(pe, true);
  take_stats();
  std::vector<std::array<std::uint64_t, 512>> got(kGets);
  for (std::size_t i = 0; i < kGets; ++i)
    pe.ops().get(pe.channel, 1, got[i].data(), LoopPe::word(i), nic::kLargestPacked, nullptr);
  job.quiet(pe);
  EXPECT_EQ(take_stats()[static_cast<std::size_t>(Stat::packets)], (kGets + kPerReply - 1) / kPerReply);
  for (std::size_t i = 0; i < kGets; ++i)
    for (std::size_t w = 0; w < 512; ++w) ASSERT_EQ(got[i][w], i + w);
}

// A fence puts direct operations ahead of what follows, until they are complete; so does the next one.
TEST(NicPacking, WhatFollowsDirectOperationsAcrossAFenceIsPackedWhenTheyAreComplete) {
  LoopJob job(2, 1024, ignore, behind_nic(0, Packed::all));
  LoopPe& pe = job.pes[0];
  const std::vector<std::uint64_t> many(nic::kLargestPacked / 8 + 1, 1);
  const auto packs = [&] {
    take_stats();
    pe.ops().put(pe.channel, 1, LoopPe::word(0), many.data(), 8, true, nullptr);
    return take_stats()[static_cast<std::size_t>(Stat::packed)] != 0;
  };
  for (int round = 0; round < 3; ++round) {
    EXPECT_TRUE(packs());
    job.quiet(pe);
    pe.ops().put(pe.channel, 1, LoopPe::word(1), many.data(), many.size() * 8, false, nullptr);
    EXPECT_TRUE(packs()) << "no fence is between";
    job.quiet(pe);
    pe.ops().put(pe.channel, 1, LoopPe::word(1), many.data(), many.size() * 8, false, nullptr);
    EXPECT_TRUE(pe.ops().fence(pe.channel));
    EXPECT_FALSE(packs());
    job.quiet(pe);
  }
}

class NicFences : public testing::Test {
 protected:
  // Of 1 to a word.  Returns whether it was packed.
  bool put_small(std::size_t word = 0) {
    take_stats();
    pe.ops().put(pe.channel, 1, LoopPe::word(word), many.data(), 8, true, nullptr);
    return take_stats()[static_cast<std::size_t>(Stat::packed)] != 0;
  }
  void put_large() {
    pe.ops().put(pe.channel, 1, LoopPe::word(1), many.data(), many.size() * 8, false, nullptr);
  }

  LoopJob job{2, 1024, ignore, behind_nic(0, Packed::all)};
  LoopPe& pe = job.pes[0];
  const std::vector<std::uint64_t> many = std::vector<std::uint64_t>(nic::kLargestPacked / 8 + 1, 1);
};

// Of both kinds under way none is waited for by the fence; the next direct operation waits for the packet.
TEST_F(NicFences, WaitForNothingThoughPacketsAndDirectOperationsAreUnderWay) {
  EXPECT_TRUE(put_small(300));
  put_large();
  EXPECT_TRUE(pe.ops().fence(pe.channel));
  std::atomic<bool> stop{false};
  std::thread executor([&] {
    while (!stop) job.pes[1].net->poll();
  });
  EXPECT_FALSE(put_small(400));
  stop = true;
  executor.join();
  EXPECT_EQ(job.pes[1].heap[300], 1u) << "what is ahead of the fence is there";
  job.quiet(pe);
}

TEST_F(NicFences, WaitOnceInAWhileSoThatPacketsAreUsedAgain) {
  put_large();
  int fences = 1;
  while (pe.ops().fence(pe.channel)) {
    ASSERT_FALSE(put_small());
    ASSERT_LE(++fences, nic::kMostDiverted + 1);
  }
  EXPECT_EQ(fences, nic::kMostDiverted + 1);
  job.quiet(pe);
  EXPECT_TRUE(put_small());
  job.quiet(pe);
}

// Packets would gain nothing: each word follows a long put.
TEST_F(NicFences, NeverWaitWhereLongPutsAreBetween) {
  for (int i = 0; i < 3 * nic::kMostDiverted; ++i) {
    put_large();
    ASSERT_TRUE(pe.ops().fence(pe.channel));
    ASSERT_FALSE(put_small());
    ASSERT_TRUE(pe.ops().fence(pe.channel));
  }
  job.quiet(pe);
}

// What nearly all words of a stream take is the short way into a packet that is open and stays.
class NicWords : public testing::Test {
 protected:
  bool put(std::size_t word, std::uint64_t value) {
    return pe.ops().put_word(pe.channel, 1, LoopPe::word(word), value, 8);
  }

  LoopJob job{2, 1024, ignore, behind_nic(0, Packed::all)};
  LoopPe& pe = job.pes[0];
};

TEST_F(NicWords, StayBehindTheFenceBeforeThem) {
  const std::uint64_t one = 1;
  hint(pe, true);
  EXPECT_TRUE(put(0, 5)) << "it opens the packet";
  EXPECT_FALSE(put(2, 5));
  pe.ops().amo(pe.channel, 1, LoopPe::word(1), AtomicOp::set, AtomicType::u64, &one, nullptr, nullptr,
               nullptr);
  EXPECT_TRUE(pe.ops().fence(pe.channel));
  put(1, 2);
  EXPECT_FALSE(put(3, 5));
  job.quiet(pe);
  EXPECT_EQ(job.pes[1].heap[1], 2u);
  EXPECT_EQ(job.pes[1].heap[3], 5u);
}

// A get is packed there, and has its flow know of the fence.
TEST_F(NicWords, AreNotPackedBehindAFenceBehindALongPut) {
  const std::vector<std::uint64_t> many(nic::kLargestPacked / 8 + 1, 1);
  std::uint64_t got = 0;
  put(300, 5);
  put(300, 5);  // held: nobody has answered the one before
  take_stats();
  pe.ops().put(pe.channel, 1, LoopPe::word(0), many.data(), many.size() * 8, false, nullptr);
  EXPECT_TRUE(pe.ops().fence(pe.channel));
  pe.ops().get(pe.channel, 1, &got, LoopPe::word(300), 8, nullptr);
  std::atomic<bool> stop{false};
  std::thread executor([&] {  // the direct way waits for the packets ahead of the fence
    while (!stop) job.pes[1].net->poll();
  });
  put(0, 7);
  stop = true;
  executor.join();
  job.quiet(pe);
  EXPECT_EQ(take_stats()[static_cast<std::size_t>(Stat::packed)], 2u) << "the second word, and the get";
  EXPECT_EQ(job.pes[1].heap[0], 7u);
}

TEST_F(NicWords, AreSentWhenTheirSessionHasSeenAll) {
  hint(pe, true, 3);
  take_stats();
  put(0, 1);
  put(1, 1);
  EXPECT_EQ(take_stats()[static_cast<std::size_t>(Stat::packets)], 0u);
  put(2, 1);
  EXPECT_EQ(take_stats()[static_cast<std::size_t>(Stat::packets)], 1u);
  job.quiet(pe);
}

TEST_F(NicWords, FillPacketsAndLeaveWithTheAnswer) {
  constexpr std::uint64_t kPuts = 5000;
  take_stats();
  for (std::uint64_t i = 0; i < kPuts; ++i) put(i % 512, i);
  job.quiet(pe);
  const StatValues stats = take_stats();
  EXPECT_EQ(stats[static_cast<std::size_t>(Stat::packed)], kPuts);
  EXPECT_EQ(stats[static_cast<std::size_t>(Stat::puts)], kPuts);
  EXPECT_EQ(stats[static_cast<std::size_t>(Stat::put_bytes)], kPuts * 8);
  for (std::uint64_t i = kPuts - 512; i < kPuts; ++i) EXPECT_EQ(job.pes[1].heap[i % 512], i);
}

// So do elements that are got, updates, and words with a signal: once a packet is open they change nothing
// else.
TEST_F(NicWords, OfEachKindStayInAnOpenPacket) {
  std::vector<std::uint64_t> got(1000);
  std::uint64_t value = 0;
  job.pes[1].heap[3] = 33;
  const auto get = [&](std::size_t i) {
    return pe.ops().get_element(pe.channel, 1, &got[i], LoopPe::word(3), 8);
  };
  const auto add = [&](std::size_t word) {
    return pe.ops().update(pe.channel, 1, LoopPe::word(word), {AtomicOp::add, AtomicType::u64}, 1);
  };
  const auto signal = [&] {
    ++value;
    return pe.ops().put_signal(pe.channel, 1, LoopPe::word(5), &value, 8, LoopPe::word(6), AtomicOp::add, 2);
  };
  put(0, 1);
  EXPECT_TRUE(put(0, 1)) << "it opens the packet behind that one";
  take_stats();
  EXPECT_FALSE(add(4));
  EXPECT_FALSE(add(4)) << "the packet has it already";
  EXPECT_EQ(signal(), Taken::stays);
  EXPECT_TRUE(pe.ops().fence(pe.channel));
  EXPECT_EQ(signal(), Taken::stays) << "the long way, which notes the fence";
  EXPECT_EQ(signal(), Taken::stays);
  std::size_t changed = 0;
  for (std::size_t i = 0; i < got.size(); ++i) changed += get(i);
  EXPECT_LT(changed, 5u) << "one for each packet that is full";
  job.quiet(pe);
  const StatValues stats = take_stats();
  EXPECT_EQ(stats[static_cast<std::size_t>(Stat::packed_gets)], got.size());
  EXPECT_EQ(stats[static_cast<std::size_t>(Stat::combined)], 1u);
  EXPECT_EQ(job.pes[1].heap[4], 2u);
  EXPECT_EQ(job.pes[1].heap[5], 3u);
  EXPECT_EQ(job.pes[1].heap[6], 6u);
  EXPECT_EQ(got, std::vector<std::uint64_t>(got.size(), 33));
}

// Of what SHMEM_PACK=atomics packs, only atomics take the short way.
TEST(NicPacking, OnlyWhatIsPackedTakesTheShortWay) {
  LoopJob job(2, 1024, ignore, behind_nic(0, Packed::atomics));
  LoopPe& pe = job.pes[0];
  const std::uint64_t value = 7;
  std::uint64_t got = 0;
  const auto add = [&] {
    return pe.ops().update(pe.channel, 1, LoopPe::word(0), {AtomicOp::add, AtomicType::u64}, 1);
  };
  add();
  EXPECT_TRUE(add()) << "it opens a packet";
  take_stats();
  EXPECT_FALSE(add());
  EXPECT_TRUE(pe.ops().put_word(pe.channel, 1, LoopPe::word(1), value, 8));
  EXPECT_TRUE(pe.ops().get_element(pe.channel, 1, &got, LoopPe::word(2), 8));
  EXPECT_EQ(pe.ops().put_signal(pe.channel, 1, LoopPe::word(3), &value, 8, LoopPe::word(4), AtomicOp::set, 1),
            Taken::no);
  job.quiet(pe);
  const StatValues stats = take_stats();
  EXPECT_EQ(stats[static_cast<std::size_t>(Stat::packed_puts)], 0u);
  EXPECT_EQ(stats[static_cast<std::size_t>(Stat::packed_gets)], 0u);
  EXPECT_EQ(job.pes[1].heap[0], 3u);
  EXPECT_EQ(job.pes[1].heap[1], 7u);
}

// A packet is used again for other operations.
TEST(NicPacking, EachPacketIsCountedByItself) {
  LoopJob job(2, 8, ignore, behind_nic(0));
  LoopPe& pe = job.pes[0];
  const std::uint64_t one = 1, value = 7;
  hint(pe, true);
  take_stats();
  for (std::uint64_t round = 1; round <= 3; ++round) {
    pe.ops().put(pe.channel, 1, LoopPe::word(1), &value, 8, true, nullptr);
    for (int i = 0; i < 2; ++i)
      pe.ops().amo(pe.channel, 1, LoopPe::word(0), AtomicOp::add, AtomicType::u64, &one, nullptr, nullptr,
                   nullptr);
    job.quiet(pe);
    const StatValues stats = take_stats();
    const auto of = [&](Stat stat) { return stats[static_cast<std::size_t>(stat)]; };
    EXPECT_EQ(of(Stat::packets), 1u);
    EXPECT_EQ(of(Stat::packed), 3u);
    EXPECT_EQ(of(Stat::combined), 1u);
    EXPECT_EQ(of(Stat::atomics), 2u);
    EXPECT_EQ(of(Stat::puts), 1u);
    EXPECT_EQ(of(Stat::put_bytes), 8u);
    EXPECT_EQ(job.pes[1].heap[0], 2 * round);
  }
}

// What relies on messages that follow puts must not be packed.
TEST(NicPacking, PacksNothingForTheLibraryItself) {
  LoopJob job(2, 8, ignore, behind_nic(0, Packed::all));
  LoopPe& pe = job.pes[0];
  std::uint64_t value = 7;
  for (const ChannelUse use : {ChannelUse::library, ChannelUse::service}) {
    Channel* channel = pe.net->open_channel(use);
    ++value;
    take_stats();
    channel->ops->put(channel, 1, LoopPe::word(0), &value, 8, true, nullptr);
    while (!channel->ops->idle(channel)) pe.net->poll();
    EXPECT_EQ(take_stats()[static_cast<std::size_t>(Stat::packed)], 0u);
    EXPECT_EQ(job.pes[1].heap[0], value);
    pe.net->close_channel(channel);
  }
}

// A put with signal that is alone goes, whole, to its target, which it may be meant to wake; one that follows
// goes to the PE that executes for its node.
TEST(NicPacking, APutWithSignalTravelsOnce) {
  LoopJob job(4, 8, ignore, behind_nic(0, Packed::all));
  const Node nodes(job, 2);
  LoopPe& pe = job.pes[0];
  const std::array<std::uint64_t, 3> data = {5, 6, 7};
  const auto put_signal = [&](std::size_t n) {
    return pe.ops().put_signal(pe.channel, 3, LoopPe::word(0), data.data(), n, LoopPe::word(7), AtomicOp::add,
                               1) != Taken::no;
  };
  take_stats();
  ASSERT_TRUE(put_signal(24));
  EXPECT_EQ(pe.ops().waits_for(pe.channel, 3), 3);
  while (job.pes[3].heap[7] == 0) job.poll_all();
  EXPECT_EQ(job.pes[3].heap[2], 7u);
  ASSERT_TRUE(put_signal(8));
  ASSERT_TRUE(put_signal(8));
  job.quiet(pe);
  EXPECT_EQ(job.pes[3].heap[7], 3u);
  const StatValues stats = take_stats();
  EXPECT_EQ(stats[static_cast<std::size_t>(Stat::puts)], 3u);
  EXPECT_EQ(stats[static_cast<std::size_t>(Stat::atomics)], 3u);
  EXPECT_EQ(stats[static_cast<std::size_t>(Stat::packed)], 6u);
  EXPECT_FALSE(put_signal(nic::kLargestPacked + 1)) << "the caller's to do";
}

// As long as nobody answers the first, packets leave when the next put finds no room in them; then whatever
// comes arrives.
TEST(NicPacking, PutsWithSignalsFillPackets) {
  LoopJob job(2, 64, ignore, behind_nic(0, Packed::all));
  LoopPe& pe = job.pes[0];
  constexpr std::uint64_t kPuts = 5000, kFull = 5;
  std::array<std::uint64_t, 60> data;
  std::uint64_t puts = 0, bytes = 0;
  const auto put_signal = [&] {
    const std::size_t n = 8 * (1 + puts * 7 % data.size());
    data.fill(puts);
    ++puts;
    bytes += n;
    return pe.ops().put_signal(pe.channel, 1, LoopPe::word(0), data.data(), n, LoopPe::word(63),
                               AtomicOp::add, 1);
  };
  auto of = [stats = StatValues{}](Stat stat) mutable {
    const StatValues more = take_stats();
    for (std::size_t i = 0; i < more.size(); ++i) stats[i] += more[i];
    return stats[static_cast<std::size_t>(stat)];
  };
  take_stats();
  while (of(Stat::full_packets) < kFull && puts < kPuts) ASSERT_NE(put_signal(), Taken::no);
  EXPECT_EQ(of(Stat::full_packets), kFull);
  EXPECT_EQ(of(Stat::packets), 1 + kFull);
  EXPECT_GT(bytes, kFull * kMaxMessage * 3 / 4) << "data of packets that were full";
  const Agents agents(job);
  while (puts < kPuts) ASSERT_NE(put_signal(), Taken::no);
  job.quiet(pe);
  EXPECT_EQ(job.pes[1].heap[63], kPuts);
  EXPECT_EQ(job.pes[1].heap[0], kPuts - 1);
}

TEST(NicPacking, SaysWhyPacketsLeft) {
  LoopJob job(2, 8, ignore, behind_nic(0, Packed::all));
  LoopPe& pe = job.pes[0];
  const std::uint64_t value = 7;
  const auto put = [&] { pe.ops().put(pe.channel, 1, LoopPe::word(0), &value, 8, true, nullptr); };
  const auto left = [] {
    const StatValues stats = take_stats();
    const auto of = [&](Stat stat) { return stats[static_cast<std::size_t>(stat)]; };
    EXPECT_EQ(of(Stat::packed_puts), of(Stat::packed));
    return std::array{of(Stat::packets), of(Stat::full_packets), of(Stat::wanted_packets),
                      of(Stat::answered_packets), of(Stat::old_packets)};
  };
  using Counts = std::array<std::uint64_t, 5>;
  take_stats();
  put();  // alone
  EXPECT_EQ(left(), (Counts{1, 0, 0, 0, 0}));
  put();  // behind the first, which nobody has answered
  EXPECT_EQ(left(), (Counts{0, 0, 0, 0, 0}));
  pe.ops().flush(pe.channel);
  job.quiet(pe);
  EXPECT_EQ(left(), (Counts{1, 0, 1, 0, 0}));
  put();
  put();
  for (int turn = 0; turn < 1000 && !pe.ops().idle(pe.channel); ++turn) {  // nobody waits for the second
    for (LoopPe& each : job.pes) each.net->poll();
  }
  EXPECT_EQ(left(), (Counts{2, 0, 0, 1, 0}));
  put();
  for (std::size_t i = 0; i < kMaxMessage / nic::kSmallestRecord + 1; ++i) put();
  job.quiet(pe);
  EXPECT_EQ(left(), (Counts{3, 1, 1, 0, 0}));
  hint(pe, true);
  put();
  while (!pe.net->poll()) {
  }
  EXPECT_EQ(left(), (Counts{1, 0, 0, 0, 1}));
  job.quiet(pe);
}

// A packet leaves 1 ms after it was opened, whatever has joined it since: not before, and with the first poll
// after that at the latest.
TEST(NicPacking, APacketLeavesWhenItIsAMillisecondOld) {
  static_assert(nic::kLongestHold == 1'000'000);
  LoopJob job(2, 8, ignore, behind_nic(0, Packed::all));
  LoopPe& pe = job.pes[0];
  const nic::Combiner& channel = static_cast<nic::Combiner&>(*pe.channel);
  const auto put = [&] { pe.ops().put_word(pe.channel, 1, LoopPe::word(0), 7, 8); };
  const auto old = [] { return take_stats()[static_cast<std::size_t>(Stat::old_packets)]; };
  put();  // leaves at once, and is not answered
  EXPECT_EQ(channel.next_deadline(), nic::kNever);
  old();
  const std::int64_t before = nic::clock_now();
  put();
  const std::int64_t deadline = channel.next_deadline();
  EXPECT_GE(deadline, before + nic::kLongestHold);
  EXPECT_LE(deadline, nic::clock_now() + nic::kLongestHold);
  std::uint64_t left = 0, puts = 0;
  for (std::int64_t now = before; now < deadline;) {
    if (left == 0 && ++puts < 500) put();  // they are too few to fill it
    pe.net->poll();
    left += old();
    now = nic::clock_now();
    ASSERT_TRUE(left == 0 || now >= deadline) << "it left " << deadline - now << " ns early";
  }
  pe.net->poll();
  EXPECT_EQ(left + old(), 1u);
  EXPECT_EQ(channel.next_deadline(), nic::kNever);
  job.quiet(pe);
}

// Who packs what, in a session and without.
TEST(NicPacking, PacksWhatItsModeSays) {
  struct Expected {
    Packed packed;
    bool session;
    std::uint64_t puts, atomics;
  };
  for (const Expected& expected : {Expected{Packed::nothing, false, 0, 0},
                                   {Packed::nothing, true, 0, 0},
                                   {Packed::in_sessions, false, 0, 0},
                                   {Packed::in_sessions, true, 1, 1},
                                   {Packed::atomics, false, 0, 1},
                                   {Packed::atomics, true, 1, 1},
                                   {Packed::all, false, 1, 1},
                                   {Packed::all, true, 1, 1}}) {
    SCOPED_TRACE(static_cast<int>(expected.packed) * 10 + expected.session);
    LoopJob job(2, 8, ignore, behind_nic(0, expected.packed));
    LoopPe& pe = job.pes[0];
    const std::uint64_t value = 7;
    const auto packed = [&] {
      job.quiet(pe);
      return take_stats()[static_cast<std::size_t>(Stat::packed)];
    };
    hint(pe, expected.session);
    take_stats();
    pe.ops().put(pe.channel, 1, LoopPe::word(0), &value, 8, true, nullptr);
    EXPECT_EQ(packed(), expected.puts);
    std::uint64_t got = 0;
    pe.ops().get(pe.channel, 1, &got, LoopPe::word(0), 8, nullptr);
    EXPECT_EQ(packed(), expected.puts);
    EXPECT_EQ(got, value);
    pe.ops().amo(pe.channel, 1, LoopPe::word(0), AtomicOp::add, AtomicType::u64, &value, nullptr, nullptr,
                 nullptr);
    EXPECT_EQ(packed(), expected.atomics);
  }
}

}  // namespace
}  // namespace shm::test
