// SPDX-License-Identifier: BSD-3-Clause
// Operations that follow others in the channel of a home's pager, and answers that leave together.
#include "nvm/coherence/page_channel.hpp"

#include <gtest/gtest.h>

#include "page_cache_fixture.hpp"

namespace shm::nvm {
namespace {

class Answering final : public Wire {
 public:
  void send(int, const std::byte*, std::size_t) override { ADD_FAILURE() << "a message"; }
  void put(int, std::uint64_t, const std::byte*, std::size_t, Completion&) override {}
  bool messages_follow_puts() const override { return true; }
  void get(int, std::uint64_t, std::byte*, std::size_t, Completion&) override {}
  void drive() override {}
  void answer(int pe, const std::byte* message, std::size_t n) override {
    EXPECT_LE(n, kMaxMessage);
    std::size_t answers = 0;
    for_answers(message, n, [&](const Answer&, const std::byte*) { ++answers; });
    messages.push_back({pe, answers});
  }
  std::vector<std::pair<int, std::size_t>> messages;  // to whom, and how many answers
};

struct HandedOperations : ::testing::Test {
  HandedOperations() {
    nodes.members.resize(2);
    nodes.add(0);
    nodes.add(1);
    nodes.add(1);
  }
  void hand(std::uint64_t token, bool follows = false, int pe = 1, PageNumber page = 0) {
    Operation operation{};
    operation.token = token;
    operation.page = page;
    operation.pe = pe;
    operation.kind = Operation::Kind::get;
    operation.follows = follows;
    channel.hand(reinterpret_cast<const std::byte*>(&operation), sizeof operation);
  }
  std::vector<std::uint64_t> taken() {
    std::vector<std::uint64_t> tokens;
    for (Delivery delivery; channel.next(delivery);) tokens.push_back(delivery.operation->head().token);
    return tokens;
  }
  using Tokens = std::vector<std::uint64_t>;

  const PoolMemory memory{PoolShape{kPageBytes, kPoolFrames, kSegmentPages, 3, 1}};
  Nodes nodes;
  Answering wire;
  PageChannel channel{wire, memory.pool, nodes, 0};
};

TEST_F(HandedOperations, CountUntilTheyAreExecuted) {
  EXPECT_FALSE(channel.any_handed(1));
  hand(1);
  hand(2);
  EXPECT_TRUE(channel.any_handed(1));
  EXPECT_FALSE(channel.any_handed(2));
  EXPECT_EQ(taken(), (Tokens{1, 2}));
  channel.executed(1);
  EXPECT_TRUE(channel.any_handed(1)) << "taken is not executed";
  channel.executed(1);
  EXPECT_FALSE(channel.any_handed(1));
}

TEST_F(HandedOperations, OneThatFollowsNothingGoesOn) {
  hand(1, true);
  EXPECT_EQ(taken(), Tokens{1});
}

// Its thread may be another one, that the program waits for which keeps what is followed.
TEST_F(HandedOperations, OneForAnotherPageIsNotHeldBehindIt) {
  hand(1);
  hand(2, true);
  hand(3, false, 1, 5);
  EXPECT_EQ(taken(), (Tokens{1, 3}));
  channel.executed(1);
  EXPECT_EQ(taken(), Tokens{}) << "3 is not executed, and may be what it follows for all that is known";
  channel.executed(1);
  EXPECT_EQ(taken(), Tokens{2});
}

TEST_F(HandedOperations, OneThatFollowsIsHeldWithAllBehindItThere) {
  hand(1);
  hand(2);
  hand(3, true);
  hand(4);
  hand(5, true);
  hand(6);
  hand(7, true, 2);  // another PE's
  EXPECT_EQ(taken(), (Tokens{1, 2, 7}));
  channel.executed(1);
  EXPECT_EQ(taken(), Tokens{}) << "one of two";
  channel.executed(1);
  EXPECT_EQ(taken(), (Tokens{3, 4}));
  hand(8);
  EXPECT_EQ(taken(), Tokens{}) << "behind what is held";
  channel.executed(1);
  EXPECT_EQ(taken(), Tokens{});
  channel.executed(1);
  EXPECT_EQ(taken(), (Tokens{5, 6, 8}));
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(channel.any_handed(1));
    channel.executed(1);
  }
  EXPECT_FALSE(channel.any_handed(1));
}

TEST_F(HandedOperations, ThoseThatFollowEachOtherGoOneByOne) {
  for (std::uint64_t i = 1; i <= 3; ++i) hand(i, true);
  for (std::uint64_t i = 1; i <= 3; ++i) {
    EXPECT_EQ(taken(), Tokens{i});
    channel.executed(1);
  }
  EXPECT_FALSE(channel.any_handed(1));
}

TEST_F(HandedOperations, AnswersOfARoundLeaveTogether) {
  const Answer answer{1, 0, 0, 0};
  const auto* bytes = reinterpret_cast<const std::byte*>(&answer);
  for (const int pe : {1, 2, 1, 1}) channel.answer(pe, bytes, sizeof answer);
  EXPECT_TRUE(wire.messages.empty());
  EXPECT_FALSE(channel.idle());
  channel.flush();
  EXPECT_EQ(wire.messages, (std::vector<std::pair<int, std::size_t>>{{1, 3}, {2, 1}}));
  EXPECT_TRUE(channel.idle());
  constexpr std::size_t kFull = kMaxMessage / sizeof answer;
  wire.messages.clear();
  for (std::size_t i = 0; i < kFull + 1; ++i) channel.answer(1, bytes, sizeof answer);
  channel.flush();
  channel.flush();
  EXPECT_EQ(wire.messages, (std::vector<std::pair<int, std::size_t>>{{1, kFull}, {1, 1}}));
}

}  // namespace
}  // namespace shm::nvm
