// SPDX-License-Identifier: BSD-3-Clause
#include "base/stats.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <thread>
#include <vector>

namespace shm {
namespace {

TEST(Stats, CountsOfAllThreadsAreAddedUpAndTaken) {
  take_stats();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 1000; ++i) count(Stat::puts);
      count(Stat::put_bytes, 8000);
    });
  }
  for (std::thread& thread : threads) thread.join();
  const StatValues values = take_stats();
  EXPECT_EQ(values[static_cast<std::size_t>(Stat::puts)], 4000u);
  EXPECT_EQ(values[static_cast<std::size_t>(Stat::put_bytes)], 32000u);
  EXPECT_EQ(values[static_cast<std::size_t>(Stat::gets)], 0u);
  EXPECT_EQ(take_stats(), StatValues{});
}

TEST(Stats, ReadingTakesNothing) {
  take_stats();
  count(Stat::gets, 3);
  EXPECT_EQ(read_stats()[static_cast<std::size_t>(Stat::gets)], 3u);
  EXPECT_EQ(read_stats(), read_stats());
  count(Stat::gets);
  EXPECT_EQ(take_stats()[static_cast<std::size_t>(Stat::gets)], 4u);
  EXPECT_EQ(read_stats(), StatValues{});
}

// While others count, what is taken in parts adds up to all.
TEST(Stats, NothingIsLostBetweenTakes) {
  take_stats();
  constexpr std::uint64_t kEach = 100000;
  std::atomic<int> done{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (std::uint64_t i = 0; i < kEach; ++i) count(Stat::posts);
      ++done;
    });
  }
  std::uint64_t sum = 0;
  while (done.load() < 3) sum += take_stats()[static_cast<std::size_t>(Stat::posts)];
  for (std::thread& thread : threads) thread.join();
  sum += take_stats()[static_cast<std::size_t>(Stat::posts)];
  EXPECT_EQ(sum, 3 * kEach);
}

TEST(Stats, MissRateIsTheShareOfWhatPassedThroughTheFile) {
  StatValues values{};
  EXPECT_EQ(mshr_miss_rate(values), 0);
  values[static_cast<std::size_t>(Stat::executed)] = 8;
  EXPECT_EQ(mshr_miss_rate(values), 0);
  values[static_cast<std::size_t>(Stat::lines)] = 1;
  values[static_cast<std::size_t>(Stat::merged)] = 3;
  EXPECT_EQ(mshr_miss_rate(values), 0.25);
}

TEST(Stats, EveryCounterHasANameOfItsOwnAndHelp) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < kStats; ++i) {
    EXPECT_TRUE(names.insert(stat_name(static_cast<Stat>(i))).second) << i;
    EXPECT_FALSE(std::string(stat_help(static_cast<Stat>(i))).empty()) << i;
  }
  EXPECT_STREQ(stat_name(Stat::packets), "packets");
  EXPECT_STREQ(stat_name(Stat::posts), "posts");
}

}  // namespace
}  // namespace shm
