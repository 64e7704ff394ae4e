// SPDX-License-Identifier: BSD-3-Clause
#include "coll/slots.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <set>
#include <thread>
#include <vector>

namespace shm {
namespace {

/// A job of one PE: what it offers is what all offer.
const SlotExchange kAlone{[](SlotWords&) {}, [](std::uint64_t value) { return value; }};

class Slots : public ::testing::Test {
 protected:
  void SetUp() override { reset_slots(); }

  static int agree(const SlotExchange& exchange, std::uint64_t priority, bool member,
                   SlotRange range = {kFirstSlot, kSlots}) {
    return agree_on_slot({"shmem_team_split_strided"}, exchange, {priority}, range, member);
  }
};

TEST_F(Slots, EachIsGivenOutOnceAndTheFixedOnesNever) {
  std::set<int> taken;
  for (int i = kFirstSlot; i < kSlots; ++i) {
    const int slot = agree(kAlone, 0, true);
    EXPECT_GE(slot, kFirstSlot);
    EXPECT_TRUE(taken.insert(slot).second);
  }
  EXPECT_EQ(agree(kAlone, 0, true), -1);
  free_slot(77);
  EXPECT_EQ(agree(kAlone, 0, true), 77);
}

TEST_F(Slots, OnlyThoseOfTheRangeAreTaken) {
  for (int slot = 100; slot < 103; ++slot) EXPECT_EQ(agree(kAlone, 0, true, {100, 103}), slot);
  EXPECT_EQ(agree(kAlone, 0, true, {100, 103}), -1);
  EXPECT_EQ(agree(kAlone, 0, true, {100, 104}), 103);
}

// Nobody holds up a thread of this PE that makes another group before all of its own have come.
TEST_F(Slots, NothingIsOfferedInTheFirstRound) {
  int rounds = 0;
  const SlotExchange exchange{[&](SlotWords& words) {
                                if (rounds++ > 0) return;
                                EXPECT_EQ(words, SlotWords{});
                                EXPECT_GE(agree(kAlone, 1, true), kFirstSlot) << "of another thread";
                              },
                              [](std::uint64_t value) { return value; }};
  EXPECT_GE(agree(exchange, 0, true), kFirstSlot);
}

TEST_F(Slots, ANewTeamHasMadeNoCalls) {
  const int slot = agree(kAlone, 0, true);
  begin_call(slot, {"shmem_team_sync"});
  begin_call(slot, {"shmem_broadcastmem"});
  EXPECT_EQ(slot_calls(slot).count, 2u);
  EXPECT_STREQ(last_call(slot), "shmem_broadcastmem");
  free_slot(slot);
  ASSERT_EQ(agree(kAlone, 0, true), slot);
  EXPECT_EQ(slot_calls(slot).count, 0u);
}

TEST_F(Slots, WhoIsNoMemberLeavesItFree) {
  const int slot = agree(kAlone, 0, false);
  EXPECT_EQ(agree(kAlone, 0, true), slot);
}

TEST_F(Slots, OnlyWhatIsFreeOnAllIsTaken) {
  const SlotExchange with_peer{[](SlotWords& words) { words[0] &= ~std::uint64_t{0xfff}; },
                               [](std::uint64_t value) { return value; }};
  EXPECT_EQ(agree(with_peer, 0, true), 12);
}

TEST_F(Slots, NumbersGoOnFromTheLargestThatAnyMemberHasUsed) {
  const SlotExchange with_peer{[](SlotWords&) {}, [](std::uint64_t value) { return value + 1000; }};
  const int slot = agree(kAlone, 0, false);
  const std::uint64_t before = slot_counter(slot);
  ASSERT_EQ(agree(with_peer, 0, true), slot);
  EXPECT_EQ(slot_counter(slot), before + 1000);
}

// One thread comes while another has offered what is free, and has not heard yet what the other PEs say.
TEST_F(Slots, WhatOneThreadOffersNoOtherDoes) {
  std::promise<SlotWords> offered_by_second;
  std::atomic<int> offers_of_second{0};
  int slot_of_second = -1;
  std::thread second;
  const SlotExchange exchange_of_second{[&](SlotWords& words) {
                                          if (++offers_of_second == 2) offered_by_second.set_value(words);
                                        },
                                        [](std::uint64_t value) { return value; }};
  int rounds_of_first = 0;
  const SlotExchange exchange_of_first{
      [&](SlotWords&) {
        if (++rounds_of_first != 2) return;
        second = std::thread([&] { slot_of_second = agree(exchange_of_second, 0, true); });
        EXPECT_EQ(offered_by_second.get_future().get(), SlotWords{}) << "nothing";
      },
      [](std::uint64_t value) { return value; }};
  const int slot_of_first = agree(exchange_of_first, 1, true);
  second.join();
  EXPECT_GE(slot_of_first, kFirstSlot);
  EXPECT_GE(slot_of_second, kFirstSlot);
  EXPECT_NE(slot_of_first, slot_of_second);
}

// Some threads want a slot; the other PEs let none have one before all have asked.
TEST_F(Slots, TheLowestNumberGoesFirst) {
  constexpr int kThreads = 4;
  std::atomic<int> waiting{0};
  std::vector<int> order;  // the lock of offers guards it, one at a time
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      int rounds = 0, since_all_asked = 0;
      const SlotExchange exchange{[&](SlotWords& words) {
                                    if (++rounds == 2) ++waiting;
                                    const bool all_asked = waiting == kThreads;
                                    // What has been offered before they had is refused, too.
                                    if (!all_asked || since_all_asked++ == 0) words.fill(0);
                                  },
                                  [&](std::uint64_t value) {
                                    order.push_back(t);
                                    return value;
                                  }};
      agree(exchange, t, true);
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_EQ(order.size(), std::size_t{kThreads});
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST_F(Slots, ThreadsThatAgreeAtTheSameTimeGetDifferentOnes) {
  constexpr int kThreads = 8, kEach = 20;
  std::vector<int> got[kThreads];
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) got[t].push_back(agree(kAlone, t, true));
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<int> all;
  for (const auto& slots : got) all.insert(slots.begin(), slots.end());
  EXPECT_EQ(all.size(), std::size_t{kThreads * kEach});
  EXPECT_EQ(all.count(-1), 0u);
}

}  // namespace
}  // namespace shm
