// SPDX-License-Identifier: BSD-3-Clause
#include "policy.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

namespace oshrun {
namespace {

// Wait statuses as Linux encodes them.
constexpr int code(int exit_code) { return exit_code << 8; }
constexpr int killed(int signal) { return signal; }

void expect_verdict(Policy& policy, int pe, int exit_code, const std::string& part) {
  const std::optional<Verdict> verdict = policy.judge();
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->rank, pe);
  EXPECT_EQ(verdict->exit_code, exit_code);
  EXPECT_NE(verdict->what.find(part), std::string::npos) << verdict->what;
  if (part.empty()) {
    EXPECT_EQ(verdict->what, "");
  }
  EXPECT_FALSE(policy.judge()) << "a job has one verdict";
}

TEST(Policy, GoodJobs) {
  Policy plain({2});
  plain.exited(0, code(0));
  plain.exited(1, code(0));
  EXPECT_FALSE(plain.judge());
  EXPECT_EQ(plain.pes_alive(), 0);

  Policy shmem({2});
  for (int pe : {0, 1}) shmem.connected(pe);
  for (int pe : {0, 1}) shmem.finalized(pe);
  EXPECT_EQ(shmem.stage(0), Stage::kFinalized);
  for (int pe : {0, 1}) shmem.exited(pe, code(0));
  EXPECT_FALSE(shmem.judge());
}

TEST(Policy, ExitCodesAndSignals) {
  Policy a({2});
  a.exited(1, code(3));
  expect_verdict(a, 1, 3, "exited with code 3");
  Policy b({2});
  b.exited(0, killed(SIGSEGV));
  expect_verdict(b, 0, 139, "signal 11 (SIGSEGV, Segmentation fault)");
  Policy c({2});
  c.exited(1, killed(SIGKILL));
  EXPECT_EQ(c.judge()->signal, SIGKILL);
}

TEST(Policy, SaysWhetherThereIsACore) {
  const std::string killed_by = "was killed by signal 11 (SIGSEGV, Segmentation fault)";
  Policy without({1}), with({1});
  without.exited(0, killed(SIGSEGV));
  EXPECT_EQ(without.judge()->what, killed_by);
  with.exited(0, killed(SIGSEGV) | WCOREFLAG);
  EXPECT_EQ(with.judge()->what, killed_by + ", core dumped");
}

TEST(DescribeSignal, NamesThoseThatHaveNames) {
  EXPECT_EQ(describe_signal(SIGINT), "signal 2 (SIGINT, Interrupt)");
  EXPECT_EQ(describe_signal(SIGRTMAX - 1), "signal " + std::to_string(SIGRTMAX - 1));
}

TEST(Policy, AnExitCodeCountsAfterFinalizeToo) {
  Policy policy({2});
  policy.connected(0);
  policy.finalized(0);
  policy.exited(0, code(9));
  expect_verdict(policy, 0, 9, "code 9");
}

TEST(Policy, Aborts) {
  Policy loud({2});
  loud.aborted(1, 4, "why");
  expect_verdict(loud, 1, 4, "code 4: why");
  for (const char* message : {"", "quiet:", "quiet: shmem_global_exit"}) {
    Policy quiet({2});
    quiet.aborted(1, 4, message);
    expect_verdict(quiet, 1, 4, "");
  }
  Policy zero({2});
  zero.aborted(0, 0, "");
  expect_verdict(zero, 0, 0, "");
  Policy wide({2});
  wide.aborted(0, 512, "");
  expect_verdict(wide, 0, 1, "");
  Policy negative({2});
  negative.aborted(0, -1, "");
  expect_verdict(negative, 0, 255, "");
}

// A connection breaks before the process that had it can be reaped.
TEST(Policy, ASuspicionWaitsForWhatExplainsIt) {
  Policy policy({3});
  EXPECT_FALSE(policy.suspects());
  policy.aborted(2, 1, "suspicion: atoll: PE 2: put to PE 1 failed\n");
  EXPECT_TRUE(policy.suspects());
  EXPECT_FALSE(policy.judge());
  policy.exited(1, code(3));
  EXPECT_FALSE(policy.suspects());
  expect_verdict(policy, 1, 3, "code 3");
}

TEST(Policy, ASuspicionThatNothingExplainsIsSaid) {
  Policy late({3});
  late.aborted(2, 1, "suspicion: atoll: PE 2: put to PE 1 failed\n");
  late.aborted(0, 1, "suspicion: atoll: PE 0: the second\n");
  late.trust_suspicion();
  std::optional<Verdict> verdict = late.judge();
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->rank, 2);
  EXPECT_EQ(verdict->exit_code, 1);
  EXPECT_EQ(verdict->line, "atoll: PE 2: put to PE 1 failed");

  Policy gone({1});
  gone.aborted(0, 1, "suspicion: atoll: PE 0: alone\n");
  gone.exited(0, code(1));
  verdict = gone.judge();
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->line, "atoll: PE 0: alone");
}

