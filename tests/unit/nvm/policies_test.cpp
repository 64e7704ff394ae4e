// SPDX-License-Identifier: BSD-3-Clause
// When a page that is elsewhere should come here.
#include <gtest/gtest.h>

#include "nvm/coherence/delegation.hpp"
#include "nvm/coherence/migration.hpp"

namespace shm::nvm {
namespace {

// Operations until the page should come, each a moment after the last, or with a pause before.
int sent_before(MigrationPolicy& migration, bool rested, bool contended) {
  for (int sent = 0; sent < 1000; ++sent) {
    if (migration.charge_operation(7, 8, 262144, rested)) return sent;
    migration.learn(7, contended);
  }
  return -1;
}

TEST(MigrationPolicy, APageComesWhenItsOperationsHaveCostAsMuch) {
  MigrationPolicy migration;
  EXPECT_TRUE(migration.charge_operation(7, 4096, 4096, false)) << "small pages come at once";
  const int sent = sent_before(migration, true, false);
  EXPECT_GT(sent, 4);
  EXPECT_LT(sent, 100);
  EXPECT_EQ(sent_before(migration, true, false), sent) << "and it begins anew";
  EXPECT_EQ(sent_before(migration, false, true), sent) << "this PE does nothing else";
  EXPECT_EQ(sent_before(migration, true, true), -1) << "it would not stay";
  EXPECT_NEAR(sent_before(migration, true, false), sent, 1) << "the others have gone";
}

TEST(ProgramPace, APauseIsTimeBetweenOperationsAndNoneThatTheyTake) {
  using std::chrono::microseconds;
  ProgramPace pace;
  auto now = ProgramPace::Clock::now();
  EXPECT_TRUE(pace.begins(now)) << "its first";
  EXPECT_FALSE(pace.begins(now += microseconds(1)));
  EXPECT_FALSE(pace.begins(now += microseconds(4))) << "since the last one, not the first";
  for (const bool completed : {false, true}) {
    pace.ends(completed, now += microseconds(1000));
    EXPECT_FALSE(pace.begins(now += microseconds(1))) << "it took long itself";
    EXPECT_TRUE(pace.begins(now += microseconds(6))) << "it did other things";
  }
}

// Also what it waits for beside operations on pages, such as messages of the network.
TEST(ProgramPace, AQuietIsPartOfTheOperationsUntilItReturns) {
  using std::chrono::microseconds;
  ProgramPace pace;
  auto now = ProgramPace::Clock::now();
  pace.begins(now);
  pace.ends(false, now);
  pace.quiet_begins();
  pace.ends(true, now += microseconds(1000));
  pace.quiet_ends(now += microseconds(1000));
  EXPECT_FALSE(pace.begins(now += microseconds(1)));
  pace.ends(true, now);
  pace.quiet_begins();
  pace.quiet_ends(now += microseconds(1000));
  EXPECT_TRUE(pace.begins(now += microseconds(1))) << "that quiet had nothing to wait for";
}

// A program that completes nothing, as there is nothing, does other things all the same.
TEST(ProgramPace, CallsWithoutOperationsAreNoPartOfThem) {
  ProgramPace pace;
  const auto now = ProgramPace::Clock::now();
  pace.begins(now);
  pace.ends(true, now);
  const auto later = now + std::chrono::hours(1);
  pace.ends(true);
  pace.ends(false);
  EXPECT_TRUE(pace.begins(later));
}

// A page that shares a row of the table with page 7.
PageNumber one_like_7() {
  PageNumber page = 8;
  while (row_of(page, MigrationPolicy::kRowBits) != row_of(7, MigrationPolicy::kRowBits)) ++page;
  return page;
}

TEST(MigrationPolicy, PagesDoNotPayForEachOther) {
  const PageNumber other = one_like_7();
  MigrationPolicy migration;
  const auto charge = [&](PageNumber page, std::size_t n) {
    return migration.charge_operation(page, n, 262144, true);
  };
  EXPECT_FALSE(charge(7, 250000));
  EXPECT_FALSE(charge(other, 20000)) << "its first operation";
  EXPECT_FALSE(charge(7, 20000)) << "it begins anew";
  migration.learn(7, true);
  EXPECT_FALSE(charge(other, 200000));
  EXPECT_TRUE(charge(other, 200000)) << "nobody else uses this one";
  EXPECT_FALSE(charge(other, 200000));
  migration.learn(7, true);  // a late answer
  EXPECT_TRUE(charge(other, 200000));
}

// Of several PEs in turn, as where each puts to the same place of all others.
TEST(MigrationPolicy, PagesAtTheSamePlaceOfSegmentsDoNotDisturbEachOther) {
  MigrationPolicy migration;
  bool came = false;
  for (int i = 0; i < 100 && !came; ++i) {
    for (PageNumber page = 7; page < 8 * 4096; page += 4096)
      came |= migration.charge_operation(page, 8, 262144, false);
  }
  EXPECT_TRUE(came);
}

// How many pieces of work with the page are sent to its owner before it comes.
int asked_before(DelegationPolicy& delegation, PageNumber page) {
  for (int asked = 0; asked < 10000; ++asked) {
    if (!delegation.should_bring(page, 262144)) continue;
    EXPECT_FALSE(delegation.should_bring(page, 262144)) << "it is on its way";
    delegation.note_arrival(page);
    return asked;
  }
  return -1;
}

TEST(DelegationPolicy, APageComesWhenRequestsHaveCostAsMuch) {
  DelegationPolicy delegation;
  EXPECT_EQ(asked_before(delegation, 7), 16);
  EXPECT_EQ(asked_before(delegation, 8), 16) << "each page has its own count";
  EXPECT_EQ(asked_before(delegation, 0), 16);
}

TEST(DelegationPolicy, APageThatWasNeededElsewhereTakesTwiceAsMany) {
  DelegationPolicy delegation;
  int expected = 17;
  for (int times = 0; times < 4; ++times, expected *= 2) EXPECT_EQ(asked_before(delegation, 7), expected - 1);
  EXPECT_EQ(asked_before(delegation, 7), 16 * 17 - 1);
  EXPECT_EQ(asked_before(delegation, 7), 16 * 17 - 1) << "and no more than that";
}

TEST(DelegationPolicy, PagesAtLargePowersOfTwoDoNotDisturbEachOther) {
  DelegationPolicy delegation;
  for (int asked = 0; asked < 16; ++asked) {
    for (const PageNumber page : {5, 512 + 5, 4096 + 5, 65536 + 5})
      EXPECT_FALSE(delegation.should_bring(page, 262144)) << asked;
  }
  for (const PageNumber page : {5, 512 + 5, 4096 + 5, 65536 + 5})
    EXPECT_TRUE(delegation.should_bring(page, 262144));
}

TEST(DelegationPolicy, UseOfAPageThatHasComeOtherwiseDoesNotCount) {
  DelegationPolicy delegation;
  EXPECT_FALSE(delegation.should_bring(7, 262144));
  for (int works = 0; works < 100; ++works) delegation.note_use(7);
  EXPECT_EQ(asked_before(delegation, 7), 15);
}

TEST(DelegationPolicy, APageThatWasWorthItComesAsSoonAsAtFirst) {
  DelegationPolicy delegation;
  EXPECT_EQ(asked_before(delegation, 7), 16);
  for (int works = 0; works < 16; ++works) delegation.note_use(7);
  EXPECT_EQ(asked_before(delegation, 7), 33) << "one piece of work too few";
  for (int works = 0; works < 34; ++works) delegation.note_use(7);
  delegation.note_use(8);
  EXPECT_EQ(asked_before(delegation, 7), 16);
}

}  // namespace
}  // namespace shm::nvm
