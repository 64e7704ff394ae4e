// SPDX-License-Identifier: BSD-3-Clause
#include "clocks.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <vector>

#include "ticks.hpp"

namespace observe {
namespace {

TEST(Clocks, TheFastestAnswerCounts) {
  const RoundTrip trips[] = {{1000, 9000, 105000}, {20000, 20100, 120040}, {30000, 39000, 130001}};
  const Difference found = difference_of(trips);
  EXPECT_EQ(found.nanoseconds, 120040 - 20050);
  EXPECT_EQ(found.wrong_by, 50);
  EXPECT_EQ(found.at, 20050U);
}

TEST(Clocks, ADifferenceMayBeNegative) {
  const RoundTrip trips[] = {{5000000, 5000010, 5}};
  EXPECT_EQ(difference_of(trips).nanoseconds, -5000000);
}

TEST(Clocks, TheTruthIsWithinWhatIsPromised) {
  const auto seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  for (int job = 0; job < 200; ++job) {
    const auto truth = static_cast<std::int64_t>(random() % 2000000000000U) - 1000000000000;
    std::vector<RoundTrip> trips;
    for (std::size_t i = 0; i < kRounds; ++i) {
      const std::uint64_t asked = 2000000000000U + random() % 1000000, there = asked + random() % 5000;
      trips.push_back({asked, there + random() % 5000, there + static_cast<std::uint64_t>(truth)});
    }
    const Difference found = difference_of(trips);
    EXPECT_LE(std::abs(found.nanoseconds - truth), found.wrong_by + 1);
  }
}

TEST(Clocks, BetweenTwoMeasurementsTheDifferenceGoesInALine) {
  const Clock clock{{1000, 0, 1000000}, {1200, 0, 2000000}};
  EXPECT_EQ(clock.of_all(1000000), 1001000U);
  EXPECT_EQ(clock.of_all(1500000), 1501100U);
  EXPECT_EQ(clock.of_all(2000000), 2001200U);
}

TEST(Clocks, OneMeasurementHoldsForAllTimes) {
  const Clock clock{{-500, 0, 1000}, {-500, 0, 1000}};
  EXPECT_EQ(clock.of_all(900), 400U);
  EXPECT_EQ(clock.of_all(100000), 99500U);
}

TEST(Ticks, ADayOfTicksIsADay) {
  if (!counter_is_even) GTEST_SKIP() << "ticks are nanoseconds here";
  constexpr std::uint64_t kSecond = 1000000000, kDay = 86400 * kSecond;
  const Conversion conversion{{5000, 700}, {5000 + 3 * kSecond, 700 + kSecond}};  // 3 GHz
  EXPECT_EQ(conversion.nanoseconds(5000), 700U);
  EXPECT_EQ(conversion.nanoseconds(5000 + 3 * kDay), 700 + kDay);
  EXPECT_EQ(conversion.nanoseconds(5000 - 300), 600U);
}

TEST(Ticks, MomentsGoOn) {
  const Moment first = this_moment(), last = this_moment();
  EXPECT_LT(first.ticks, last.ticks);
  EXPECT_LT(first.nanoseconds, last.nanoseconds);
}

}  // namespace
}  // namespace observe
