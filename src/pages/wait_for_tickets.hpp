// SPDX-License-Identifier: BSD-3-Clause
// How a thread waits, in a call of the library, for what it has asked pagers for.
#pragma once

#include <span>

#include "base/wait_report.hpp"
#include "pages/requests.hpp"

namespace shm::pages {

/// A pager of this process whose rounds may be made by who waits for it, instead of its own thread.  Thread
/// safety: any thread.
class PagerRounds {
 public:
  /// Makes a round, unless another thread does.  Returns whether anything was done.
  virtual bool make_round() = 0;
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
