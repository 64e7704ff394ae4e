// SPDX-License-Identifier: BSD-3-Clause
#include "coll/slots.hpp"

#include <gtest/gtest.h>

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
};

TEST_F(Slots, EachIsGivenOutOnceAndTheFixedOnesNever) {
  std::set<int> taken;
  for (int i = kFirstSlot; i < kSlots; ++i) {
    const int slot = agree_on_slot(kAlone, 0, true);
    EXPECT_GE(slot, kFirstSlot);
    EXPECT_TRUE(taken.insert(slot).second);
  }
  EXPECT_EQ(agree_on_slot(kAlone, 0, true), -1);
  free_slot(77);
  EXPECT_EQ(agree_on_slot(kAlone, 0, true), 77);
}

TEST_F(Slots, WhoIsNoMemberLeavesItFree) {
  const int slot = agree_on_slot(kAlone, 0, false);
  EXPECT_EQ(agree_on_slot(kAlone, 0, true), slot);
}

TEST_F(Slots, OnlyWhatIsFreeOnAllIsTaken) {
  const SlotExchange with_peer{[](SlotWords& words) { words[0] &= ~std::uint64_t{0xfff}; },
                               [](std::uint64_t value) { return value; }};
  EXPECT_EQ(agree_on_slot(with_peer, 0, true), 12);
}

TEST_F(Slots, NumbersGoOnFromTheLargestThatAnyMemberHasUsed) {
  const SlotExchange with_peer{[](SlotWords&) {}, [](std::uint64_t value) { return value + 1000; }};
  const int slot = agree_on_slot(kAlone, 0, false);
  const std::uint64_t before = slot_counter(slot);
  ASSERT_EQ(agree_on_slot(with_peer, 0, true), slot);
  EXPECT_EQ(slot_counter(slot), before + 1000);
}

TEST_F(Slots, ThreadsThatAgreeAtTheSameTimeGetDifferentOnes) {
  constexpr int kThreads = 8, kEach = 20;
  std::vector<int> got[kThreads];
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) got[t].push_back(agree_on_slot(kAlone, t, true));
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