// All have gone before anybody asks.
TEST(Policy, ASuspicionThatIsExplainedIsNeverSaid) {
  Policy policy({3});
  policy.aborted(2, 1, "suspicion: atoll: PE 2: put to PE 1 failed\n");
  policy.exited(2, code(1));
  policy.exited(1, code(3));
  policy.exited(0, killed(SIGTERM));
  policy.trust_suspicion();
  expect_verdict(policy, 0, 143, "SIGTERM");
}

TEST(Policy, TheExitAfterAnAbortAddsNothing) {
  Policy policy({2});
  policy.connected(0);
  policy.aborted(0, 0, "");
  policy.exited(0, killed(SIGABRT));
  expect_verdict(policy, 0, 0, "");
}

TEST(Policy, OfCausesThatArriveTogetherTheDeepestCounts) {
  Policy a({3});
  a.aborted(2, 1, "lost PE 0");  // it saw what happened to PE 0
  a.exited(1, code(5));
  a.exited(0, killed(SIGBUS));
  expect_verdict(a, 0, 135, "SIGBUS");
  Policy b({3});
  b.exited(1, code(5));
  b.aborted(2, 7, "first");
  expect_verdict(b, 2, 7, "first");
  Policy c({3});
  c.exited(2, code(6));
  c.exited(1, code(5));
  expect_verdict(c, 2, 6, "code 6");
  Policy d({3});  // it left as PE 2 had failed
  for (int pe : {0, 1, 2}) d.connected(pe);
  d.exited(1, code(0));
  d.exited(2, code(5));
  expect_verdict(d, 2, 5, "code 5");
}

TEST(Policy, ALaterCauseChangesNothing) {
  Policy policy({2});
  policy.exited(0, code(3));
  expect_verdict(policy, 0, 3, "code 3");
  policy.exited(1, killed(SIGTERM));
  EXPECT_FALSE(policy.judge());
}

TEST(Policy, MissingFinalize) {
  Policy policy({2});
  policy.connected(0);
  policy.connected(1);
  policy.exited(1, code(0));
  expect_verdict(policy, 1, 1, "shmem_finalize");
  Policy alone({1});
  alone.connected(0);
  alone.exited(0, code(0));
  EXPECT_FALSE(alone.judge());
}

TEST(Policy, MissingInitInEitherOrder) {
  Policy before({3});
  before.exited(1, code(0));
  EXPECT_FALSE(before.judge());
  before.connected(2);
  expect_verdict(before, 1, 1, "shmem_init");
  Policy after({3});
  after.connected(2);
  EXPECT_FALSE(after.judge());
  after.exited(1, code(0));
  expect_verdict(after, 1, 1, "shmem_init");
}

TEST(Policy, OfThoseThatNeverCameTheFirstToLeaveIsNamed) {
  Policy policy({4});
  for (int pe : {2, 1, 3}) policy.exited(pe, code(0));
  policy.connected(0);
  expect_verdict(policy, 2, 1, "shmem_init");
}

TEST(Policy, AProgramAfterAnother) {
  Policy policy({2});
  for (int round = 0; round < 2; ++round) {
    for (int pe : {0, 1}) policy.connected(pe);
    for (int pe : {0, 1}) policy.finalized(pe);
  }
  policy.exited(0, code(0));
  policy.exited(1, code(0));
  EXPECT_FALSE(policy.judge());
}

/// Every state and every event: the next state, and nothing that comes after the exit changes it.
TEST(Policy, StateTable) {
  enum Event { kConnect, kFinalize, kExit };
  const Stage next[][3] = {
      // connect             finalize             exit
      {Stage::kConnected, Stage::kFinalized, Stage::kExited},  // started
      {Stage::kConnected, Stage::kFinalized, Stage::kExited},  // connected
      {Stage::kConnected, Stage::kFinalized, Stage::kExited},  // finalized
      {Stage::kExited, Stage::kExited, Stage::kExited},        // exited
  };
  for (Stage from : {Stage::kStarted, Stage::kConnected, Stage::kFinalized, Stage::kExited}) {
    for (Event event : {kConnect, kFinalize, kExit}) {
      Policy policy({2});
      if (from == Stage::kConnected) policy.connected(0);
      if (from == Stage::kFinalized) policy.finalized(0);
      if (from == Stage::kExited) policy.exited(0, code(0));
      ASSERT_EQ(policy.stage(0), from);
      if (event == kConnect) policy.connected(0);
      if (event == kFinalize) policy.finalized(0);
      if (event == kExit) policy.exited(0, code(0));
      EXPECT_EQ(policy.stage(0), next[static_cast<int>(from)][event]);
      EXPECT_EQ(policy.pes_alive(), policy.stage(0) == Stage::kExited ? 1 : 2);
    }
  }
}

// Ranks of a job of 2 PEs and 2 memory servers.
constexpr int kServer = 2;
constexpr int kOther = 3;

/// All have joined.
Policy with_servers() {
  Policy policy({2, 2});
  for (int rank = 0; rank < 4; ++rank) policy.connected(rank);
  return policy;
}

