// SPDX-License-Identifier: BSD-3-Clause
#include "wait_summary.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace oshrun {
namespace {

using State = PeWaits::State;

shm::WaitRecord wait(const char* call, int for_pe, double seconds = 2) {
  shm::WaitRecord record;
  record.for_pe = for_pe;
  record.program = for_pe >= 0;
  record.seconds = seconds;
  snprintf(record.call, sizeof record.call, "%s", call);
  snprintf(record.what, sizeof record.what, for_pe < 0 ? "until x" : "for PE %d", for_pe);
  return record;
}

PeWaits waiting(const char* call, int for_pe, double seconds = 2) {
  return {State::kPresent, false, {wait(call, for_pe, seconds)}};
}

const PeWaits computing{State::kPresent, false, {}};

using Lines = std::vector<std::string>;

TEST(Summary, GroupsThoseThatWaitForTheSame) {
  EXPECT_EQ(summarize({waiting("barrier", 2), waiting("barrier", 2), computing}, 0),
            (Lines{"PE 0, 1: barrier waits for PE 2 (2.0 s)",
                   "PE 0, 1 wait in barrier for PE 2; PE 2 is computing (in no waiting call)"}));
}

TEST(Summary, TellsTheLongestWaitOfAGroup) {
  const Lines lines =
      summarize({waiting("barrier", 2, 3), waiting("barrier", 2, 7), waiting("barrier", 2, 5)}, 0);
  EXPECT_EQ(lines.front(), "PE 0-2: barrier waits for PE 2 (7.0 s)");
}

TEST(Summary, NamesAPeOnceHoweverManyOfItsThreadsWait) {
  PeWaits two = waiting("barrier", 1);
  two.waits.push_back(wait("barrier", 1));
  EXPECT_EQ(summarize({two, computing}, 0),
            (Lines{"PE 0: barrier waits for PE 1 (2.0 s)",
                   "PE 0 waits in barrier for PE 1; PE 1 is computing (in no waiting call)"}));
}

TEST(Summary, FollowsATreeToItsLast) {
  const Lines lines =
      summarize({waiting("barrier", 1), waiting("barrier", 3), waiting("barrier", 0), computing}, 0);
  EXPECT_EQ(lines.back(), "PE 0-2 wait in barrier for PE 3; PE 3 is computing (in no waiting call)");
}

TEST(Summary, ARankBehindThePesIsAMemoryServer) {
  const Lines lines = summarize({waiting("fault", 3), waiting("fault", 3), computing}, 0);
  EXPECT_EQ(lines.back(),
            "PE 0, 1 wait in fault for memory server 0; PE 2 is computing (in no waiting call)");
}

TEST(Summary, DoesNotFollowIntoOtherCalls) {
  const Lines lines = summarize({waiting("barrier", 1), waiting("lock", 2), computing}, 0);
  EXPECT_EQ(
      lines.back(),
      "PE 0 waits in barrier for PE 1; PE 1 waits in lock for PE 2; PE 2 is computing (in no waiting call)");
}

TEST(Summary, NamesCirclesOnce) {
  const Lines lines = summarize({waiting("sync", 2), waiting("lock", 2), waiting("lock", 1)}, 0);
  EXPECT_EQ(
      std::count_if(lines.begin(), lines.end(), [](const auto& l) { return l.starts_with("a deadlock"); }),
      1);
  EXPECT_EQ(lines[3], "a deadlock: PE 2 in lock waits for PE 1 in lock waits for PE 2");
}

TEST(Summary, SaysWhatACircleOfCollectivesMeans) {
  PeWaits one = waiting("barrier", 1), two = waiting("broadcast", 0);
  for (PeWaits* pe : {&one, &two}) std::strcpy(pe->waits.front().what, "for a PE, which has not come as far");
  const std::string circle = "a deadlock: PE 0 in barrier waits for PE 1 in broadcast waits for PE 0";
  EXPECT_EQ(summarize({one, two}, 0)[2],
            circle + ": they may have called different collective operations, or in different orders");
  one.waits.front().group = 0;
  two.waits.front().group = 2;
  EXPECT_EQ(summarize({one, two}, 0)[2],
            circle + ": they have called different collective operations, or in different orders");
  PeWaits same = waiting("barrier", 0);
  same.waits.front() = {one.waits.front()};
  same.waits.front().for_pe = 0;
  EXPECT_EQ(
      summarize({one, same}, 0)[1],
      "maybe a deadlock: PE 0 in barrier waits for PE 1 in barrier waits for PE 0: they are in the same call "
      "of the same team: their arguments differ, a message was lost, or it is still under way");
  one.waits.front().calls = 4;
  same.waits.front().calls = 3;
  EXPECT_EQ(summarize({one, same}, 0)[1],
            "a deadlock: PE 0 in barrier waits for PE 1 in barrier waits for PE 0: some have made more "
            "collective calls of this team than others: PE 0 has made 4, PE 1 has made 3");
  std::strcpy(two.waits.front().what, "for the lock");
  EXPECT_EQ(summarize({one, two}, 0)[2],
            "a deadlock: PE 0 in barrier waits for PE 1 in broadcast waits for PE 0");
}

TEST(Summary, AMomentaryCircleIsNoDeadlock) {
  PeWaits one = waiting("barrier", 1), two = waiting("barrier", 0);
  one.waits.front().seconds = 0.1;
  for (const std::string& line : summarize({one, two}, 0)) EXPECT_FALSE(line.starts_with("a deadlock"));
}

// Each serves the other while it waits: much data, and no deadlock.
TEST(Summary, WhoWaitsForAnothersMemoryIsInNoCircle) {
  PeWaits one = waiting("quiet", 1, 20), two = waiting("sync", 0, 20);
  one.waits.front().program = 0;
  for (const auto& pes : {std::vector{one, two}, {one, waiting("get", 0, 20)}})
    for (const std::string& line : summarize(pes, 0)) EXPECT_EQ(line.find("deadlock"), line.npos) << line;
}

TEST(Summary, WhoWaitsForItselfIsInNoCircle) {
  EXPECT_EQ(summarize({waiting("get", 0)}, 0),
            (Lines{"PE 0: get waits for PE 0 (2.0 s)", "PE 0 waits in get for PE 0"}));
}

TEST(Summary, SaysWhatPesDoThatDoNotWait) {
  EXPECT_EQ(nobody_waits({computing, computing}),
            "no PE waits in a call of the library; PE 0, 1 are computing (in no waiting call)");
}

TEST(Summary, SeesNoCircleWhereAnotherThreadMayAct) {
  PeWaits two = waiting("lock", 0);
  two.waits.push_back(wait("wait_until", shm::WaitRecord::kNobody));
  for (const std::string& line : summarize({waiting("lock", 1), two}, 0))
    EXPECT_FALSE(line.starts_with("a deadlock"));
}

TEST(Summary, LeavesOutShortWaits) {
  EXPECT_EQ(summarize({waiting("get", 1, 0.01), computing}, 1), Lines{});
  EXPECT_EQ(summarize({computing, computing}, 0), Lines{});
  EXPECT_EQ(summarize({waiting("get", 1, 0.01), waiting("wait", -1, 3)}, 1).size(), 2U);
}

TEST(Summary, TellsOfPesThatDoNotWait) {
  std::vector<PeWaits> pes{
      waiting("wait_until", -1), {State::kEnded, true, {}}, {State::kFinalized, false, {}}, {}};
  const std::string line = summarize(pes, 0).back();
  EXPECT_NE(line.find("PE 1 is ended"), line.npos) << line;
  EXPECT_NE(line.find("PE 2 is not between"), line.npos) << line;
  EXPECT_NE(line.find("PE 3 is silent"), line.npos) << line;
  EXPECT_NE(line.find("PE 1 returned from main without"), line.npos) << line;
}

TEST(Summary, BoundsItsLength) {
  std::vector<PeWaits> pes;
  for (int pe = 0; pe < 500; ++pe) pes.push_back(waiting(("call" + std::to_string(pe)).c_str(), -1));
  const Lines lines = summarize(pes, 0);
  ASSERT_EQ(lines.size(), 42U);
  EXPECT_EQ(lines[39].rfind("PE 39: call39 waits", 0), 0U) << lines[39];
  EXPECT_EQ(lines[40], "... and 460 more");
}

TEST(Summary, TakesPesThatDoNotExist) {
  EXPECT_EQ(summarize({waiting("get", 77), waiting("get", -5)}, 0).size(), 3U);
}

TEST(AllWait, NeedsEveryLivingPe) {
  const PeWaits ended{State::kEnded, false, {}};
  PeWaits two = waiting("lock", 0, 3);
  two.waits.push_back(wait("wait_until", -1, 7));
  EXPECT_EQ(all_have_waited({waiting("a", 1, 5), ended}), 5);
  EXPECT_EQ(all_have_waited({waiting("a", 1, 5), two, ended}), 3);
  EXPECT_EQ(all_have_waited({waiting("a", 1, 5), computing}), 0);
  EXPECT_EQ(all_have_waited({waiting("a", 1, 5), {State::kFinalized, false, {}}}), 0);
  EXPECT_EQ(all_have_waited({ended}), 0);
}

}  // namespace
}  // namespace oshrun
