// SPDX-License-Identifier: BSD-3-Clause
#include "pages/read_ahead.hpp"

#include <gtest/gtest.h>

#include <utility>

namespace shm::pages {
namespace {

std::pair<PageNumber, PageNumber> use(ReadAhead& streams, PageNumber page) {
  const ReadAhead::Range range = streams.use(page);
  return {range.first, range.last};
}
constexpr std::pair<PageNumber, PageNumber> kNothing{0, 0};

TEST(ReadAhead, LookFurtherAheadTheLongerASequenceGoesOn) {
  ReadAhead streams(4);
  EXPECT_EQ(use(streams, 10), kNothing) << "one page is no sequence";
  EXPECT_EQ(use(streams, 11), std::pair(12UL, 13UL));
  EXPECT_EQ(use(streams, 12), std::pair(13UL, 15UL));
  EXPECT_EQ(use(streams, 13), std::pair(15UL, 18UL));
  EXPECT_EQ(use(streams, 14), std::pair(18UL, 19UL)) << "the most, of which some have been asked for";
  EXPECT_EQ(use(streams, 15), std::pair(19UL, 20UL));
}

TEST(ReadAhead, APageThatWasSkippedEndsNoSequence) {
  ReadAhead streams(4);
  use(streams, 10);
  use(streams, 11);
  use(streams, 12);  // 13 and 14 have been asked for
  EXPECT_EQ(use(streams, 14), std::pair(15UL, 19UL));
  EXPECT_EQ(use(streams, 13), kNothing) << "it has gone by";
}

TEST(ReadAhead, ASequenceThatGoesOnIsNotForgottenForPagesHereAndThere) {
  ReadAhead streams(1);
  use(streams, 10);
  PageNumber elsewhere = 1000;
  for (PageNumber page = 11; page < 30; ++page) {
    EXPECT_EQ(use(streams, page), std::pair(page + 1, page + 2)) << page;
    for (int i = 0; i < 5; ++i) use(streams, elsewhere += 10);
  }
}

TEST(ReadAhead, PagesFarApartAreNoSequence) {
  ReadAhead streams(4);
  for (PageNumber page = 100; page < 200; page += 2) EXPECT_EQ(use(streams, page), kNothing) << page;
  EXPECT_EQ(use(streams, 50), kNothing);
  EXPECT_EQ(use(streams, 49), kNothing) << "backwards";
}

TEST(ReadAhead, FollowSeveralSequencesAtATimeAndForgetTheOneUsedLongestAgo) {
  ReadAhead streams(4);
  for (PageNumber s = 0; s < 8; ++s) use(streams, 1000 * s);
  for (PageNumber s = 0; s < 8; ++s)
    EXPECT_EQ(use(streams, 1000 * s + 1), std::pair(1000 * s + 2, 1000 * s + 3)) << s;
  use(streams, 9000);  // in place of the first
  EXPECT_EQ(use(streams, 1002), std::pair(1003UL, 1005UL));
  EXPECT_EQ(use(streams, 2), kNothing);
}

TEST(ReadAhead, ASequenceThatIsAnnouncedGoesOnAtFullDepth) {
  ReadAhead streams(4);
  for (PageNumber s = 0; s < 8; ++s) use(streams, 1000 * s);
  const ReadAhead::Range first = streams.begin(500);
  EXPECT_EQ(first.first, 500U);
  EXPECT_EQ(first.last, 504U);
  for (PageNumber s = 9; s < 16; ++s) use(streams, 1000 * s);  // in place of all but the newest
  EXPECT_EQ(use(streams, 500), std::pair(504UL, 505UL)) << "those before have been asked for";
  EXPECT_EQ(use(streams, 502), std::pair(505UL, 507UL));
}

TEST(ReadAhead, BringNothingWhereNothingIsToBeBrought) {
  ReadAhead streams(0);
  for (PageNumber page = 0; page < 10; ++page) EXPECT_EQ(use(streams, page), kNothing);
}

}  // namespace
}  // namespace shm::pages