void pes_end_in_order(Policy& policy) {
  for (int pe : {0, 1}) policy.finalized(pe);
  for (int pe : {0, 1}) policy.exited(pe, code(0));
}

TEST(PolicyOfServers, TheyEndWithTheJob) {
  Policy policy = with_servers();
  EXPECT_EQ(policy.servers_alive(), 2);
  policy.finalized(kServer);
  policy.exited(kServer, code(0));  // PE 0 may compute on after shmem_finalize
  EXPECT_FALSE(policy.judge());
  pes_end_in_order(policy);
  EXPECT_EQ(policy.pes_alive(), 0);
  EXPECT_EQ(policy.servers_alive(), 1);
  policy.finalized(kOther);
  policy.exited(kOther, code(0));
  EXPECT_EQ(policy.servers_alive(), 0);
  EXPECT_FALSE(policy.judge());
}

TEST(PolicyOfServers, OneThatDiesEndsTheJob) {
  Policy killed_one = with_servers();
  killed_one.exited(kOther, killed(SIGKILL));
  expect_verdict(killed_one, kOther, 137, "was killed by signal 9 (SIGKILL, Killed)");
  Policy failed = with_servers();
  failed.exited(kServer, code(3));
  expect_verdict(failed, kServer, 3, "exited with code 3");
  Policy before_it_joined({2, 2});
  before_it_joined.exited(kServer, code(127));
  expect_verdict(before_it_joined, kServer, 127, "exited with code 127");
  Policy aborted = with_servers();
  aborted.aborted(kServer, 1, "quiet: it has said why");
  expect_verdict(aborted, kServer, 1, "");
}

TEST(PolicyOfServers, OneThatLeavesThePesEndsTheJob) {
  for (const bool joined : {true, false}) {
    Policy policy({2, 2});
    if (joined) policy.connected(kServer);
    policy.exited(kServer, code(0));
    expect_verdict(policy, kServer, 1, "while PEs still run");
  }
}

TEST(PolicyOfServers, TheirDeathExplainsWhatPesSay) {
  Policy policy = with_servers();
  for (int pe : {0, 1}) policy.aborted(pe, 1, "suspicion: atoll: PE: lost memory server 1\n");
  for (int pe : {0, 1}) policy.exited(pe, code(1));
  EXPECT_TRUE(policy.suspects()) << "no PE is left, and the reason not known yet";
  policy.exited(kOther, killed(SIGKILL));
  expect_verdict(policy, kOther, 137, "SIGKILL");
}

TEST(PolicyOfServers, WhatPesSuspectIsKeptWhenNoPeIsLeft) {
  Policy policy({1, 1});
  policy.connected(0);
  policy.aborted(1, 1, "suspicion: atoll: memory server 0: lost PE 0\n");
  policy.aborted(0, 1, "suspicion: atoll: PE 0: lost memory server 0\n");
  policy.exited(0, code(1));
  EXPECT_TRUE(policy.suspects());
  policy.exited(1, code(1));
  const std::optional<Verdict> verdict = policy.judge();
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->line, "atoll: PE 0: lost memory server 0");
}

TEST(PolicyOfServers, ThatTheLastPeHasGoneIsNoSuspicion) {
  Policy policy({1, 1});
  for (int rank : {0, 1}) policy.connected(rank);
  policy.aborted(1, 1, "suspicion: atoll: memory server 0: lost PE 0\n");
  EXPECT_TRUE(policy.suspects());
  policy.exited(0, code(0));
  EXPECT_FALSE(policy.suspects());
  policy.trust_suspicion();
  policy.exited(1, code(1));
  EXPECT_FALSE(policy.judge());
}

TEST(PolicyOfServers, WithoutPesOnlyTheirDeathCounts) {
  Policy good = with_servers();
  pes_end_in_order(good);
  good.aborted(kServer, 1, "lost the PEs");
  good.exited(kServer, code(1));
  good.exited(kOther, code(1));
  EXPECT_FALSE(good.judge());
  Policy bad = with_servers();
  pes_end_in_order(bad);
  bad.exited(kServer, killed(SIGSEGV));
  expect_verdict(bad, kServer, 139, "SIGSEGV");
}

TEST(PolicyOfServers, HowTheyEndIsNoMatterOnceTheLauncherEndsThem) {
  Policy policy = with_servers();
  pes_end_in_order(policy);
  policy.let_servers_go();
  policy.exited(kServer, killed(SIGTERM));
  policy.exited(kOther, killed(SIGKILL));
  EXPECT_FALSE(policy.judge());
}

TEST(PolicyOfServers, TheyAreNoPesThatOthersWaitFor) {
  // A job of one PE, that need not finalize, and of programs that do not join at all.
  Policy one({1, 1});
  for (int rank : {0, 1}) one.connected(rank);
  one.exited(0, code(0));
  EXPECT_FALSE(one.judge());
  Policy plain({2, 1});
  plain.connected(2);
  plain.exited(0, code(0));
  plain.exited(1, code(0));
  EXPECT_FALSE(plain.judge());
}

}  // namespace
}  // namespace oshrun
