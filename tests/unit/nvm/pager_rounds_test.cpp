// SPDX-License-Identifier: BSD-3-Clause
// Rounds of a pager that others make: who waits for a page, and who takes a message off the network.
#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <thread>

#include "pager_fixture.hpp"

namespace shm::nvm {
namespace {

class PagerRoundsTest : public ::testing::Test {
 protected:
  explicit PagerRoundsTest(const TestDeviceOptions& device = {.never_blocks = true}, std::size_t ahead = 0)
      : pe(memory.pool, 0, device, ahead) {
    await_sleep();
  }

  static void await_sleep() {
    await("sleep", [] { return sleeps(pager_thread()); });
  }
  Asked ask(PageNumber page) const {
    return Asked(memory.pool, 0, 0, PageRequest::Kind::latch, Access::read, page, false);
  }
  void bring(PageNumber page) const {
    Latch(memory.pool, 0, page, Access::read);
    pe.ping();
    await_sleep();
  }
  // An operation of another node: it adds one to word 1 of page 0.
  void add_from_far() {
    Operation add{};
    add.pe = kStranger;
    add.offset = 8;
    add.kind = Operation::Kind::amo;
    add.op = AtomicOp::add;
    add.type = AtomicType::u64;
    add.value = 1;
    pe.pager->hand(reinterpret_cast<const std::byte*>(&add), sizeof add);
  }
  bool make_round() { return pe.pager->make_round(self); }
  std::uint32_t rings() const { return memory.pool.requests_of(0).queue.rings(); }

