// SPDX-License-Identifier: BSD-3-Clause
#include "core/wait.hpp"

#include <sched.h>
#include <time.h>

#include <algorithm>

namespace shm {
namespace {

// Before the first yield: a poll of the network, a system call or more, is worth so many looks at memory.
constexpr unsigned kLooksOfAPoll = 100, kMostNetworkPolls = 20;
constexpr unsigned kYieldsPerLook = 32;  // the clock is read once in so many yields

constexpr std::chrono::seconds kLongWait{1};
constexpr std::chrono::microseconds kShortestBlock{2'000}, kLongestBlock{25'000};

unsigned network_polls() { return std::clamp(rt.spin_polls / kLooksOfAPoll, 1U, kMostNetworkPolls); }

}  // namespace

void Waiter::pause_slowly(WaitReason reason) {
  // A wait of a few polls is nobody's business, and shall not pay for being asked about.
  if (rt.progress == nullptr || ++slow_pauses_ > kMostNetworkPolls) watch_.look_and_listen(reason);
  if (armed_) return block();
  if (rt.progress != nullptr) {
    if (!gate_) gate_.emplace(*rt.progress, held_);
    if (rt.progress->poll()) {
      restart();
      return;
    }
    if (++polls_ < network_polls()) return;
  }
  if (yields_ == 0) {
    start_ = Clock::now();
    if (began_ == Clock::time_point{}) began_ = start_;
  }
  ++yields_;
  if (yields_ % kYieldsPerLook == 0) sleepy_ = Clock::now() - start_ > kYieldTime;
  if (!sleepy_) {
    sched_yield();
  } else if (gate_ && rt.network->wait_fd() >= 0) {
    armed_ = gate_->arm();   // may itself do what is waited for: the caller looks once more before block()
    if (!armed_) restart();  // there is work
  } else {
    const timespec time{0, block_time() * 1000};
    nanosleep(&time, nullptr);
  }
}

// What arrived may be what is waited for, or the beginning of it.
void Waiter::restart() {
  yields_ = 0;
  sleepy_ = false;
}

// What neighbours store does not end the sleep: a wait of seconds is prolonged by 1/400 for it, as waits
// of neighbours for each other add up.  A job that waits is idle even if questions for a sign of life arrive
// now and then: they do not begin the wait anew.
long Waiter::block_time() const {
  using std::chrono::microseconds;
  const auto waited = std::chrono::duration_cast<microseconds>(Clock::now() - began_);
  return waited < kLongWait ? sleep_time()
                            : std::clamp<microseconds>(waited / 400, kShortestBlock, kLongestBlock).count();
}

void Waiter::block() {
  armed_ = false;
  if (gate_->block(block_time())) restart();
}

}  // namespace shm
