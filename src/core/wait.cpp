// SPDX-License-Identifier: BSD-3-Clause
#include "core/wait.hpp"

#include <sched.h>
#include <time.h>

#include <algorithm>

namespace shm {
namespace {

constexpr auto kYieldTime = std::chrono::milliseconds(1);
constexpr long kLongestSleepUs = 2000;
constexpr unsigned kNetworkPolls = 20;   // before the first yield, where each poll is a system call
constexpr unsigned kYieldsPerLook = 32;  // the clock is read once in so many yields

}  // namespace

void Waiter::pause_slowly() {
  if (rt.progress != nullptr) {
    if (!gate_) gate_.emplace(*rt.progress);
    if (rt.progress->poll()) {
      restart();
      return;
    }
    if (++polls_ < kNetworkPolls) return;
  }
  if (yields_ == 0) start_ = Clock::now();
  ++yields_;
  if (yields_ % kYieldsPerLook == 0) sleepy_ = Clock::now() - start_ > kYieldTime;
  if (sleepy_) {
    sleep();
  } else {
    sched_yield();
  }
}

// What arrived may be what is waited for, or the beginning of it.
void Waiter::restart() {
  yields_ = 0;
  sleepy_ = false;
}

void Waiter::sleep() {
  const auto waited = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start_).count();
  const long microseconds = std::clamp(static_cast<long>(waited / 16), 20L, kLongestSleepUs);
  if (gate_) {
    if (gate_->block(microseconds)) restart();
  } else {
    const timespec time{0, microseconds * 1000};
    nanosleep(&time, nullptr);
  }
}

}  // namespace shm
