// SPDX-License-Identifier: BSD-3-Clause
// Messages of pagers that are well-formed, but not what this pager or its home agent waits for.
#include <gtest/gtest.h>

#include "nvm/coherence/awaited_answers.hpp"
#include "page_cache_fixture.hpp"

namespace shm::nvm {
namespace {

// A frame is free when its page has been fetched: that one, and once.
TEST(PageChannel, KnowsWhichFramesAreToBeFetched) {
  const PoolMemory memory(PoolShape{kPageBytes, kPoolFrames, kSegmentPages, 2, 1});
  const Pool& pool = memory.pool;
  Nodes nodes;
  nodes.members.resize(2);
  nodes.add(0);
  nodes.add(1);
  OneOfTwo host(pool);
  PageChannel channel(host, pool, nodes, 0);
  const auto send = [&](PageNumber page, FrameNumber frame, bool frees) {
    channel.send({.page = page,
                  .message = {.kind = Event::done, .data = true, .from = 0, .to = 1},
                  .frame = frame,
                  .frees = frees});
    channel.flush();
  };
  constexpr PageNumber kPage = kSegmentPages + 3;  // PE 1's
  send(kPage, 2, true);
  send(kPage + 1, 3, false);
  EXPECT_FALSE(channel.idle());
  EXPECT_FALSE(channel.fetched(kPage, 3));
  EXPECT_FALSE(channel.fetched(kPage + 1, 2));
  EXPECT_FALSE(channel.fetched(kPage + 1, 3)) << "it has been kept";
  EXPECT_TRUE(channel.fetched(kPage, 2));
  EXPECT_FALSE(channel.fetched(kPage, 2)) << "twice";
  EXPECT_TRUE(channel.idle());
}

// PE 0 of two nodes has sent an operation to PE 1, whose page it is on.
TEST(AwaitedAnswersDeathTest, AreTakenOnceAndOfWhoMayExecute) {
  const PoolShape shape{kPageBytes, kPoolFrames, kSegmentPages, 2, 1};
  Nodes nodes;
  nodes.members.resize(2);
  nodes.add(0);
  nodes.add(1);
  const MessageLimits limits{shape, nodes, 0};
  AwaitedAnswers answers;
  std::atomic<std::uint64_t> unanswered{1};
  constexpr PageNumber kPage = kSegmentPages;
  std::byte message[sizeof(Answer) + 8] = {};
  const auto take = [&](std::uint64_t token, PageNumber page, int from) {
    const Answer answer{token, page, 8, 0};
    std::memcpy(message, &answer, sizeof answer);
    AwaitedAnswers::Taken last{};
    answers.take(from, message, sizeof message, limits,
                 [&](const AwaitedAnswers::Taken& taken, const std::byte*) { last = taken; });
    return last;
  };
  const std::uint64_t token = answers.add({&unanswered, nullptr, 8, kPage});
  EXPECT_DEATH(take(token + 1, kPage, 1), "PE 1 sent an answer of the NVM heap that nobody has asked for");
  EXPECT_DEATH(take(token, kPage + 1, 1),
               "PE 1 sent an answer of the NVM heap to another operation than was sent");
  const std::uint64_t own = answers.add({&unanswered, nullptr, 8, 0});
  EXPECT_EQ(take(own, 0, 1).asked.page, 0U) << "PE 1 caches it on its node";
  EXPECT_EQ(take(token, kPage, 1).asked.unanswered, &unanswered);
  EXPECT_DEATH(take(token, kPage, 1), "that nobody has asked for");
}

// In a process that ends, with a pager of its own.
class FrameOfAnother final : public PageCacheTest {
 public:
  void TestBody() override {
    send(kFar, {.kind = Event::fetched, .to = 0, .tag = pool.offset(1)});
    await("death", [] { return false; });
  }
};

// PE 1 has page kOwn, and two operations on it are on their way: the first is at PE 1, the second waits at
// home.  PE 1 says that it has no copy, and sends an operation back.
class SentBack final : public PageCacheTest {
 public:
  void TestBody() override {}
  enum What { that_waits, of_another_kind, of_another_node, of_nobody };
  void run(What what) {
    send(kOwn, {.kind = Event::ask_write, .to = 0, .requester = 1});
    const Message granted = host.step(1).message.message;
    send(kOwn, {.kind = Event::done, .to = 0, .requester = 1, .version = granted.version});
    for (int i = 0; i < 2; ++i) hand(operation(Operation::Kind::get));
    const Message asked = host.step(2).message.message;
    ASSERT_EQ(asked.kind, Event::get);
    PageMessage back{kOwn, asked, 0, 0, sizeof(Operation)};
    back.message.kind = Event::absent;
    back.message.from = 1;
    back.message.to = 0;
    const Operation sent = operation(what == of_another_kind ? Operation::Kind::put : Operation::Kind::get);
    if (what == that_waits) ++back.message.tag;
    if (what == of_nobody) back.message.tag += 2;
    if (what == of_another_node) back.message.requester = 0;
    receive(back, sent);
  }

 private:
  static Operation operation(Operation::Kind kind) {
    Operation operation{};
    operation.token = 1;
    operation.page = kOwn;
    operation.pe = 1;
    operation.kind = kind;
    return operation;
  }
  void hand(const Operation& operation) const {
    pager->hand(reinterpret_cast<const std::byte*>(&operation), sizeof operation);
    ping();
  }
  void receive(const PageMessage& head, const Operation& operation) const {
    std::byte packet[sizeof head + sizeof operation];
    std::memcpy(packet, &head, sizeof head);
    std::memcpy(packet + sizeof head, &operation, sizeof operation);
    pager->receive(packet, sizeof packet);
    await("death", [] { return false; });
  }
};

TEST(RefusedMessageDeathTest, OnlyAFrameThatWasToBeFetchedIsFree) {
  EXPECT_EXIT(FrameOfAnother().TestBody(), ::testing::ExitedWithCode(1),
              "^atoll: internal error: PE 1 sent a message of the NVM heap about a frame that it was not to "
              "fetch\n$");
}

TEST(RefusedMessageDeathTest, OnlyTheOperationThatWasSentComesBack) {
  for (const SentBack::What what :
       {SentBack::that_waits, SentBack::of_another_kind, SentBack::of_another_node, SentBack::of_nobody}) {
    EXPECT_EXIT(
        SentBack().run(what), ::testing::ExitedWithCode(1),
        "^atoll: internal error: PE 1 sent a message of the NVM heap with an operation that it was not "
        "sent\n$")
        << what;
  }
}

}  // namespace
}  // namespace shm::nvm
