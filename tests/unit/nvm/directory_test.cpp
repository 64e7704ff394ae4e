// SPDX-License-Identifier: BSD-3-Clause
// Reads that the home has forwarded at the same time; all interleavings of them are explored by tests/model.
#include "nvm/coherence/directory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace shm::nvm {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;
using enum Event;

constexpr NodeId kHome = 0;

// The home of a page, and what it has sent.
class ReadersOfAPage : public testing::Test {
 protected:
  Directory directory;
  std::vector<Message> sent;

  bool take(Message message) {
    message.to = kHome;
    return serve(directory, message, {kHome, true}, sent);
  }
  void ask(NodeId node, Event kind, bool absent = false) {
    EXPECT_TRUE(take({.kind = kind, .absent = absent, .from = node, .requester = node}));
  }
  /// The next message of the home has led to this answer.
  bool answer(const Message& to, Event kind, NodeId from, bool dirty = false) {
    return take(
        {.kind = kind, .dirty = dirty, .from = from, .requester = to.requester, .version = to.version});
  }
  Message next() {
    const Message first = sent.front();
    sent.erase(sent.begin());
    return first;
  }
  /// These nodes have the page, clean; the last is the forwarder.
  void give(const std::vector<NodeId>& nodes) {
    for (const NodeId node : nodes) directory.holders.push(node);
  }
  std::vector<NodeId> forwarders() const {
    std::vector<NodeId> nodes;
    for (const Message& message : sent) {
      if (message.kind == forward_read) nodes.push_back(message.to);
    }
    return nodes;
  }
};

TEST_F(ReadersOfAPage, GetItFromForwardersOfTheirOwn) {
  give({1, 2, 3});
  for (const NodeId node : {4, 5, 6, 7}) ask(node, ask_read);
  EXPECT_THAT(forwarders(), ElementsAre(3, 2, 1));  // node 7 waits
  const Message first = next();
  EXPECT_TRUE(answer(first, done, 4));
  EXPECT_THAT(forwarders(), ElementsAre(2, 1, 4));  // which has just got it
}

TEST_F(ReadersOfAPage, HaveItAfterLogarithmicallyManyRounds) {
  give({1});
  for (NodeId node = 2; node <= 16; ++node) ask(node, ask_read);
  int rounds = 0;
  for (; !sent.empty(); ++rounds) {
    for (const Message& message : std::exchange(sent, {}))
      EXPECT_TRUE(answer(message, done, message.requester));
  }
  EXPECT_EQ(rounds, 4);
  EXPECT_EQ(directory.holders.nodes().size(), 16U);
  EXPECT_FALSE(directory.busy());
}

TEST_F(ReadersOfAPage, TakeNoMemoryToWaitIfTheyNeedNot) {
  give({1, 2});
  ask(3, ask_read);
  EXPECT_EQ(directory.waiting.capacity(), 0U);
  ask(4, ask_write);
  EXPECT_EQ(directory.waiting.size(), 1U);
}

TEST(WaitingRequests, KeepTheirOrder) {
  const auto seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  WaitingRequests waiting;
  std::deque<std::uint64_t> expected;
  for (std::uint64_t step = 0; step < 100'000; ++step) {
    const auto what = random() % 9;
    if (what < 3) {
      waiting.push_back({.tag = step});
      expected.push_back(step);
    } else if (what == 3) {
      waiting.push_front({.tag = step});
      expected.push_front(step);
    } else if (!expected.empty()) {
      ASSERT_EQ(waiting.front().tag, expected.front());
      waiting.pop_front();
      expected.pop_front();
    }
    ASSERT_EQ(waiting.size(), expected.size());
    ASSERT_EQ(waiting.empty(), expected.empty());
    if (step % 100 != 0) continue;
    ASSERT_TRUE(std::ranges::equal(waiting.all(), expected, {}, &Message::tag));
  }
}

// A page that never comes to rest.
TEST(WaitingRequests, TakeTheMemoryOfThoseThatWait) {
  constexpr std::size_t kWaiting = 100;
  WaitingRequests waiting;
  for (std::uint64_t i = 0; i < 100 * kWaiting; ++i) {
    waiting.push_back({.tag = i});
    if (waiting.size() > kWaiting) waiting.pop_front();
  }
  EXPECT_LE(waiting.capacity(), 4 * kWaiting);
}

