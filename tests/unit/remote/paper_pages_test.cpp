// SPDX-License-Identifier: BSD-3-Clause
#include "remote/paper_pages.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <thread>

#include "base/fatal.hpp"
#include "paper_fixture.hpp"

namespace shm::remote::test {
namespace {

using What = RecordedLink::What;

TEST_P(PaperPagesTest, BeginsAsZerosAndKeepsWhatIsStored) {
  for (std::size_t page = 0; page < kPaperPages; ++page) {
    ASSERT_EQ(word(page, 3), 0u);
    word(page) = page + 100;
    word(page, 511) = page + 200;
  }
  for (int round = 0; round < 3; ++round) {
    for (std::size_t page = 0; page < kPaperPages; ++page) {
      ASSERT_EQ(word(page), page + 100);
      ASSERT_EQ(word(page, 511), page + 200);
      ASSERT_EQ(word(page, 3), 0u);
    }
  }
}

// All frames but one are full then.
TEST_P(PaperPagesTest, AFaultIsARequestAReadAndAVictim) {
  for (std::size_t page = 0; page < kPaperPages; ++page) word(page) = page;
  EXPECT_EQ(wire->count(What::put), kPaperPages - (kPaperFrames - 1));
  wire->clear();
  const std::uint64_t before = faults();
  for (std::size_t page = 0; page < kPaperPages; ++page) ASSERT_EQ(word(page), page);
  const std::uint64_t swaps = faults() - before;
  EXPECT_EQ(swaps, kPaperPages) << "CLOCK has nothing to prefer";
  for (const What what : {What::request, What::ready, What::get, What::put})
    EXPECT_EQ(wire->count(what), swaps) << static_cast<int>(what);
  EXPECT_EQ(pages->statistics().reads, 2 * kPaperPages);
  EXPECT_EQ(pages->statistics().bytes_in, 2 * kPaperPages * kPaperPage);
  EXPECT_EQ(pages->statistics().writes, 2 * kPaperPages - (kPaperFrames - 1));
  EXPECT_EQ(pages->statistics().bytes_out, pages->statistics().writes * kPaperPage);
}

// A store after a load is none of its own.
TEST_P(PaperPagesTest, PagesAreMappedToBeWritten) {
  ASSERT_EQ(word(5), 0u);
  const std::uint64_t before = faults();
  word(5) = 1;
  EXPECT_EQ(faults(), before);
}

// What comes goes one after the other; the difference is when others stand still.
TEST_P(PaperPagesTest, KeepsTheOrderOfThePaper) {
  if (kHandlersRunLate) GTEST_SKIP() << "ThreadSanitizer runs handlers late";
  for (std::size_t page = 0; page < kPaperPages; ++page) word(page) = page;
  std::atomic<std::uint64_t> steps{0};
  std::atomic<bool> stop{false};
  std::thread other([&] {
    while (!stop) ++steps;
  });
  while (steps == 0) std::this_thread::yield();
  const bool get_suspends = GetParam() == SwapProtocol::r77, put_suspends = GetParam() != SwapProtocol::r3;
  wire->clear();
  wire->others_run = [&](What what) {
    const bool suspended = what == What::get ? get_suspends : put_suspends;
    const auto limit = std::chrono::steady_clock::now() + std::chrono::milliseconds(suspended ? 20 : 5000);
    const std::uint64_t before = steps, escaped = suspension_counts().escaped;
    while (steps == before && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
    return steps != before && (suspended || suspension_counts().escaped == escaped);
  };
  const SuspensionCounts counts = suspension_counts();
  constexpr std::size_t kSwaps = 20;
  for (std::size_t page = 0; page < kSwaps; ++page) ASSERT_EQ(word(page), page);
  stop = true;
  other.join();
  wire->others_run = nullptr;
  EXPECT_EQ(suspension_counts().suspensions - counts.suspensions, kSwaps);
  const std::vector<RecordedLink::Event> events = wire->events();
  ASSERT_EQ(events.size(), 4 * kSwaps);
  std::size_t still = 0, running = 0;  // swaps in which others were so, and ought not to be
  for (std::size_t i = 0; i < events.size(); i += 4) {
    EXPECT_EQ(events[i].what, What::request);
    EXPECT_EQ(events[i + 1].what, What::ready);
    EXPECT_EQ(events[i + 2].what, What::get);
    EXPECT_EQ(events[i + 3].what, What::put);
    const bool get_runs = events[i + 2].others_run, put_runs = events[i + 3].others_run;
    still += (!get_suspends && !get_runs) || (!put_suspends && !put_runs);
    running += (get_suspends && get_runs) || (put_suspends && put_runs);
  }
  // On a busy machine a thread may take its signal late, or be held up until its suspension is over.
  const SuspensionCounts after = suspension_counts();
  EXPECT_LE(running, after.missed + after.escaped - counts.missed - counts.escaped);
  EXPECT_LE(still, 2u);
}

TEST_P(PaperPagesTest, StagesAreMeasuredOfEachSwap) {
  for (std::size_t page = 0; page < kPaperPages; ++page) word(page) = page;
  EXPECT_EQ(pages->stages().swaps(), kPaperPages);
  for (std::size_t stage = 0; stage < pages::SwapStages::kStages; ++stage) {
    EXPECT_GE(pages->stages().mean(stage), 0) << stage;
    EXPECT_LT(pages->stages().mean(stage), 1e6) << stage;
  }
  const double queued = pages->stages().mean(2);
  if (GetParam() == SwapProtocol::r58) {
    EXPECT_GT(queued, 1) << "another thread takes what has been received";
  } else {
    EXPECT_LT(queued, 1) << "there is no external queue";
  }
}

TEST(SwapStages, AreMeansOfTheirParts) {
  pages::SwapStages stages;
  EXPECT_EQ(stages.mean(0), 0);
  pages::SwapTimes times;
  const pages::SwapTimes::Clock::time_point start{};
  const StatValues before = read_stats();
  for (const int scale : {1, 3}) {
    for (std::size_t i = 0; i < pages::kSwapPoints; ++i)  // 0, 1, 4, 9, 16, 25
      times.note(static_cast<SwapPoint>(i), start + std::chrono::microseconds(i * i) * scale);
    stages.add(times);
  }
  const auto counted = [&](Stat stat) {
    return read_stats()[static_cast<std::size_t>(stat)] - before[static_cast<std::size_t>(stat)];
  };
  EXPECT_EQ(counted(Stat::swaps), 2U);
  EXPECT_EQ(counted(Stat::swap_queued_ns), 4000U);
  EXPECT_EQ(counted(Stat::swap_received_ns), 4 * 3000U);
  EXPECT_EQ(counted(Stat::swap_kept_ns), 4 * 5000U);
  EXPECT_EQ(counted(Stat::swap_placed_ns), 4 * 7000U);
  EXPECT_EQ(counted(Stat::swap_ended_ns), 4 * 9000U);
  EXPECT_EQ(stages.swaps(), 2u);
  for (std::size_t stage = 0; stage < pages::SwapStages::kStages; ++stage)
    EXPECT_DOUBLE_EQ(stages.mean(stage), 2 * (2.0 * static_cast<double>(stage) + 1));
}

// Pages that leave are written where they came from, and nowhere else.
TEST_P(PaperPagesTest, VictimsGoToTheirServer) {
  for (std::size_t page = 0; page < kPaperPages; ++page) word(page, 7) = page + 1;
  std::size_t there = 0;
  for (std::size_t page = 0; page < kPaperPages; ++page) {
    const Place place = range.place(page * kPaperPage);
    std::uint64_t stored;
    std::memcpy(&stored, job.lent(place.server) + place.offset + 7 * sizeof stored, sizeof stored);
    EXPECT_TRUE(stored == page + 1 || stored == 0) << page;
    there += stored == page + 1;
  }
  EXPECT_EQ(there, kPaperPages - (kPaperFrames - 1));
}

TEST_P(PaperPagesTest, WhatIsForgottenReadsAsZerosAndIsNotAskedFor) {
  for (std::size_t page = 0; page < kPaperPages; ++page) word(page) = page + 1;
  // All of pages 1 to 62.
  pages->forget(1, kPaperPages * kPaperPage - 2);
  wire->clear();
  for (std::size_t page = 1; page + 1 < kPaperPages; ++page) ASSERT_EQ(word(page), 0u) << page;
  EXPECT_EQ(wire->count(What::request), 0u);
  EXPECT_EQ(wire->count(What::get), 0u);
  EXPECT_EQ(pages->statistics().zeroed, kPaperPages - 2);
  EXPECT_EQ(word(0), 1u);
  EXPECT_EQ(word(kPaperPages - 1), kPaperPages);
  // They have come back as any other.
  for (std::size_t page = 1; page + 1 < kPaperPages; ++page) ASSERT_EQ(word(page), 0u) << page;
  EXPECT_EQ(pages->statistics().zeroed, kPaperPages - 2);
}

TEST_P(PaperPagesTest, WhatIsForgottenLeavesItsFrames) {
  for (std::size_t page = 0; page < kPaperPages; ++page) word(page) = 1;
  pages->forget(0, kPaperPages * kPaperPage);
  wire->clear();
  for (std::size_t page = 0; page + 1 < kPaperFrames; ++page) word(page) = 2;
  EXPECT_EQ(wire->count(What::put), 0u);
  word(kPaperFrames) = 2;
  EXPECT_EQ(wire->count(What::put), 1u);
}

// In a frame that the hand of the clock points at.
TEST_P(PaperPagesTest, APageThatComesIsPassedOverOnce) {
  for (std::size_t page = 0; page < kPaperFrames; ++page) word(page) = page;  // page 0 has left
  pages->forget(kPaperPage, kPaperPage);
  word(20) = 20;  // where page 1 was
  word(21) = 21;
  const std::uint64_t before = faults();
  for (const std::size_t page : {3, 4, 5, 6, 7, 20, 21}) ASSERT_EQ(word(page), page);
  EXPECT_EQ(faults(), before);
  ASSERT_EQ(word(2), 2u);
  EXPECT_EQ(faults(), before + 1);
}

// A quarter of the frames.
TEST_P(PaperPagesTest, PinnedPagesStay) {
  using pages::Access;
  ASSERT_TRUE(pages->pin(3 * kPaperPage + 5, kPaperPage, Access::read));  // two pages, in part
  EXPECT_FALSE(pages->pin(9 * kPaperPage, 1, Access::read));
  EXPECT_TRUE(pages->pin(9 * kPaperPage, 0, Access::read));
  for (int round = 0; round < 3; ++round) {
    for (std::size_t page = 0; page < kPaperPages; ++page) {
      const std::uint64_t before = faults();
      word(page) = page;
      if (page == 3 || page == 4) {
        EXPECT_EQ(faults(), before) << page;
      }
    }
  }
  EXPECT_FALSE(pages->unpin(3 * kPaperPage + 5, 1));
  EXPECT_FALSE(pages->unpin(3 * kPaperPage, kPaperPage));
  EXPECT_TRUE(pages->unpin(3 * kPaperPage + 5, kPaperPage));
  EXPECT_FALSE(pages->unpin(3 * kPaperPage + 5, kPaperPage));
  EXPECT_TRUE(pages->unpin(9 * kPaperPage, 0));
  for (std::size_t page = 8; page < 24; ++page) word(page) = page;
  const std::uint64_t before = faults();
  ASSERT_EQ(word(3), 3u);
  EXPECT_EQ(faults(), before + 1);
  EXPECT_TRUE(pages->pin(9 * kPaperPage, 1, Access::write));
}

TEST_P(PaperPagesTest, CopiesMoveAnyBytes) {
  std::mt19937_64 dice(seed_of_paper_run());
  std::vector<std::byte> model(kPaperPages * kPaperPage), copy(model.size());
  for (int step = 0; step < 60; ++step) {
    const std::size_t offset = dice() % model.size();
    const std::size_t n = std::min<std::size_t>(model.size() - offset, dice() % (4 * kPaperPage));
    if (dice() % 2 == 0) {
      std::memset(model.data() + offset, step, n);
      pages->write(offset, model.data() + offset, n);
      pages->overwrite(0, model.size());
    } else {
      pages->read(offset, copy.data(), n);
      ASSERT_EQ(std::memcmp(copy.data(), model.data() + offset, n), 0);
    }
  }
}

// Accesses wait for start().
TEST_P(PaperPagesTest, StopsAndStartsAnew) {
  for (std::size_t page = 0; page < kPaperPages; ++page) word(page) = page + 1;
  pages->stop();
  std::atomic<std::uint64_t> got{0};
  std::thread early([&] { got = word(2); });
  pages->start();
  early.join();
  EXPECT_EQ(got, 3u);
}

// At any point of what its threads do: one that hears of it late must not sleep.
TEST_P(PaperPagesTest, StopsWhileItStarts) {
  for (int i = 0; i < 2000; ++i) {
    pages->stop();
    pages->start();
  }
}

INSTANTIATE_TEST_SUITE_P(All, PaperPagesTest, kProtocols, name_of);

class PaperAnswersDeathTest : public ::testing::TestWithParam<SwapProtocol> {};

// In a process that ends, with pages of its own.
class OfAnotherServer final : public PaperPagesTest {
 public:
  void TestBody() override {
    set_identity(0, 1, "here");
    for (std::size_t page = 0; page < kPaperPages; ++page) word(page) = page;
    wire->swaps_servers = true;
    EXPECT_EQ(word(0), 0u) << "brought, though another server has said that it is ready";
  }
};

TEST_P(PaperAnswersDeathTest, AreThoseOfTheServerThatWasAsked) {
  EXPECT_EXIT(OfAnotherServer().TestBody(), ::testing::ExitedWithCode(1),
              "^atoll: PE 0 of 1 on here: internal error: memory server [01] sent an answer that nobody has "
              "asked for\n$");
}
INSTANTIATE_TEST_SUITE_P(All, PaperAnswersDeathTest, kProtocols, name_of);

}  // namespace
}  // namespace shm::remote::test
