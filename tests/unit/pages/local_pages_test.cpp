// SPDX-License-Identifier: BSD-3-Clause
#include "pages/local_pages.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "local_pages_fixture.hpp"

namespace shm::pages {
namespace {

class LocalPagesTest : public LocalPagesFixture {};

TEST_F(LocalPagesTest, BeginsAsZerosThatAreMovedNowhere) {
  for (PageNumber page = 0; page < kLocalPages; ++page) EXPECT_EQ(word(page, 3), 0U);
  EXPECT_EQ(counted().faults, kLocalPages);
  EXPECT_EQ(counted().zeroed, kLocalPages);
  EXPECT_EQ(counted().dropped, kLocalPages - kLocalFrames);
  EXPECT_EQ(backing.reads, 0U);
  EXPECT_EQ(backing.writes, 0U);
}

TEST_F(LocalPagesTest, WhatWasStoredComesBack) {
  fill(kLocalPages);
  for (int round = 0; round < 3; ++round) {
    for (PageNumber page = 0; page < kLocalPages; ++page) {
      ASSERT_EQ(word(page), page + 100);
      ASSERT_EQ(word(page, 511), page + 100);
      ASSERT_EQ(word(page, 5), 0U);
    }
  }
  EXPECT_EQ(counted().zeroed, kLocalPages);
}

TEST_F(LocalPagesTest, ACleanPageLeavesWithoutBeingWritten) {
  fill(kLocalPages);
  pages->quiesce();
  EXPECT_EQ(backing.writes, kLocalPages) << "each once";
  const std::uint64_t dropped = counted().dropped;
  for (PageNumber page = 0; page < kLocalPages; ++page) ASSERT_EQ(word(page), page + 100);
  EXPECT_EQ(backing.writes, kLocalPages);
  EXPECT_EQ(counted().writes, kLocalPages);
  EXPECT_EQ(counted().bytes_out, kLocalPages * kPageBytes);
  EXPECT_EQ(counted().dropped - dropped, backing.reads);
}

TEST_F(LocalPagesTest, AStoreBehindALoadMakesThePageDirtyAgain) {
  fill(4);
  pages->quiesce();
  EXPECT_EQ(backing.word(2), 102U);
  EXPECT_EQ(word(2), 102U);
  word(2) = 7;
  EXPECT_EQ(word(2), 7U);
  pages->quiesce();
  EXPECT_EQ(backing.word(2), 7U);
  EXPECT_EQ(backing.writes, 5U);
  EXPECT_EQ(counted().faults, 5U) << "a load of what is clean is none";
}

TEST_F(LocalPagesTest, RefusesWhatCannotBe) {
  const auto text = [this](auto change) {
    LocalPages::Settings wrong = settings();
    change(wrong);
    return LocalPages::create(backing, wrong).status().text();
  };
  EXPECT_NE(text([](auto& wrong) { wrong.page_bytes = 12288; }).find("powers of two from 4096"),
            std::string::npos);
  EXPECT_NE(text([](auto& wrong) { wrong.page_bytes = 2048; }).find("powers of two from 4096"),
            std::string::npos);
  EXPECT_NE(text([](auto& wrong) { wrong.bytes -= 1; }).find("multiples of the page"), std::string::npos);
  EXPECT_NE(text([](auto& wrong) { wrong.frames = 1 << 30; }).find("vm.max_map_count"), std::string::npos);
  EXPECT_NE(text([](auto& wrong) { wrong.frames = 3; }).find("allowed are 4 to"), std::string::npos);
}

TEST_F(LocalPagesTest, InAForkedChildFaultsAreTheHandlersBefore) {
  pages.reset();
  struct sigaction action {}, before {};
  action.sa_handler = [](int) { _exit(77); };
  sigaction(SIGSEGV, &action, &before);
  pages = make(settings());
  fill(3);
  const pid_t child = fork();
  if (child == 0) _exit(word(1) == 101 ? 0 : 1);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 77) << status;
  EXPECT_EQ(word(1), 101U);
  pages.reset();
  sigaction(SIGSEGV, &before, nullptr);
}

// What a thread waits for is not announced to it where it polls itself; here it sleeps, as another one polls.
TEST_F(LocalPagesTest, ThreadsThatNeedTheSamePageReadItOnce) {
  fill(kLocalPages);
  pages->quiesce();
  backing.holds = true;
  std::atomic<int> seen{0};
  std::vector<std::thread> threads;
  const std::uint64_t reads = backing.reads;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&] { seen += word(1) == 101 ? 1 : 100; });
  }
  await("all to wait", [&] { return counted().faults >= kLocalPages + 6; });
  backing.holds = false;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(seen, 6);
  EXPECT_EQ(backing.reads - reads, 1U);
}

TEST_F(LocalPagesTest, SoManyReadAtATimeAndTheOthersWait) {
  fill(kLocalPages);
  pages->quiesce();
  backing.holds = true;
  std::vector<std::thread> threads;
  for (PageNumber page = 0; page < 5; ++page) {
    threads.emplace_back([this, page] { EXPECT_EQ(word(page), 100 + page); });
  }
  await("two reads", [&] { return counted().reads == 2U; });
  for (int i = 0; i < 1000; ++i) sched_yield();
  EXPECT_EQ(counted().reads, 2U);
  backing.holds = false;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counted().reads, 5U);
  EXPECT_EQ(backing.most_reads, 2U);
  EXPECT_EQ(counted().slot_waits, 3U);
}

TEST_F(LocalPagesTest, WhoeverWaitsTellsOfIt) {
  fill(kLocalPages);
  pages->quiesce();
  backing.holds = true;
  std::thread thread([this] { EXPECT_EQ(word(0), 100U); });
  await("a look", [&] { return backing.looks > 0; });
  backing.holds = false;
  thread.join();
}

}  // namespace
}  // namespace shm::pages
