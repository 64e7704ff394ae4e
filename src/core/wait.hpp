// SPDX-License-Identifier: BSD-3-Clause
// How a blocked call waits: polls, then yields its core, then sleeps ever longer, making progress all the
// while.
#pragma once

#include <chrono>
#include <optional>

#include "base/spin.hpp"
#include "core/progress.hpp"
#include "core/runtime.hpp"

namespace shm {

/// One blocked call:  `for (Waiter waiter; !condition();) waiter.pause();`
///
/// - The first rt.spin_polls pauses only poll: many when every PE of the node has a core, few when not.
/// - Then each pause yields the core.
/// - After a millisecond each pause sleeps, for at most 1/16 of the time waited so far, so that a long wait
/// costs
///   next to no CPU and is prolonged by at most 6 %; what arrives over the network ends the sleep.
///
/// Where there is a network every pause also polls it, which keeps the agent gated off.
class Waiter {
 public:
  [[gnu::always_inline]] void pause() {
    if (polls_ < rt.spin_polls && rt.progress == nullptr) [[likely]] {
      ++polls_;
      cpu_pause();
      return;
    }
    pause_slowly();
  }

 private:
  using Clock = std::chrono::steady_clock;
  [[gnu::cold, gnu::noinline]] void pause_slowly();
  void restart();
  void sleep();

  unsigned polls_ = 0;
  unsigned yields_ = 0;
  bool sleepy_ = false;
  Clock::time_point start_{};
  std::optional<Progress::Gate> gate_;
};

/// Waits until `condition()` holds.
template <class Condition>
void wait_for(Condition condition) {
  for (Waiter waiter; !condition();) waiter.pause();
}

}  // namespace shm