TEST_F(ReadersOfAPage, DoNotOvertakeAWriter) {
  give({1, 2, 3});
  ask(4, ask_read);
  ask(5, ask_write);
  ask(6, ask_read);
  const Message read = next();
  EXPECT_THAT(sent, IsEmpty());
  EXPECT_TRUE(answer(read, done, 4));
  std::vector<NodeId> invalidated;
  for (const Message& message : sent) {
    EXPECT_EQ(message.kind, invalidate);
    invalidated.push_back(message.to);
  }
  EXPECT_EQ(invalidated.size(), 3U);  // all but who sends the page
}

TEST_F(ReadersOfAPage, WaitForAForwarderThatHasDroppedItsCopyAndAsksForAnother) {
  give({1, 2});
  ask(3, ask_read);
  const Message forward = next();
  ASSERT_EQ(forward.to, 2);
  ask(2, ask_read, true);  // has no copy; node 1 could answer
  EXPECT_THAT(sent, IsEmpty());
  EXPECT_TRUE(answer(forward, absent, 2));
  EXPECT_THAT(forwarders(), ElementsAre(1));
  EXPECT_EQ(next().requester, 3);  // the first, once more
}

TEST_F(ReadersOfAPage, AreNotHeldUpByADropOfAThirdNode) {
  give({1, 2, 3});
  ask(4, ask_read);
  EXPECT_TRUE(take({.kind = dropped, .from = 1}));
  ask(5, ask_read);
  EXPECT_THAT(forwarders(), ElementsAre(3, 2));
  EXPECT_THAT(directory.holders.nodes(), UnorderedElementsAre(2, 3));
}

TEST_F(ReadersOfAPage, LeaveTheOwnerInPlaceWhereItStaysDirty) {
  give({1, 2});
  directory.owner = 2;
  for (const NodeId node : {3, 4}) ask(node, ask_read);
  const Message by_owner = next(), by_other = next();
  ASSERT_EQ(by_owner.to, 2);
  EXPECT_FALSE(answer(by_other, done, 4, true));  // only an owner is dirty
  EXPECT_TRUE(answer(by_other, done, 4));
  EXPECT_EQ(directory.owner, 2);
  EXPECT_TRUE(answer(by_owner, done, 3, true));
  EXPECT_EQ(directory.owner, 2);
}

TEST_F(ReadersOfAPage, AreKnownByTheVersionOfTheirRequests) {
  give({1, 2});
  for (const NodeId node : {3, 4}) ask(node, ask_read);
  Message first = next();
  const Message second = next();
  EXPECT_LT(first.version, second.version);
  EXPECT_FALSE(answer(first, done, 4));
  EXPECT_FALSE(answer(second, absent, first.to));
  first.version -= 1;
  EXPECT_FALSE(answer(first, done, 3));
  EXPECT_TRUE(directory.busy());
}

using RequestsForAPage = ReadersOfAPage;

// What waits for a page that is far away takes two messages each, and none where the home has it.
TEST_F(RequestsForAPage, WaitBehindAWriteOfTheHomes) {
  give({1});
  for (const NodeId node : {2, 3, 2}) ask(node, ask_put);
  ask(4, ask_write);
  EXPECT_TRUE(take({.kind = dropped, .from = 5}));
  ask(kHome, ask_write);
  std::vector<std::pair<Event, NodeId>> served;
  while (!sent.empty()) {
    const Message message = next();
    served.emplace_back(message.kind, message.requester);
    const bool by_actor = message.kind == put || message.kind == invalidate;
    EXPECT_TRUE(answer(message, done, by_actor ? message.to : message.requester));
  }
  EXPECT_THAT(served, ElementsAre(std::pair(put, 2), std::pair(forward_write, kHome), std::pair(put, 3),
                                  std::pair(put, 2), std::pair(forward_write, 4)));
  EXPECT_FALSE(directory.busy());
}

}  // namespace
}  // namespace shm::nvm
