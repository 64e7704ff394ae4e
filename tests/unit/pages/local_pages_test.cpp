// SPDX-License-Identifier: BSD-3-Clause
#include "pages/local_pages.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <fstream>
#include <random>
#include <thread>
#include <utility>

#include "base/huge_pages.hpp"
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
  std::size_t mappings = 0;
  std::ifstream("/proc/sys/vm/max_map_count") >> mappings;
  EXPECT_NE(text([mappings](auto& wrong) { wrong.frames = mappings / 2; }).find("vm.max_map_count"),
            std::string::npos);
  EXPECT_NE(text([](auto& wrong) { wrong.frames = 3; }).find("allowed are 4 to"), std::string::npos);
}

TEST_F(LocalPagesTest, InAForkedChildFaultsAreTheHandlersBefore) {
  with_handler_before([this] {
    fill(3);
    load_in_child([this] { return word(1) == 101; });
    EXPECT_EQ(word(1), 101U);
  });
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

// Past the cache, so that no page leaves before it is looked at.
TEST_F(LocalPagesTest, SoManyReadAtATimeAndTheOthersWait) {
  fill(kLocalPages);
  pages->quiesce();
  backing.holds = true;
  std::vector<std::thread> threads;
  std::array<std::atomic<pid_t>, 5> numbers{};
  for (PageNumber page = 0; page < 5; ++page) {
    threads.emplace_back([this, page, &numbers] {
      numbers[page] = gettid();
      std::uint64_t first = 0;
      pages->read(page * kPageBytes, &first, sizeof first);
      EXPECT_EQ(first, 100 + page);
    });
    if (page < 2) await("reads", [&] { return counted().reads == page + 1; });
  }
  for (PageNumber page = 2; page < 5; ++page)
    await("sleep", [&] { return numbers[page] != 0 && sleeps(numbers[page]); });
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

// ---- what it costs

TEST_F(LocalPagesTest, AnUpgradeIsOneSystemCall) {
  EXPECT_EQ(word(5), 0U);
  EXPECT_EQ(pages->system_calls().map, 1U);
  word(5) = 1;
  EXPECT_EQ(pages->system_calls().map, 1U);
  EXPECT_EQ(pages->system_calls().protect, 1U);
  word(6) = 1;
  EXPECT_EQ(pages->system_calls().map, 2U) << "to be written at once";
  EXPECT_EQ(pages->system_calls().protect, 1U);
  EXPECT_EQ(pages->system_calls().unmap, 0U);
}

// One that was unmapped because it might have to leave.
TEST_F(LocalPagesTest, APageThatStandsByIsMappedAgainWithoutTraffic) {
  fill(kLocalFrames);
  pages->quiesce();
  pages->start();
  word(kLocalFrames) = 1;  // so that frames are short
  await("two to stand by", [&] { return pages->system_calls().unmap > 0 && pages->frames_at_hand() >= 2; });
  pages->stop();
  const std::uint64_t faults = counted().faults, hits = counted().hits;
  // The first page has left, and those behind it have been used least.
  for (PageNumber page = 1; page < 3; ++page) ASSERT_EQ(word(page), page + 100);
  EXPECT_EQ(counted().faults - faults, 2U);
  EXPECT_EQ(counted().hits - hits, 2U);
  EXPECT_EQ(counted().kept, 2U);
  EXPECT_EQ(backing.reads, 0U);
  EXPECT_EQ(backing.writes, kLocalFrames);
  // They have been used now, so that others leave.
  EXPECT_EQ(word(0), 100U);
  EXPECT_EQ(word(1), 101U);
  EXPECT_EQ(word(2), 102U);
  EXPECT_EQ(counted().faults - faults, 3U);
}

// Though all pages are dirty, and uses of one that is mapped are not seen.
TEST_F(LocalPagesTest, APageThatIsInUseIsHardlyEverWritten) {
  remake([](auto& settings) { settings.frames = 32; });
  std::mt19937_64 dice(seed);
  int written = 0;
  std::uint64_t last = 0;
  for (std::uint64_t n = 1; n <= 2000; ++n) {
    word(0) = n;
    word(1 + dice() % (kLocalPages - 1)) = n;
    written += std::exchange(last, backing.word(0)) != backing.word(0) ? 1 : 0;
  }
  EXPECT_LE(written, 7) << "of " << backing.writes;
  EXPECT_GE(backing.writes, 500U);
  EXPECT_EQ(word(0), 2000U);
}

TEST_F(LocalPagesTest, TheSweeperIsRungWheneverFramesAreFew) {
  pages->start();
  for (PageNumber first = 0; first < kLocalPages; first += kLocalFrames) {
    for (PageNumber page = first; page < first + kLocalFrames; ++page) word(page) = page;
    await("frames at hand", [&] { return pages->frames_at_hand() >= 2; });
  }
  pages->stop();
}

// Without the sweeper, which would have to be woken for it.
TEST_F(LocalPagesTest, WhoReadsMakesRoomForTheNextOneMeanwhile) {
  fill(kLocalPages);
  pages->quiesce();
  pages->start();
  for (PageNumber page = 0; page < kLocalPages - 2 * kLocalFrames; ++page) {
    ASSERT_EQ(word(page), page + 100);
    ASSERT_GE(pages->frames_at_hand(), 2U) << page;
  }
  pages->stop();
  EXPECT_EQ(backing.writes, kLocalPages) << "each once";
}

TEST_F(LocalPagesTest, NeighboursLeaveWithOneSystemCall) {
  remake([](auto& settings) { settings.frames = 32; });
  for (PageNumber page = 0; page < 32; ++page) EXPECT_EQ(word(page), 0U);
  EXPECT_EQ(pages->system_calls().unmap, 0U);
  pages->forget(0, 32 * kPageBytes);
  EXPECT_EQ(pages->system_calls().unmap, 2U) << "16 at a time";
  for (PageNumber page = 0; page < 32; page += 2) EXPECT_EQ(word(page), 0U);
  pages->forget(0, 32 * kPageBytes);
  EXPECT_EQ(pages->system_calls().unmap, 2U + 16U);
}

TEST_F(LocalPagesTest, ASequenceIsReadAheadAndEachPageOnce) {
  remake([](auto& settings) {
    settings.frames = 32;
    settings.ahead = 4;
  });
  fill(kLocalPages);
  pages->quiesce();
  const std::uint64_t reads = backing.reads;
  for (PageNumber page = 0; page < kLocalPages; ++page) {
    ASSERT_EQ(word(page), page + 100);
    if (page == 16) {
      EXPECT_GT(counted().hits, 0U);
      EXPECT_EQ(counted().kept, 0U) << "these have come, and none was to leave";
    }
  }
  EXPECT_LE(backing.reads - reads, kLocalPages) << "none twice";
  EXPECT_EQ(counted().reads, backing.reads);
  EXPECT_GT(counted().ahead, 10U);
  EXPECT_GT(counted().hits, 10U) << "which faults find in their frames";
}

TEST_F(LocalPagesTest, WithoutASequenceNothingIsReadAhead) {
  remake([](auto& settings) {
    settings.frames = 32;
    settings.ahead = 4;
  });
  fill(kLocalPages);
  pages->quiesce();
  const std::uint64_t before = counted().ahead;
  for (const PageNumber page : {9U, 30U, 4U, 51U, 22U, 13U, 60U, 40U}) ASSERT_EQ(word(page), page + 100);
  EXPECT_EQ(counted().ahead, before);
}

TEST_F(LocalPagesTest, TheSweeperResolvesFaultsOfWhoMustNotUseTheNetwork) {
  static thread_local bool inside = false;
  remake([](auto& settings) { settings.is_inside = [] { return inside; }; });
  fill(kLocalPages);
  inside = true;
  backing.refuses = std::this_thread::get_id();
  pages->start();
  for (PageNumber page = 0; page < kLocalPages; ++page) ASSERT_EQ(word(page), page + 100);
  word(1) = 5;
  pages->stop();
  inside = false;
  backing.refuses = std::thread::id();
  EXPECT_EQ(word(1), 5U);
}

TEST_F(LocalPagesTest, TwoAreasHaveTheirOwnPages) {
  MemoryBacking other_backing(kPageBytes, kLocalPages, seed + 1);
  LocalPages::Settings other_settings = settings();
  other_settings.bytes = 16 * kPageBytes;
  Result<std::unique_ptr<LocalPages>> other = LocalPages::create(other_backing, other_settings);
  ASSERT_TRUE(other.ok());
  auto* words = reinterpret_cast<volatile std::uint64_t*>(other.value()->base());
  fill(kLocalPages);
  for (PageNumber page = 0; page < 16; ++page) words[page * kPageBytes / 8] = page + 500;
  for (PageNumber page = 0; page < 16; ++page) {
    ASSERT_EQ(words[page * kPageBytes / 8], page + 500);
    ASSERT_EQ(word(page), page + 100);
  }
  EXPECT_TRUE(pages->contains(pages->base() + pages->size() - 1));
  EXPECT_FALSE(pages->contains(pages->base() + pages->size()));
  EXPECT_FALSE(pages->contains(other.value()->base()));
  other.value().reset();
  for (PageNumber page = 0; page < kLocalPages; ++page) ASSERT_EQ(word(page), page + 100) << "faults go on";
}

TEST_F(LocalPagesTest, LargePagesAreAligned) {
  constexpr std::size_t kLarge = std::size_t{4} << 20;
  pages.reset();
  MemoryBacking large_backing(kLarge, 16, seed);
  LocalPages::Settings large;
  large.page_bytes = kLarge;
  large.frames = 8;
  large.bytes = 16 * kLarge;
  Result<std::unique_ptr<LocalPages>> made = LocalPages::create(large_backing, large);
  ASSERT_TRUE(made.ok()) << made.status().text();
  std::byte* const base = made.value()->base();
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(base) % kLarge, 0U);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(made.value()->frame_memory()) % kHugePage, 0U);
  EXPECT_EQ(made.value()->frame_bytes(), 8 * kLarge);
  const auto at = [base](PageNumber page, std::size_t i) {
    return reinterpret_cast<volatile std::uint64_t*>(base + page * kLarge) + i;
  };
  for (PageNumber page = 0; page < 16; ++page) {
    *at(page, 0) = page;
    *at(page, kLarge / 8 - 1) = page + 7;
  }
  for (PageNumber page = 0; page < 16; ++page) {
    ASSERT_EQ(*at(page, 0), page);
    ASSERT_EQ(*at(page, kLarge / 8 - 1), page + 7);
    ASSERT_EQ(*at(page, 5000), 0U);
  }
}

