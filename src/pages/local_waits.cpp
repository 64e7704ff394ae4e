// SPDX-License-Identifier: BSD-3-Clause
#include "pages/local_waits.hpp"

#include <sched.h>

#include <utility>

#include "base/backoff.hpp"
#include "pages/futex.hpp"

namespace shm::pages {

void LocalWaits::wait_until(const void* what, Asked ready) {
  while (!ready()) {
    if (drive(ready)) return;
    if (sleep(what, ready)) break;
  }
  // This thread may be the one that was rung to poll.
  hand_on();
}

// Returns false if another thread polls.
bool LocalWaits::drive(Asked ready) {
  if (polled_.exchange(true, std::memory_order_seq_cst)) return false;
  WaitWatch watch;
  Backoff backoff;
  for (unsigned idle = 0; !ready();) {
    if (poller_.poll(watch)) {
      idle = 0;
      backoff.restart();
    } else if (++idle > kPollsBeforePause) {
      backoff.pause();
    }
  }
  polled_.store(false, std::memory_order_seq_cst);
  hand_on();
  return true;
}

void LocalWaits::pause() {
  bool polled = false;
  const auto once = [&polled] { return std::exchange(polled, true); };
  if (!drive(Asked(once))) sched_yield();
}

// Returns whether it has become ready on the way.
bool LocalWaits::sleep(const void* what, Asked ready) {
  for (Place& place : places_) {
    const void* nobodys = nullptr;
    if (place.what.load(std::memory_order_relaxed) != nullptr) continue;
    if (!place.what.compare_exchange_strong(nobodys, what, std::memory_order_seq_cst)) continue;
    // From here on whoever makes it ready, or stops polling, finds this place; what was before is seen here.
    place.rung.exchange(0, std::memory_order_seq_cst);
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    const bool polled = polled_.load(std::memory_order_seq_cst), is_ready = ready();
    if (polled && !is_ready) futex_wait(place.rung, 0);
    sleepers_.fetch_sub(1, std::memory_order_relaxed);
    place.rung.store(1, std::memory_order_relaxed);
    place.what.store(nullptr, std::memory_order_release);
    return is_ready;
  }
  sched_yield();
  return false;
}

// Who was rung, and leaves before it polls, rings another one.
void LocalWaits::hand_on() {
  if (sleepers_.load(std::memory_order_seq_cst) != 0 && !polled_.load(std::memory_order_seq_cst))
    ring(nullptr, true);
}

// `what` null: whatever they sleep for.
void LocalWaits::ring(const void* what, bool one) {
  if (sleepers_.load(std::memory_order_seq_cst) == 0) return;
  for (Place& place : places_) {
    const void* sleeps_for = place.what.load(std::memory_order_seq_cst);
    if (sleeps_for == nullptr || (what != nullptr && sleeps_for != what)) continue;
    if (place.rung.exchange(1, std::memory_order_seq_cst) != 0) continue;
    futex_wake(place.rung);
    if (one) return;
  }
}

}  // namespace shm::pages
