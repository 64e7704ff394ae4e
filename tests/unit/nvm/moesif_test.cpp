// SPDX-License-Identifier: BSD-3-Clause
// Each row of the protocol of nvm/README.md; all interleavings of them are explored by tests/model.
#include "nvm/coherence/moesif.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <vector>

#include "nvm/coherence/directory.hpp"

namespace shm::nvm {
namespace {

using testing::ElementsAre;
using enum State;
using enum Event;

constexpr NodeId kHome = 0;

// A page of node 0, and nodes that have copies of it.  Messages are delivered one after the other, and told
// in `log` as "kind to node", with + if they carry the page.
class Job {
 public:
  explicit Job(bool cooperative = true) : home_{kHome, cooperative} {}

  Page nodes[4];
  Directory directory;
  std::vector<std::string> log;

  /// An access or eviction that is not a hit goes on its way; deliver() what follows.
  void ask(NodeId node, Event event) {
    const Outcome outcome = on_local(nodes[node], event, node, kHome);
    EXPECT_NE(outcome.actions, 0);
    for (std::size_t i = 0; i < outcome.count; ++i) in_flight_.push_back(outcome.messages[i]);
  }
  void ask_home(NodeId node, Event kind) {
    in_flight_.push_back({.kind = kind, .from = node, .to = kHome, .requester = node});
  }
  void deliver(std::size_t most = 1000) {
    for (; most > 0 && !in_flight_.empty(); --most) deliver_one();
  }
  /// The node drops its copy when the home, which has taken the request, wants something of it.
  void drop_meanwhile(NodeId node) {
    deliver(1);
    ask(node, local_drop);
    deliver();
  }
  void run(NodeId node, Event event) {
    log.clear();
    event <= local_drop ? ask(node, event) : ask_home(node, event);
    deliver();
    EXPECT_FALSE(directory.busy());
  }
  std::vector<State> states() const {
    return {nodes[0].state, nodes[1].state, nodes[2].state, nodes[3].state};
  }

 private:
  void deliver_one() {
    const Message message = in_flight_.front();
    in_flight_.pop_front();
    const std::string place = message.to == kDevice ? "device" : std::to_string(message.to);
    log.push_back(std::string(name(message.kind)) + " " + place + (message.data ? "+" : ""));
    if (part_for(message.kind) == Part::device) {
      Message answer = message;
      answer.kind = message.kind == load ? loaded : stored;
      answer.data = message.kind == load;
      std::swap(answer.from, answer.to);
      in_flight_.push_back(answer);
    } else if (part_for(message.kind) == Part::home) {
      std::vector<Message> out;
      ASSERT_TRUE(serve(directory, message, home_, out)) << log.back();
      in_flight_.insert(in_flight_.end(), out.begin(), out.end());
    } else if (part_for(message.kind) == Part::cache) {
      const Outcome outcome = on_message(nodes[message.to], message, kHome);
      ASSERT_NE(outcome.actions, 0) << log.back();
      for (std::size_t i = 0; i < outcome.count; ++i) in_flight_.push_back(outcome.messages[i]);
    }
  }

