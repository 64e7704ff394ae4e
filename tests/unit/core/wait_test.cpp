// SPDX-License-Identifier: BSD-3-Clause
#include "core/wait.hpp"

#include <gtest/gtest.h>
#include <time.h>

#include <atomic>
#include <thread>

namespace shm {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// CPU time of this thread.
std::chrono::nanoseconds cpu_time() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

class WaitTest : public ::testing::TestWithParam<unsigned> {
 protected:
  void SetUp() override { rt.spin_polls = GetParam(); }
  void TearDown() override { rt.spin_polls = 0; }
};

TEST_P(WaitTest, EndsWhenTheConditionHolds) {
  int looks = 0;
  wait_for([&] { return ++looks == 400; });
  EXPECT_EQ(looks, 400);
  wait_for([] { return true; });
}

TEST_P(WaitTest, SeesAnotherThread) {
  for (int delay : {0, 1, 30}) {
    std::atomic<bool> set{false};
    std::thread other([&] {
      std::this_thread::sleep_for(milliseconds(delay));
      set.store(true);
    });
    wait_for([&] { return set.load(); });
    other.join();
  }
}

TEST_P(WaitTest, CostsLittleCpuWhenItIsLong) {
  const auto end = Clock::now() + milliseconds(400);
  const auto before = cpu_time();
  wait_for([&] { return Clock::now() >= end; });
  EXPECT_LT(cpu_time() - before, milliseconds(100));
  EXPECT_LT(Clock::now() - end, milliseconds(200)) << "overslept";
}

INSTANTIATE_TEST_SUITE_P(Polls, WaitTest, ::testing::Values(0U, 20U, 2000U));

}  // namespace
}  // namespace shm
