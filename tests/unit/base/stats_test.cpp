// SPDX-License-Identifier: BSD-3-Clause
#include "base/stats.hpp"

#include <gtest/gtest.h>

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

TEST(Stats, EveryCounterHasANameAndHelp) {
  for (std::size_t i = 0; i < kStats; ++i) {
    EXPECT_FALSE(std::string(stat_name(static_cast<Stat>(i))).empty());
    EXPECT_FALSE(std::string(stat_help(static_cast<Stat>(i))).empty());
  }
  EXPECT_STREQ(stat_name(Stat::packets), "packets");
}

}  // namespace
}  // namespace shm
