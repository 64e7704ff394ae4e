// SPDX-License-Identifier: BSD-3-Clause
#include "nvm/storage/store_space.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

namespace shm::nvm {

namespace {

using ::testing::ElementsAre;
using Places = Space::Run;

std::vector<Places> take(Space& space, std::uint64_t n, std::uint64_t room = 0) {
  std::vector<Places> runs;
  EXPECT_TRUE(space.take(n, room, runs));
  return runs;
}

TEST(SpaceTest, TakesOneRunIfThereIsOne) {
  Space space(300);
  EXPECT_THAT(take(space, 100), ElementsAre(Places{0, 100}));
  for (const std::uint64_t place : {10, 11, 12, 90}) space.drop(place);
  EXPECT_THAT(take(space, 4), ElementsAre(Places{100, 4}));
  EXPECT_THAT(take(space, 2), ElementsAre(Places{10, 2}));
  EXPECT_THAT(take(space, 197), ElementsAre(Places{12, 1}, Places{90, 1}, Places{104, 195}))
      << "else what there is";
  std::vector<Places> runs;
  EXPECT_FALSE(space.take(2, 0, runs));
  EXPECT_TRUE(runs.empty());
  EXPECT_THAT(take(space, 1), ElementsAre(Places{299, 1}));
}

TEST(SpaceTest, PrefersWhatHasRoom) {
  Space space(300);
  take(space, 100, 100);
  for (const std::uint64_t place : {5, 7, 9}) space.drop(place);
  EXPECT_THAT(take(space, 2, 100), ElementsAre(Places{5, 1}, Places{7, 1}));
  EXPECT_THAT(take(space, 2, 100), ElementsAre(Places{100, 2}));
}

TEST(SpaceTest, KeepsWhatAnEpochRefersTo) {
  Space space(10);
  take(space, 2);
  EXPECT_TRUE(space.fresh(0));
  space.prepared();
  EXPECT_FALSE(space.fresh(0));
  space.drop(0);
  EXPECT_THAT(take(space, 1), ElementsAre(Places{2, 1})) << "of the new epoch";
  space.settled();
  EXPECT_THAT(take(space, 1), ElementsAre(Places{3, 1})) << "of the only epoch";
  space.prepared();
  EXPECT_THAT(take(space, 1), ElementsAre(Places{4, 1})) << "of the old epoch";
  space.settled();
  EXPECT_THAT(take(space, 1), ElementsAre(Places{0, 1}));
}

TEST(SpaceTest, TellsWhatHasRoomAndNeedsNone) {
  Space space(200);
  take(space, 100);
  space.drop(50);
  space.drop(51);
  space.drop(99);
  EXPECT_THAT(space.surplus(51), ElementsAre(Places{51, 1}, Places{99, 1}));
  EXPECT_THAT(space.surplus(51), ElementsAre());
  EXPECT_THAT(space.surplus(0), ElementsAre(Places{50, 1}));
  EXPECT_THAT(space.free_runs(40, 101), ElementsAre(Places{50, 2}, Places{99, 2}));
}

TEST(SpaceTest, ATakenPlaceIsTakenOnce) {
  Space space(130);
  EXPECT_TRUE(space.take_this(129));
  EXPECT_FALSE(space.take_this(129));
}

// No place is given twice while anybody refers to it.
TEST(SpaceTest, AgreesWithSets) {
  constexpr std::uint64_t kPlaces = 200;
  Space space(kPlaces);
  std::mt19937_64 random(4);
  std::set<std::uint64_t> live, new_epoch, old_epoch;
  const auto used = [&](std::uint64_t place) {
    return live.contains(place) || new_epoch.contains(place) || old_epoch.contains(place);
  };
  for (int step = 0; step < 20000; ++step) {
    const std::uint64_t what = random() % 100;
    if (what < 50) {
      std::vector<Places> runs;
      const std::uint64_t n = 1 + random() % 12;
      std::uint64_t left = 0;
      for (std::uint64_t place = 0; place < kPlaces; ++place) left += used(place) ? 0 : 1;
      ASSERT_EQ(space.take(n, random() % 300, runs), n <= left);
      std::uint64_t got = 0;
      for (const Places& run : runs) {
        for (std::uint64_t place = run.first; place < run.first + run.n; ++place, ++got) {
          ASSERT_FALSE(used(place));
          live.insert(place);
          ASSERT_TRUE(space.fresh(place));
        }
      }
      ASSERT_EQ(got, n <= left ? n : 0);
    } else if (what < 98) {
      for (int i = 0; i < 5 && !live.empty(); ++i) {
        const auto place = std::next(live.begin(), static_cast<long>(random() % live.size()));
        space.drop(*place);
        live.erase(place);
      }
    } else if (new_epoch.empty()) {
      space.prepared();
      new_epoch = live;
    } else {
      space.settled();
      old_epoch = new_epoch;
      new_epoch.clear();
    }
  }
}

}  // namespace
}  // namespace shm::nvm
