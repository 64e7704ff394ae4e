// SPDX-License-Identifier: BSD-3-Clause
// How a thread waits, in a call of the library, for what it has asked pagers for.
#pragma once

#include <span>

#include "base/wait_report.hpp"
#include "pages/requests.hpp"

namespace shm::pages {

/// A thread that waits for pages, as the rounds see it that it makes.
class WaitingThread {
 public:
  /// Whether a page of it has come.
  virtual bool served() const = 0;
  /// It does not drive the network any more, until it looks again whether it is served.
  virtual void stop_driving() = 0;

 protected:
  ~WaitingThread() = default;
};

/// A pager of this process whose rounds may be made by who waits for it, instead of its own thread.  Thread
/// safety: any thread.
class PagerRounds {
 public:
  /// Makes a round, unless another thread does; then `caller` may read a page that is waited for.  Returns
  /// whether anything was done.
  virtual bool make_round(WaitingThread& caller) = 0;
  /// By a thread that makes no more rounds, though what it waits for is not done: the pager's own thread goes
  /// on.
  virtual void hand_back() = 0;

 protected:
  ~PagerRounds() = default;
};

/// Waits until one of the tickets, all of this thread and one PE, is done.  Polls first, driving the network,
/// as most pages come soon; then sleeps where a pager that answers wakes it, and has the agent drive the
/// network. `reason` as for WaitWatch.  With `rounds`, a pager that has been posted some of them without
/// being woken, it also makes that pager's rounds while it polls.
void wait_until_any_done(std::span<const Ticket* const> tickets, WaitReason reason, PagerRounds* rounds);
inline void wait_until_done(const Ticket& ticket, WaitReason reason, PagerRounds* rounds) {
  const Ticket* const only = &ticket;
  wait_until_any_done({&only, 1}, reason, rounds);
}

}  // namespace shm::pages
