// SPDX-License-Identifier: BSD-3-Clause
#include "pages/local_pages.hpp"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "memory_backing.hpp"
#include "pool_fixture.hpp"

namespace shm::pages {
namespace {

constexpr std::size_t kLocalPages = 64, kLocalFrames = 8;

class LocalPagesTest : public ::testing::Test {
 protected:
  static LocalPages::Settings settings() {
    LocalPages::Settings settings;
    settings.page_bytes = kPageBytes;
    settings.frames = kLocalFrames;
    settings.bytes = kLocalPages * kPageBytes;
    return settings;
  }
  std::unique_ptr<LocalPages> make(const LocalPages::Settings& settings) {
    Result<std::unique_ptr<LocalPages>> made = LocalPages::create(backing, settings);
    EXPECT_TRUE(made.ok()) << made.status().text();
    return std::move(made.value());
  }

  volatile std::uint64_t& word(PageNumber page, std::size_t i = 0) const {
    return reinterpret_cast<volatile std::uint64_t*>(pages->base() + page * kPageBytes)[i];
  }
  /// Stores to so many pages, the first ones.
  void fill(PageNumber count, std::uint64_t add = 100) const {
    for (PageNumber page = 0; page < count; ++page) {
      word(page) = page + add;
      word(page, 511) = page + add;
    }
  }
  const LocalStatistics& counted() const { return pages->statistics(); }

  MemoryBacking backing{kPageBytes, kLocalPages, seed_of_run()};
  std::unique_ptr<LocalPages> pages = make(settings());
};

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

TEST_F(LocalPagesTest, AForkedChildHasNone) {
  fill(3);
  const pid_t child = fork();
  if (child == 0) {
    const std::uint64_t seen = word(1);
    _exit(seen == 101 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_FALSE(WIFEXITED(status)) << "it could load";
  EXPECT_EQ(word(1), 101U);
}

TEST_F(LocalPagesTest, ManyThreads) {
  constexpr unsigned kThreads = 16;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t) {
    threads.emplace_back([this, t] {
      std::mt19937 dice(t);
      std::uint64_t mine[kLocalPages] = {};
      for (int i = 0; i < 2000; ++i) {
        const PageNumber page = dice() % kLocalPages;
        ASSERT_EQ(word(page, t), mine[page]);
        if (dice() % 2 == 0) continue;
        mine[page] = dice();
        word(page, t) = mine[page];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(backing.most_reads, 2U);
}

}  // namespace
}  // namespace shm::pages