  const Home home_;
  std::deque<Message> in_flight_;
};

// ---- the forwarder stack

TEST(ForwarderStack, WhoGotACopyLastIsTheTop) {
  ForwarderStack stack;
  EXPECT_TRUE(stack.empty());
  for (const NodeId node : {4, 2, 7}) stack.push(node);
  EXPECT_THAT(stack.nodes(), ElementsAre(4, 2, 7));
  EXPECT_TRUE(stack.contains(2));
  EXPECT_FALSE(stack.contains(3));
}

TEST(ForwarderStack, AnAccessMovesTheTopToTheBottom) {
  ForwarderStack stack;
  for (const NodeId node : {4, 2, 7}) stack.push(node);
  EXPECT_EQ(stack.access(), 7);
  EXPECT_THAT(stack.nodes(), ElementsAre(7, 4, 2));
  EXPECT_EQ(stack.access(), 2);
  EXPECT_EQ(stack.access(), 4);
  EXPECT_EQ(stack.access(), 7);
}

TEST(ForwarderStack, AnEvictionRemoves) {
  ForwarderStack stack;
  for (const NodeId node : {4, 2, 7}) stack.push(node);
  stack.remove(2);
  stack.remove(3);
  EXPECT_THAT(stack.nodes(), ElementsAre(4, 7));
  EXPECT_EQ(stack.access(), 7);
}

// ---- the table

TEST(Moesif, RowsAreConsistent) {
  for (std::size_t s = 0; s < kStates; ++s) {
    for (std::size_t e = 0; e < kNodeEvents; ++e) {
      const auto state = static_cast<State>(s);
      const auto event = static_cast<Event>(e);
      const Step row = step(state, event);
      SCOPED_TRACE(std::string(name(state)) + " + " + name(event));
      if (row.actions == 0) continue;
      EXPECT_EQ((row.actions & action::give_up) != 0, state != invalid && row.next == invalid);
      EXPECT_EQ((row.actions & action::take_data) != 0, !has_copy(state) && has_copy(row.next));
      EXPECT_EQ((row.actions & action::ask) != 0, row.next >= asking && state < asking && e <= 2);
      if (has_copy(state) && !has_copy(row.next)) {
        EXPECT_TRUE(row.actions & action::stop_access);
      }
      if (row.actions & action::write_back) {
        EXPECT_TRUE(is_dirty(state) && !is_dirty(row.next));
      }
      if (is_dirty(state) && !is_dirty(row.next)) {  // nothing dirty is dropped but by an invalidation
        EXPECT_TRUE((row.actions & (action::write_back | action::send_data)) || event == invalidate);
      }
      if (state == modified || state == exclusive) {
        const bool stays = row.next == modified || row.next == exclusive;
        EXPECT_TRUE(stays || (row.actions & (action::stop_writes | action::stop_access)));
      }
    }
  }
}

TEST(Moesif, WhatCannotHappenChangesNothing) {
  EXPECT_EQ(step(invalid, leave).actions, 0);
  EXPECT_EQ(step(modified, local_drop).actions, 0) << "the device would be old";
  EXPECT_EQ(step(shared, ask_read).actions, 0);
  Page page = {shared, 5};
  const Message grant = {
      .kind = grant_shared, .data = true, .from = 0, .to = 1, .requester = 1, .version = 6};
  EXPECT_EQ(on_message(page, grant, kHome).actions, 0);
  EXPECT_EQ(page.state, shared);
  EXPECT_EQ(page.version, 5u);
}

TEST(Moesif, ALateMessageIsRecognised) {
  Page page = {asking, 5};
  Message grant = {.kind = grant_shared, .data = true, .from = 2, .to = 1, .requester = 1, .version = 5};
  EXPECT_EQ(on_message(page, grant, kHome).actions, 0);
  grant.version = 6;
  grant.data = false;
  EXPECT_EQ(on_message(page, grant, kHome).actions, 0) << "it has nothing, so data must come";
  grant.data = true;
  EXPECT_EQ(on_message(page, grant, kHome).actions, action::take_data | action::reply);
  EXPECT_EQ(page.version, 6u);
}

// ---- read

TEST(Moesif, AReadOfAPageThatNobodyHasIsExclusive) {
  Job job;
  job.run(1, local_read);
  EXPECT_THAT(job.log, ElementsAre("ask_read 0", "load device", "loaded 0+", "grant_exclusive 1+", "done 0"));
  EXPECT_THAT(job.states(), ElementsAre(invalid, exclusive, invalid, invalid));
  EXPECT_EQ(job.directory.owner, 1);
}

TEST(Moesif, AReadFromExclusiveMakesItShared) {
  Job job;
  job.run(1, local_read);
  job.run(2, local_read);
  EXPECT_THAT(job.log, ElementsAre("ask_read 0", "forward_read 1", "grant_shared 2+", "done 0"));
  EXPECT_THAT(job.states(), ElementsAre(invalid, shared, shared, invalid));
  EXPECT_EQ(job.directory.owner, kNobody);
  EXPECT_THAT(job.directory.holders.nodes(), ElementsAre(1, 2));
}

TEST(Moesif, AReadFromModifiedMakesItOwned) {
  Job job;
  job.run(1, local_write);
  job.run(2, local_read);
  EXPECT_THAT(job.states(), ElementsAre(invalid, owned, shared, invalid));
  EXPECT_EQ(job.directory.owner, 1);
  job.run(3, local_read);  // from the top, which is not the owner
  EXPECT_THAT(job.log, ElementsAre("ask_read 0", "forward_read 2", "grant_shared 3+", "done 0"));
  EXPECT_THAT(job.states(), ElementsAre(invalid, owned, shared, shared));
  EXPECT_EQ(job.directory.owner, 1);
  EXPECT_THAT(job.directory.holders.nodes(), ElementsAre(2, 1, 3));
}

// ---- write

TEST(Moesif, AWriteOfAPageThatNobodyHasIsModified) {
  Job job;
  job.run(1, local_write);
  EXPECT_THAT(job.log, ElementsAre("ask_write 0", "load device", "loaded 0+", "grant_modified 1+", "done 0"));
  EXPECT_THAT(job.states(), ElementsAre(invalid, modified, invalid, invalid));
  EXPECT_EQ(job.directory.owner, 1);
}

// A forwarder that is not the owner may have dropped its copy, when the newest has gone already.
TEST(Moesif, AWriteInvalidatesAllOthersAndTheOwnerSends) {
  Job job;
  job.run(1, local_write);
  job.run(2, local_read);
  job.run(3, local_write);
  EXPECT_THAT(job.log, ElementsAre("ask_write 0", "invalidate 2", "done 0", "forward_write 1",
                                   "grant_modified 3+", "done 0"));
  EXPECT_THAT(job.states(), ElementsAre(invalid, invalid, invalid, modified));
  EXPECT_THAT(job.directory.holders.nodes(), ElementsAre(3));
}

TEST(Moesif, AWriteByWhoHasThePageMovesNoData) {
  Job job;
  job.run(1, local_write);
  job.run(2, local_read);
  job.run(2, local_write);
  EXPECT_THAT(job.log, ElementsAre("ask_write 0", "invalidate 1", "done 0", "grant_modified 2", "done 0"));
  EXPECT_THAT(job.states(), ElementsAre(invalid, invalid, modified, invalid));
}

TEST(Moesif, WhoIsAloneWritesWithoutAsking) {
  Job job;
  job.run(1, local_read);
  job.run(1, local_write);
  EXPECT_TRUE(job.log.empty());
  EXPECT_EQ(job.nodes[1].state, modified);
}

// ---- evict

TEST(Moesif, AnEvictionOfModifiedWritesTheDevice) {
  Job job;
  job.run(1, local_write);
  job.run(1, local_evict);
  EXPECT_THAT(job.log, ElementsAre("ask_evict 0", "leave 1", "done 0+", "store device+", "stored 0"));
  EXPECT_EQ(job.nodes[1].state, invalid);
  EXPECT_TRUE(job.directory.holders.empty());
  EXPECT_EQ(job.directory.owner, kNobody);
}

TEST(Moesif, AnEvictionOfOwnedLeavesCleanCopies) {
  Job job;
  job.run(1, local_write);
  job.run(2, local_read);
  job.run(1, local_evict);
  EXPECT_THAT(job.log, testing::Contains("store device+"));
  EXPECT_THAT(job.states(), ElementsAre(invalid, invalid, shared, invalid));
  EXPECT_EQ(job.directory.owner, kNobody);
}

TEST(Moesif, AnEvictionOfSharedOrExclusiveIsOnlyTold) {
  Job job;
  job.run(1, local_read);
  job.run(1, local_evict);
  EXPECT_THAT(job.log, ElementsAre("ask_evict 0", "leave 1", "done 0"));
  job.run(1, local_read);
  job.run(2, local_read);
  job.run(1, local_evict);
  EXPECT_THAT(job.log, ElementsAre("ask_evict 0", "leave 1", "done 0"));
  EXPECT_THAT(job.states(), ElementsAre(invalid, invalid, shared, invalid));
}

TEST(Moesif, WhoAskedToEvictStillAnswers) {
  Job job;
  job.run(1, local_write);
  job.ask(2, local_read);
  job.ask(1, local_evict);
  job.deliver();
  EXPECT_THAT(job.states(), ElementsAre(invalid, invalid, shared, invalid));
  EXPECT_THAT(job.log, testing::IsSupersetOf({"grant_shared 2+", "done 0+", "store device+"}));
}

TEST(Moesif, AnEvictionThatCrossedAWriteFindsNothing) {
  Job job;
  job.run(1, local_write);
  job.log.clear();
  job.ask(2, local_write);
  job.ask(1, local_evict);
  job.deliver();
  EXPECT_THAT(job.states(), ElementsAre(invalid, invalid, modified, invalid));
  EXPECT_THAT(job.log, testing::Not(testing::Contains("store device+")));
  EXPECT_THAT(job.log, testing::Contains("leave 1"));
}

// ---- drop

TEST(Moesif, ACleanCopyIsDroppedWithoutAsking) {
  Job job;
  job.run(1, local_read);
  job.run(1, local_drop);
  EXPECT_THAT(job.log, ElementsAre("dropped 0"));
  EXPECT_TRUE(job.directory.blank());
  EXPECT_EQ(job.directory.owner, kNobody);
  job.run(1, local_read);
  job.run(2, local_read);
  job.run(1, local_drop);
  EXPECT_THAT(job.states(), ElementsAre(invalid, invalid, shared, invalid));
  EXPECT_THAT(job.directory.holders.nodes(), ElementsAre(2));
}

// The home hears of a drop when it serves somebody else already.
TEST(Moesif, WhoIsToSendACopyThatItHasDroppedDeclines) {
  Job job;
  job.run(1, local_read);
  job.log.clear();
  job.ask(2, local_read);
  job.drop_meanwhile(1);
  EXPECT_THAT(job.log, ElementsAre("ask_read 0", "forward_read 1", "dropped 0", "absent 0", "load device",
                                   "loaded 0+", "grant_exclusive 2+", "done 0"));
  EXPECT_THAT(job.directory.holders.nodes(), ElementsAre(2));
  EXPECT_TRUE(job.directory.to_drop.empty());
}

TEST(Moesif, AnOperationThatComesBackIsExecutedByAnother) {
  Job job;
  job.run(1, local_read);
  job.run(2, local_read);
  job.log.clear();
  job.ask_home(3, ask_get);
  job.drop_meanwhile(2);
  EXPECT_THAT(job.log,
              ElementsAre("ask_get 0", "get 2", "dropped 0", "absent 0", "get 1", "result 3", "done 0"));
}

TEST(Moesif, AnInvalidationOfADroppedCopyIsConfirmed) {
  Job job;
  job.run(1, local_read);
  job.run(2, local_read);
  job.log.clear();
  job.ask(1, local_write);
  job.drop_meanwhile(2);
  EXPECT_THAT(job.log, ElementsAre("ask_write 0", "invalidate 2", "dropped 0", "done 0", "grant_modified 1",
                                   "done 0"));
  EXPECT_TRUE(job.directory.to_drop.empty());
}

// The request overtakes `dropped`.
TEST(Directory, ADropThatComesLateIsNotAboutACopyThatTheNodeHasGotSince) {
  Job job;
  job.run(1, local_read);
  Page& node = job.nodes[1];
  const Message drop = on_local(node, local_drop, 1, kHome).messages[0];
  job.run(1, local_read);
  EXPECT_THAT(job.log, ElementsAre("ask_read 0", "load device", "loaded 0+", "grant_exclusive 1+", "done 0"));
  EXPECT_THAT(job.directory.to_drop, ElementsAre(1));
  std::vector<Message> out;
  ASSERT_TRUE(serve(job.directory, drop, {kHome, true}, out));
  EXPECT_THAT(job.directory.holders.nodes(), ElementsAre(1));
  EXPECT_EQ(job.directory.owner, 1);
  EXPECT_TRUE(job.directory.to_drop.empty());
}

TEST(Directory, WhoDidNotActCannotDecline) {
  Job job;
  job.run(1, local_read);
  job.run(2, local_read);
  job.ask(3, local_read);
  job.deliver(1);
  std::vector<Message> out;
  Directory copy = job.directory;
  const auto version = copy.version;
  EXPECT_FALSE(serve(copy, {.kind = absent, .from = 1, .to = kHome, .version = version}, {kHome, true}, out));
  EXPECT_FALSE(
      serve(copy, {.kind = absent, .from = 2, .to = kHome, .version = version - 1}, {kHome, true}, out));
  EXPECT_TRUE(serve(copy, {.kind = absent, .from = 2, .to = kHome, .version = version}, {kHome, true}, out));
}

// ---- small operations

TEST(Moesif, ASmallOperationOnAPageThatNobodyHasIsExecutedAtHome) {
  Job job;
  job.run(2, ask_put);
  EXPECT_THAT(job.log, ElementsAre("ask_put 0", "load device", "loaded 0+", "put 0+", "result 2", "done 0"));
  EXPECT_EQ(job.nodes[0].state, modified);
  job.run(2, ask_get);
  EXPECT_THAT(job.log, ElementsAre("ask_get 0", "get 0", "result 2", "done 0"));
}

TEST(Moesif, ASmallOperationIsPassedOnToWhoHasThePageModified) {
  Job job;
  job.run(1, local_write);
  job.run(2, ask_put);
  EXPECT_THAT(job.log, ElementsAre("ask_put 0", "put 1", "result 2", "done 0"));
  job.run(3, local_read);
  job.run(2, ask_get);
  EXPECT_THAT(job.log, ElementsAre("ask_get 0", "get 1", "result 2", "done 0"));
  EXPECT_THAT(job.states(), ElementsAre(invalid, owned, invalid, shared));
}

// Not passed on to who got a copy last.
TEST(Moesif, ASmallOperationIsExecutedAtHomeIfThePageIsThere) {
  Job job;
  for (const NodeId node : {0, 1}) job.run(node, local_read);
  job.run(2, ask_get);
  EXPECT_THAT(job.log, ElementsAre("ask_get 0", "get 0", "result 2", "done 0"));
  job.run(2, ask_put);
  EXPECT_THAT(job.log, ElementsAre("ask_put 0", "invalidate 1", "done 0", "put 0", "result 2", "done 0"));
}

TEST(Moesif, APutInvalidatesSharersAndStaysWhereThePageIs) {
  Job job;
  for (const NodeId node : {1, 2}) job.run(node, local_read);
  job.run(3, ask_put);
  EXPECT_THAT(job.log, ElementsAre("ask_put 0", "invalidate 1", "done 0", "put 2", "result 3", "done 0"));
  EXPECT_THAT(job.states(), ElementsAre(invalid, invalid, modified, invalid));
  EXPECT_EQ(job.directory.owner, 2);
}

TEST(Moesif, APutMeetsARequestOfItsExecutor) {
  Job job;
  job.ask_home(1, ask_put);
  job.ask(0, local_read);
  job.deliver();
  EXPECT_EQ(job.nodes[0].state, modified) << "the home's node has got the page with the put, then the grant";
  EXPECT_EQ(job.directory.owner, 0);
}

TEST(Moesif, CleaningLeavesEverybodyHisCopy) {
  Job job;
  job.run(1, local_write);
  job.run(2, local_read);
  job.run(0, ask_clean);
  EXPECT_THAT(job.log, ElementsAre("ask_clean 0", "recall_read 1", "done 0+", "store device+", "stored 0",
                                   "result 0"));
  EXPECT_THAT(job.states(), ElementsAre(invalid, shared, shared, invalid));
  job.run(0, ask_clean);
  EXPECT_THAT(job.log, ElementsAre("ask_clean 0", "result 0"));
}

// ---- not cooperative

TEST(Moesif, WithoutCooperationDataComeFromTheHomeOnly) {
  Job job(false);
  job.run(1, local_write);
  job.run(2, local_read);
  EXPECT_THAT(job.log, ElementsAre("ask_read 0", "recall_read 1", "done 0+", "store device+", "stored 0",
                                   "load device", "loaded 0+", "grant_shared 2+", "done 0"));
  EXPECT_THAT(job.states(), ElementsAre(invalid, shared, shared, invalid));
  job.run(3, local_write);
  EXPECT_THAT(job.log, ElementsAre("ask_write 0", "invalidate 1", "invalidate 2", "done 0", "done 0",
                                   "load device", "loaded 0+", "grant_modified 3+", "done 0"));
  job.run(1, ask_put);
  EXPECT_THAT(job.log, ElementsAre("ask_put 0", "recall_write 3", "done 0+", "store device+", "stored 0",
                                   "load device", "loaded 0+", "put 0+", "result 1", "done 0"));
}

TEST(Moesif, WithoutCooperationTheHomeGivesItsCopy) {
  Job job(false);
  job.run(0, local_write);
  job.run(1, local_read);
  EXPECT_THAT(job.log, ElementsAre("ask_read 0", "forward_read 0", "grant_shared 1+", "done 0"));
  EXPECT_THAT(job.states(), ElementsAre(owned, shared, invalid, invalid));
  job.run(2, local_read);
  EXPECT_THAT(job.log, ElementsAre("ask_read 0", "forward_read 0", "grant_shared 2+", "done 0"));
}

TEST(Moesif, WithoutCooperationAGetIsExecutedAtHomeOnTheNewestData) {
  Job job(false);
  job.run(1, local_write);
  job.run(2, ask_get);
  EXPECT_THAT(job.log, ElementsAre("ask_get 0", "recall_read 1", "done 0+", "store device+", "stored 0",
                                   "load device", "loaded 0+", "get 0+", "result 2", "done 0"));
  EXPECT_THAT(job.states(), ElementsAre(shared, shared, invalid, invalid));
}

// ---- the home

TEST(Directory, RequestsAreServedOneAfterTheOther) {
  Job job;
  for (const NodeId node : {1, 2, 3}) job.ask(node, local_write);
  job.deliver(3);
  EXPECT_TRUE(job.directory.busy());
  EXPECT_EQ(job.directory.waiting.size(), 2u);
  job.deliver();
  EXPECT_THAT(job.states(), ElementsAre(invalid, invalid, invalid, modified));
  EXPECT_EQ(job.directory.version, 3u);
}

TEST(Directory, AnAnswerThatIsNotExpectedIsRecognised) {
  Job job;
  job.ask(1, local_read);
  job.deliver(1);
  std::vector<Message> out;
  const Home home = {kHome, true};
  const auto accepted = [&](Event kind, NodeId from, std::uint64_t version) {
    Directory copy = job.directory;
    return serve(copy, {.kind = kind, .from = from, .to = kHome, .version = version}, home, out);
  };
  EXPECT_TRUE(accepted(loaded, kDevice, 1));
  EXPECT_FALSE(accepted(loaded, kDevice, 0)) << "late";
  EXPECT_FALSE(accepted(stored, kDevice, 1)) << "not asked for";
  EXPECT_FALSE(accepted(failed, kDevice, 1)) << "of what is needed the device must have it";
  EXPECT_FALSE(accepted(done, kDevice, 1)) << "devices say something else";
  EXPECT_FALSE(accepted(done, 2, 1)) << "from somebody else";
  job.deliver();
  EXPECT_FALSE(accepted(done, 1, 1)) << "again";
}

}  // namespace
}  // namespace shm::nvm