  PoolMemory memory{shape_of(1)};
  Pe pe;
  RoundsForever self;
};

TEST_F(PagerRoundsTest, WhoWaitsNeedNotWakeThePager) {
  bring(3);
  const std::uint32_t before = rings();
  const Asked asked = ask(3);
  EXPECT_FALSE(asked.done());
  EXPECT_TRUE(make_round());
  ASSERT_TRUE(asked.done());
  memory.pool.word(3).unlatch();
  EXPECT_FALSE(make_round()) << "there is nothing more to do";
  EXPECT_EQ(rings(), before);
}

TEST_F(PagerRoundsTest, OnlyItsThreadHandsTransfersToTheSystem) {
  pe.device->hold(true);
  const std::uint32_t before = rings();
  const Asked asked = ask(3);
  EXPECT_TRUE(make_round());
  EXPECT_NE(rings(), before) << "nobody hands the transfer over";
  pe.end_one();
  asked.wait();
  memory.pool.word(3).unlatch();
}

TEST_F(PagerRoundsTest, WhoGivesUpWakesThePager) {
  const Asked asked = ask(3);
  pe.pager->hand_back();
  asked.wait();
  memory.pool.word(3).unlatch();
}

// A page that cannot leave as it is latched: nobody tells the pager when it is not.
TEST_F(PagerRoundsTest, WhatWaitsUntoldIsLeftToItsThread) {
  bring(0);
  bring(3);
  std::optional<Latch> latch(std::in_place, memory.pool, 0, 3, Access::read);
  const Ticket ticket(memory.pool, 0);
  fill_in(ticket.request(), RangeCommand::drop, 3, 4);
  ticket.post(0, false);
  const std::uint32_t before = rings();
  EXPECT_TRUE(make_round());
  EXPECT_NE(rings(), before) << "nobody looks again";
  pe.ping();
  constexpr std::size_t kAdds = 1000;  // some of which find the thread asleep for its nap
  const std::uint32_t then = rings();
  pe.host.drives = true;
  for (std::size_t i = 1; i <= kAdds; ++i) {
    add_from_far();
    pe.pager->answer_calls();
    pe.host.wait_for_answers(i);
  }
  EXPECT_EQ(rings(), then) << "it does so already";
  latch.reset();
  await("the page to be dropped", [&] { return ticket.done(); });
}

TEST_F(PagerRoundsTest, WhoTakesAMessageAnswersIt) {
  bring(0);
  const std::uint32_t before = rings();
  pe.host.drives = true;
  add_from_far();
  EXPECT_EQ(pe.host.count_answers(), 0U);
  EXPECT_TRUE(pe.pager->answer_calls());
  EXPECT_EQ(pe.host.count_answers(), 1U);
  EXPECT_FALSE(pe.pager->answer_calls());
  EXPECT_EQ(rings(), before);
}

TEST_F(PagerRoundsTest, WhoDoesNotDriveTheNetworkWakesThePager) {
  bring(0);
  add_from_far();
  EXPECT_EQ(pe.host.answers(1).size(), 1U);
}

TEST_F(PagerRoundsTest, WhatComesDuringARoundIsAnsweredInTheNext) {
  bring(0);
  const std::uint32_t before = rings();
  pe.host.drives = true;
  pe.host.on_answer = [this] {
    if (pe.host.count_answers() == 1) add_from_far();
    EXPECT_FALSE(make_round()) << "two rounds at a time";
  };
  add_from_far();
  EXPECT_TRUE(pe.pager->answer_calls());
  EXPECT_EQ(pe.host.count_answers(), 2U);
  EXPECT_EQ(rings(), before);
}

TEST_F(PagerRoundsTest, NothingOfManyMessagesIsLeftOver) {
  bring(0);
  constexpr std::size_t kAdds = 70;  // more than in a round
  const std::uint32_t before = rings();
  pe.host.drives = true;
  for (std::size_t i = 0; i < kAdds; ++i) add_from_far();
  EXPECT_TRUE(pe.pager->answer_calls());
  EXPECT_EQ(pe.host.count_answers(), kAdds);
  EXPECT_EQ(rings(), before);
}

TEST_F(PagerRoundsTest, NobodyIsKeptForEver) {
  bring(0);
  constexpr std::size_t kAdds = 5000;
  pe.host.drives = true;
  std::atomic<std::size_t> here{0};
  pe.host.on_answer = [this, &here, me = std::this_thread::get_id()] {
    if (std::this_thread::get_id() == me) ++here;
    if (pe.host.count_answers() < kAdds) add_from_far();
  };
  add_from_far();
  EXPECT_TRUE(pe.pager->answer_calls());
  EXPECT_LT(here, kAdds / 2);
  pe.host.wait_for_answers(kAdds);
  await_sleep();
}

TEST_F(PagerRoundsTest, AStoppedPagerMakesNone) {
  pe.pager->stop();
  const Asked asked = ask(3);
  EXPECT_FALSE(make_round());
  EXPECT_FALSE(asked.done());
}

// Whose device lets others carry out reads.
class ReadsOfOthersTest : public PagerRoundsTest {
 protected:
  ReadsOfOthersTest() : PagerRoundsTest({.never_blocks = true, .lets_take = true}, 4) {}

