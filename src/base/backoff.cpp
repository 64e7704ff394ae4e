// SPDX-License-Identifier: BSD-3-Clause
#include "base/backoff.hpp"

#include <sched.h>

#include <algorithm>
#include <thread>

namespace shm {
namespace {

using std::chrono::microseconds;

constexpr microseconds kShortestSleep{20}, kLongestSleep{250}, kLongestSleepInLongWait{2000};
constexpr std::chrono::seconds kLongWait{1};
constexpr unsigned kYieldsPerLook = 32;  // the clock is read once in so many yields

}  // namespace

microseconds next_sleep(std::chrono::steady_clock::duration waited) {
  const microseconds longest = waited < kLongWait ? kLongestSleep : kLongestSleepInLongWait;
  return std::clamp(std::chrono::duration_cast<microseconds>(waited / 16), kShortestSleep, longest);
}

void Backoff::pause() {
  if (yields_ == 0) {
    start_ = Clock::now();
    sleepy_ = false;
  }
  ++yields_;
  if (!sleepy_ && yields_ % kYieldsPerLook == 0) sleepy_ = Clock::now() - start_ > kYieldTime;
  if (!sleepy_) {
    sched_yield();
  } else {
    std::this_thread::sleep_for(next_sleep(Clock::now() - start_));
  }
}

}  // namespace shm
