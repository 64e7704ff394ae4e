// SPDX-License-Identifier: BSD-3-Clause
#include "base/backoff.hpp"

#include <gtest/gtest.h>

#include "../sleeps.hpp"

namespace shm {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

long sleeps() { return test::sleeps_of(gettid()); }

TEST(Backoff, SleepsGrowWithTheWaitAndHaveALimit) {
  EXPECT_EQ(next_sleep(microseconds(1)), microseconds(20));
  EXPECT_EQ(next_sleep(microseconds(1600)), microseconds(100));
  EXPECT_EQ(next_sleep(milliseconds(999)), microseconds(250));
  EXPECT_EQ(next_sleep(std::chrono::seconds(1)), microseconds(2000));
}

// Bounded by the time limit of the test.
TEST(Backoff, ALongWaitSleeps) {
  Backoff backoff;
  const long before = sleeps();
  while (sleeps() < before + 10) backoff.pause();
}

// Nobody who makes progress sleeps.
TEST(Backoff, ProgressBeginsItAnew) {
  Backoff backoff;
  const long before = sleeps();
  while (sleeps() < before + 10) backoff.pause();
  const long then = sleeps();
  for (int i = 0; i < 30; ++i) {
    backoff.restart();
    backoff.pause();
  }
  EXPECT_EQ(sleeps(), then);
}

}  // namespace
}  // namespace shm
