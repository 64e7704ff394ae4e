// SPDX-License-Identifier: BSD-3-Clause
// How a blocked call waits: polls, then yields its core, then sleeps ever longer, making progress all the
// while.
#pragma once

#include <chrono>
#include <optional>

#include "base/backoff.hpp"
#include "base/spin.hpp"
#include "base/wait_report.hpp"
#include "core/progress.hpp"
#include "core/runtime.hpp"

namespace shm {

/// One blocked call:  `for (Waiter waiter; !condition();) waiter.pause(describe);`
///
/// `describe(WaitRecord&)` says what is waited for (describe_wait); it is run by this thread when somebody
/// asks.
///
/// - The first rt.spin_polls pauses only poll: many when every PE of the node has a core, few when not. Where
///   there is a network they are fewer, as each costs more.
/// - Then each pause yields the core.
/// - After a millisecond each pause sleeps, for at most 1/16 of the time waited so far: so a long wait takes
///   next to no CPU and is prolonged by at most 6 %; what arrives over the network ends the sleep, and is
///   followed by a millisecond of polls.
///
/// Where there is a network every pause also polls it, which keeps the agent gated off.
class Waiter {
 public:
  explicit Waiter(HeldBack held = HeldBack::leaves) : held_(held) {}

  template <class Describe>
  [[gnu::always_inline]] void pause(const Describe& describe) {
    if (polls_ < rt.spin_polls && rt.progress == nullptr) [[likely]] {
      ++polls_;
      cpu_pause();
      return;
    }
    pause_slowly(WaitReason(describe));
  }
  void pause() {
    pause([](WaitRecord& record) {
      describe_wait(record, "the library", WaitRecord::kNobody, "for other PEs");
    });
  }

 private:
  using Clock = std::chrono::steady_clock;
  [[gnu::cold, gnu::noinline]] void pause_slowly(WaitReason reason);
  void restart();
  void block();
  long sleep_time() const { return next_sleep(Clock::now() - start_).count(); }  // microseconds
  long block_time() const;

  unsigned polls_ = 0;
  unsigned slow_pauses_ = 0;
  unsigned yields_ = 0;
  bool sleepy_ = false;
  bool armed_ = false;  // the next pause blocks
  const HeldBack held_;
  Clock::time_point start_{};  // of the yields; anew when something has arrived
  Clock::time_point began_{};  // ... the first time
  std::optional<Progress::Gate> gate_;
  WaitWatch watch_;
};

/// Waits until `condition()` holds.  `describe` as for Waiter.
template <class Condition, class Describe>
void wait_for(Condition condition, const Describe& describe) {
  for (Waiter waiter; !condition();) waiter.pause(describe);
}
template <class Condition>
void wait_for(Condition condition) {
  for (Waiter waiter; !condition();) waiter.pause();
}

}  // namespace shm
