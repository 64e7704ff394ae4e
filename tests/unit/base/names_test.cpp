// SPDX-License-Identifier: BSD-3-Clause
#include "base/names.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>
#include <vector>

namespace shm {
namespace {

TEST(Names, NameWhatTheyWereGivenFor) {
  Names<int> names;
  const std::uint64_t seven = names.add(7), eight = names.add(8);
  EXPECT_NE(seven, 0U);
  EXPECT_NE(seven, eight);
  int found = 0;
  EXPECT_TRUE(names.find(seven, found));
  EXPECT_EQ(found, 7);
  EXPECT_TRUE(names.take(eight, found));
  EXPECT_EQ(found, 8);
}

TEST(Names, NameNothingOnceTaken) {
  Names<int> names;
  const std::uint64_t first = names.add(1);
  int found = 0;
  ASSERT_TRUE(names.take(first, found));
  EXPECT_FALSE(names.take(first, found));
  EXPECT_FALSE(names.find(first, found));
  const std::uint64_t second = names.add(2);
  EXPECT_FALSE(names.find(first, found)) << "another has its place";
  EXPECT_TRUE(names.find(second, found));
  EXPECT_EQ(found, 2);
}

TEST(Names, OtherNumbersNameNothing) {
  Names<int> names;
  int found = 0;
  EXPECT_FALSE(names.find(0, found));
  const std::uint64_t first = Names<int>().add(1);
  EXPECT_FALSE(names.find(first, found)) << "the first name that there will be";
  const std::uint64_t name = names.add(1);
  ASSERT_EQ(name, first);
  for (int bit = 0; bit < 64; ++bit) EXPECT_FALSE(names.find(name ^ std::uint64_t{1} << bit, found)) << bit;
  EXPECT_FALSE(names.find(~std::uint64_t{0}, found));
}

TEST(Names, AreAsManyAsAreWanted) {
  constexpr int kMany = 1000;  // some segments
  Names<int> names;
  std::vector<std::uint64_t> all;
  for (int i = 0; i < kMany; ++i) all.push_back(names.add(i));
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < kMany; ++i) {
      std::uint64_t& name = all[static_cast<std::size_t>(i)];
      int found = -1;
      ASSERT_TRUE(names.find(name, found)) << i;
      ASSERT_EQ(found, i);
      ASSERT_TRUE(names.take(name, found)) << i;
      ASSERT_EQ(found, i);
      const std::uint64_t old = std::exchange(name, names.add(i));
      ASSERT_FALSE(names.find(old, found)) << i;
    }
  }
  std::ranges::sort(all);
  EXPECT_EQ(std::ranges::adjacent_find(all), all.end());
}

TEST(Names, AreEachThreadsOwn) {
  Names<int> names;
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 2000; ++i) {
        std::vector<std::uint64_t> mine;
        while (mine.size() < 2 || (i == 0 && mine.size() < 300)) mine.push_back(names.add(thread));
        for (const std::uint64_t name : mine) {
          int found = -1;
          if (!names.find(name, found) || found != thread) ++wrong;
          if (!names.take(name, found) || found != thread) ++wrong;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace shm
