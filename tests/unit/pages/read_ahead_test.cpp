// SPDX-License-Identifier: BSD-3-Clause
#include "pages/read_ahead.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace shm::pages {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// The pages that are to be brought when this one is used.
std::vector<PageNumber> use(ReadAhead& streams, PageNumber page) {
  const ReadAhead::Range range = streams.use(page);
  std::vector<PageNumber> pages;
  for (std::uint64_t i = 0; i < range.count; ++i)
    pages.push_back(range.first + i * static_cast<PageNumber>(range.step));
  return pages;
}

TEST(ReadAhead, LookFurtherAheadTheLongerASequenceGoesOn) {
  ReadAhead streams(4);
  EXPECT_THAT(use(streams, 10), IsEmpty()) << "one page is no sequence";
  EXPECT_THAT(use(streams, 11), ElementsAre(12));
  EXPECT_THAT(use(streams, 12), ElementsAre(13, 14));
  EXPECT_THAT(use(streams, 13), ElementsAre(15, 16, 17));
  EXPECT_THAT(use(streams, 14), ElementsAre(18)) << "the most, of which some have been asked for";
  EXPECT_THAT(use(streams, 15), ElementsAre(19));
}

TEST(ReadAhead, APageThatWasSkippedEndsNoSequence) {
  ReadAhead streams(4);
  use(streams, 10);
  use(streams, 11);
  use(streams, 12);  // 13 and 14 have been asked for
  EXPECT_THAT(use(streams, 14), ElementsAre(15, 16, 17, 18));
  EXPECT_THAT(use(streams, 13), IsEmpty()) << "it has gone by";
}

TEST(ReadAhead, ASequenceThatGoesOnIsNotForgottenForPagesHereAndThere) {
  ReadAhead streams(1);
  use(streams, 10);
  PageNumber elsewhere = 1000;
  for (PageNumber page = 11; page < 30; ++page) {
    EXPECT_THAT(use(streams, page), ElementsAre(page + 1)) << page;
    for (int i = 0; i < 5; ++i) use(streams, elsewhere += 10);
  }
}

TEST(ReadAhead, FourPagesWithTheSameDistanceAreASequence) {
  for (const int step : {2, -1, -7, 64, -64}) {
    ReadAhead streams(4);
    const auto page = [&](int i) { return static_cast<PageNumber>(1000 + i * step); };
    for (int i = 0; i < 3; ++i) EXPECT_THAT(use(streams, page(i)), IsEmpty()) << step;
    EXPECT_THAT(use(streams, page(3)), ElementsAre(page(4))) << step;
    EXPECT_THAT(use(streams, page(4)), ElementsAre(page(5), page(6))) << step;
    EXPECT_THAT(use(streams, page(6)), ElementsAre(page(7), page(8), page(9), page(10))) << "one was skipped";
    EXPECT_THAT(use(streams, page(5)), IsEmpty()) << "it has gone by";
  }
}

TEST(ReadAhead, SequencesOfManyStepsMayBeMixed) {
  ReadAhead streams(4);
  for (PageNumber i = 0; i < 4; ++i) {
    const std::vector<PageNumber> forward = use(streams, 1000 + 3 * i);
    const std::vector<PageNumber> backward = use(streams, 2000 - 5 * i);
    use(streams, 3000 + 100 * i);
    EXPECT_EQ(forward.empty(), i < 3) << i;
    EXPECT_EQ(backward.empty(), i < 3) << i;
  }
}

TEST(ReadAhead, PagesFarApartAreNoSequence) {
  ReadAhead streams(4);
  for (PageNumber page = 1000; page < 2000; page += 65) EXPECT_THAT(use(streams, page), IsEmpty()) << page;
  for (PageNumber page = 2000; page > 1000; page -= 65) EXPECT_THAT(use(streams, page), IsEmpty()) << page;
}

TEST(ReadAhead, ThreePagesWithTheSameDistanceAreNone) {
  ReadAhead streams(4);
  for (const PageNumber page : {1000U, 1003U, 1006U, 1010U, 1012U, 1020U})
    EXPECT_THAT(use(streams, page), IsEmpty()) << page;
}

// Among few pages in random order there are always some with equal distances.
TEST(ReadAhead, EqualDistancesOutOfTurnAreChance) {
  ReadAhead streams(4);
  for (const PageNumber page : {1000U, 1007U, 1030U, 1014U, 1050U, 1021U})
    EXPECT_THAT(use(streams, page), IsEmpty()) << page;
}

TEST(ReadAhead, FollowSeveralSequencesAtATimeAndForgetTheOneUsedLongestAgo) {
  ReadAhead streams(4);
  for (PageNumber s = 0; s < 32; ++s) {
    use(streams, 1000 * s);
    EXPECT_THAT(use(streams, 1000 * s + 1), ElementsAre(1000 * s + 2)) << s;
  }
  use(streams, 99000);  // in place of the first
  EXPECT_THAT(use(streams, 1002), ElementsAre(1003, 1004));
  EXPECT_THAT(use(streams, 2), IsEmpty());
}

// As a program does that merges: each sequence waits for its turn from the beginning.
TEST(ReadAhead, FollowsAsManySequencesInTurnAsAMergeHasRuns) {
  ReadAhead streams(4);
  for (PageNumber page = 0; page < 3; ++page) {
    for (PageNumber s = 0; s < 31; ++s) {
      if (page < 2)
        EXPECT_THAT(use(streams, 1000 * s + page), IsEmpty()) << "page " << page << " of " << s;
      else
        EXPECT_THAT(use(streams, 1000 * s + 2), ElementsAre(1000 * s + 3)) << s;
    }
  }
}

TEST(ReadAhead, TwoNeighboursWithManyPagesBetweenThemAreChance) {
  ReadAhead streams(4);
  use(streams, 500);
  for (PageNumber s = 1; s <= 9; ++s) use(streams, 1000 * s);
  EXPECT_THAT(use(streams, 501), IsEmpty());
  EXPECT_THAT(use(streams, 502), ElementsAre(503)) << "but not three";
  use(streams, 700);
  for (PageNumber s = 1; s <= 8; ++s) use(streams, 1000 * s + 500);
  EXPECT_THAT(use(streams, 701), ElementsAre(702)) << "nor are two with few pages between them";
}

TEST(ReadAhead, ASequenceThatIsAnnouncedGoesOnAtFullDepth) {
  ReadAhead streams(4);
  for (PageNumber s = 0; s < 32; ++s) use(streams, 1000 * s);
  const ReadAhead::Range first = streams.begin(500);
  EXPECT_EQ(first.first, 500U);
  EXPECT_EQ(first.count, 4U);
  for (PageNumber s = 33; s < 64; ++s) use(streams, 1000 * s);  // in place of all but the newest
  EXPECT_THAT(use(streams, 500), ElementsAre(504)) << "those before have been asked for";
  EXPECT_THAT(use(streams, 502), ElementsAre(505, 506));
}

TEST(ReadAhead, BringNothingWhereNothingIsToBeBrought) {
  ReadAhead streams(0);
  for (PageNumber page = 0; page < 10; ++page) EXPECT_THAT(use(streams, page), IsEmpty());
}

}  // namespace
}  // namespace shm::pages
