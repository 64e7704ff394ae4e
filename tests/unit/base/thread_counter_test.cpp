// SPDX-License-Identifier: BSD-3-Clause
#include "base/thread_counter.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

namespace shm {
namespace {

// With a line in common some of them would be lost, sooner or later.
TEST(ThreadCounterTest, ThreadsThatComeOneAfterTheOtherHaveLinesOfTheirOwn) {
  const auto counter = std::make_unique<ThreadCounter>();
  EXPECT_EQ(counter->total(), 0U);
  constexpr std::uint64_t kEach = 200000;
  std::vector<std::thread> threads;
  for (long i = 0; i < ThreadCounter::kThreads; ++i) {
    threads.emplace_back([&] {
      EXPECT_FALSE(ThreadCounter::has_line());
      counter->add(7);
      EXPECT_TRUE(ThreadCounter::has_line());
      for (std::uint64_t n = 0; n < kEach; ++n) counter->add_in_line(1);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counter->total(), ThreadCounter::kThreads * (kEach + 7));
}

// Whatever lines these threads have got, no two of them are the same one.
TEST(ThreadCounterTest, NoTwoOfThemWriteOneLine) {
  std::vector<long> lines;
  for (long i = 0; i < ThreadCounter::kThreads; ++i)
    std::thread([&] { lines.push_back(detail::place_thread()); }).join();
  for (std::size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ(lines[i] % ThreadCounter::kLine, 0);
    EXPECT_LT(lines[i], ThreadCounter::kThreads * ThreadCounter::kLine);
    for (std::size_t k = 0; k < i; ++k) EXPECT_NE(lines[i], lines[k]);
  }
}

}  // namespace
}  // namespace shm