  void expect_there(PageNumber page, const Asked& asked) const {
    EXPECT_EQ(word_in(memory.pool, asked.wait().frame, 5), page_of(page));
    memory.pool.word(page).unlatch();
  }
  // A thread that waits for the page, and has begun to read it: what the device holds from now on.
  std::thread hold_reader_of(const Asked& asked) const {
    pe.device->hold(true);
    std::thread thread([&] { asked.wait(*pe.pager, UINT64_MAX); });
    await("a read", [&] { return pe.device->taken() == 1; });
    return thread;
  }
};

TEST_F(ReadsOfOthersTest, WhoWaitsReadsAndNeedNotWakeThePager) {
  const std::uint32_t before = rings();
  const Asked asked = ask(3);
  EXPECT_TRUE(make_round());
  ASSERT_TRUE(asked.done());
  EXPECT_EQ(rings(), before);
  EXPECT_EQ(pe.count(Kind::read, 3), 1);
  EXPECT_EQ(self.stops, 1) << "the network is left to the agent";
  expect_there(3, asked);
}

TEST_F(ReadsOfOthersTest, WhoIsServedReadsNothing) {
  pe.device->hold(true);
  self.is_served = true;
  const std::uint32_t before = rings();
  const Asked asked = ask(3);
  EXPECT_TRUE(make_round());
  EXPECT_EQ(self.stops, 0);
  EXPECT_NE(rings(), before) << "nobody hands the transfer over";
  pe.end_one();
  expect_there(3, asked);
}

// An operation of another node is carried out at home.
TEST_F(ReadsOfOthersTest, WhatOtherNodesWaitForIsLeftToThePagersThread) {
  pe.device->hold(true);
  pe.host.drives = true;
  add_from_far();
  EXPECT_TRUE(make_round());
  EXPECT_EQ(self.stops, 0);
  pe.end_one();
  pe.host.wait_for_answers(1);
}

// It came for something else, and must not be kept.
TEST_F(ReadsOfOthersTest, WhoDrivesTheNetworkDoesNot) {
  pe.device->hold(true);
  pe.host.drives = true;
  const std::uint32_t before = rings();
  add_from_far();  // to a page that is not here
  EXPECT_TRUE(pe.pager->answer_calls());
  EXPECT_EQ(pe.device->taken(), 0U);
  EXPECT_NE(rings(), before) << "nobody hands the transfer over";
  pe.end_one();
  pe.host.wait_for_answers(1);
}

// Not what nobody waits for.
TEST_F(ReadsOfOthersTest, WhatIsReadAheadIsLeftToThePagersThread) {
  const Asked first = ask(3);
  EXPECT_TRUE(make_round());
  expect_there(3, first);
  const Asked second = ask(4);  // a sequence
  std::thread reader = hold_reader_of(second);
  await("what follows to be handed over meanwhile",
        [&] { return pe.device->under_way() > 1 && !pe.device->to_be_submitted(); });
  pe.device->hold(false);
  reader.join();
  expect_there(4, second);
  await("the page that follows", [&] { return memory.pool.word(5).state() != PageState::invalid; });
  for (const TestDevice::Record& read : pe.device->records())
    EXPECT_EQ(read.taken, read.offset <= memory.pool.offset_of(4)) << "at " << read.offset;
}

TEST_F(ReadsOfOthersTest, OthersMakeRoundsMeanwhile) {
  bring(0);
  const Asked asked = ask(3);
  std::thread reader = hold_reader_of(asked);
  pe.host.drives = true;
  add_from_far();
  pe.pager->answer_calls();  // unless the reader has the turn still
  pe.host.wait_for_answers(1);
  EXPECT_FALSE(asked.done());
  pe.device->hold(false);
  reader.join();
  expect_there(3, asked);
}

// Another thread has the turn when the read ends, and has looked at the device before.
TEST_F(ReadsOfOthersTest, ARoundFollowsARead) {
  bring(0);
  const Asked asked = ask(3);
  std::thread reader = hold_reader_of(asked);
  pe.host.drives = true;
  std::atomic<bool> read{false};
  pe.host.on_answer = [this, &read] {
    pe.device->hold(false);
    await("the read", [&] { return pe.count(Kind::read, 3) == 1; });
    read = true;
  };
  add_from_far();
  pe.pager->answer_calls();
  reader.join();
  EXPECT_TRUE(read);
  expect_there(3, asked);
}

TEST_F(ReadsOfOthersTest, APagerThatStopsWaitsForThem) {
  const Asked asked = ask(3);
  std::thread reader = hold_reader_of(asked);
  std::atomic<bool> stopped{false};
  std::thread stopper([&] {
    pe.pager->stop();
    stopped = true;
  });
  await("the pager's thread to end", [] {
    try {
      pager_thread();
      return false;
    } catch (const std::runtime_error&) {
      return true;
    }
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(stopped) << "the device and its memory go, and somebody reads";
  pe.device->hold(false);
  stopper.join();
  reader.join();
}

TEST(PagerRounds, AreNotSharedWhereTheDeviceBlocks) {
  const PoolMemory memory(shape_of(1));
  const Pe pe(memory.pool);
  EXPECT_FALSE(pe.pager->shares_rounds());
  const Asked asked(memory.pool, 0, 0, PageRequest::Kind::latch, Access::read, 3, false);
  RoundsForever self;
  EXPECT_FALSE(pe.pager->make_round(self));
  EXPECT_FALSE(asked.done());
  pe.pager->hand_back();
  asked.wait();
  memory.pool.word(3).unlatch();
}

}  // namespace
}  // namespace shm::nvm
