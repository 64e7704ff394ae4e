// SPDX-License-Identifier: BSD-3-Clause
// Operations that are handed to a home's pager by its channel, answers that leave together, pages that
// arrive.
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
  void hand(std::uint64_t token) {
    Operation operation{};
    operation.token = token;
    operation.pe = 1;
    operation.kind = Operation::Kind::get;
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

TEST(Arrivals, AreSeenUntilTheyAreSeenTo) {
  Arrivals arrivals;
  Completion* const first = arrivals.begin();
  Completion* const second = arrivals.begin();
  EXPECT_FALSE(arrivals.any());
  second->set_done();
  EXPECT_TRUE(arrivals.any());
  arrivals.end(second);
  EXPECT_FALSE(arrivals.any());
  EXPECT_EQ(arrivals.begin(), second);
  EXPECT_FALSE(arrivals.any()) << "the last one's end";
  first->set_done();
  EXPECT_TRUE(arrivals.any());
  arrivals.end(first);
  EXPECT_FALSE(arrivals.any());
}

TEST(Arrivals, OfMoreThanThereIsRoomForAnyMayHaveEnded) {
  Arrivals arrivals;
  for (std::size_t i = 0; i < Arrivals::kMost; ++i) EXPECT_NE(arrivals.begin(), nullptr);
  EXPECT_FALSE(arrivals.any());
  EXPECT_EQ(arrivals.begin(), nullptr);
  EXPECT_TRUE(arrivals.any());
  arrivals.end(nullptr);
  EXPECT_FALSE(arrivals.any());
}

}  // namespace
}  // namespace shm::nvm