/// Takes all mappings that the process may still have.
class AllMappings {
 public:
  AllMappings() : at_(mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
    auto* first = static_cast<std::byte*>(at_);
    for (std::size_t n = 1; n < kBytes / 4096 && mprotect(first + n * 4096, 4096, PROT_READ) == 0; n += 2) {
    }
  }
  ~AllMappings() { munmap(at_, kBytes); }
  AllMappings(const AllMappings&) = delete;
  AllMappings& operator=(const AllMappings&) = delete;

 private:
  static constexpr std::size_t kBytes = std::size_t{4} << 30;
  void* at_;
};

// Others are unmapped for it.
TEST_F(LocalPagesTest, WithoutRoomForMappingsPagesAreStillMapped) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "sanitizers need room themselves";
#endif
  for (PageNumber page = 0; page < 16; page += 2) word(page) = page;
  pages->quiesce();
  std::uint64_t seen = 0;
  {
    const AllMappings all;
    for (PageNumber page = 1; page < kLocalPages; page += 2) seen += word(page);
    for (PageNumber page = 0; page < 16; page += 2) seen += word(page);
  }
  EXPECT_EQ(seen, 0U + 2 + 4 + 6 + 8 + 10 + 12 + 14);
}

}  // namespace
}  // namespace shm::pages
