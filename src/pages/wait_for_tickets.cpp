// SPDX-License-Identifier: BSD-3-Clause
#include "pages/wait_for_tickets.hpp"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "base/backoff.hpp"
#include "core/progress.hpp"
#include "core/wait.hpp"

namespace shm::pages {
namespace {

using Clock = std::chrono::steady_clock;

// Microseconds: a thread that sleeps looks so often whether it is asked what for.
constexpr long kLookTime = 5000;

bool any_done(std::span<const Ticket* const> tickets) {
  return std::ranges::any_of(tickets, [](const Ticket* ticket) { return ticket->done(); });
}

class Polling final : public WaitingThread {
 public:
  explicit Polling(std::span<const Ticket* const> tickets) : tickets_(tickets) {}
  bool served() const override { return any_done(tickets_); }
  void stop_driving() override { waiter_.emplace(); }  // without the last one's gate
  void pause(WaitReason reason) { waiter_->pause(reason); }

 private:
  const std::span<const Ticket* const> tickets_;
  std::optional<Waiter> waiter_{std::in_place};
};

// The agent drives the network meanwhile: the page may come from another node.
class AgentDrives {
 public:
  AgentDrives() {
    if (rt.progress != nullptr) rt.progress->insist();
  }
  ~AgentDrives() {
    if (rt.progress != nullptr) rt.progress->relent();
  }
  AgentDrives(const AgentDrives&) = delete;
  AgentDrives& operator=(const AgentDrives&) = delete;
};

}  // namespace

void wait_until_any_done(std::span<const Ticket* const> tickets, WaitReason reason, PagerRounds* rounds) {
  WaitWatch watch;
  const auto end = Clock::now() + kYieldTime;
  {
    Polling polling(tickets);
    while (!polling.served() && Clock::now() < end) {
      if (rounds != nullptr && rounds->make_round(polling)) continue;
      polling.pause(reason);
      if (rounds != nullptr) sched_yield();  // its thread may be needed
    }
    if (polling.served()) return;
    if (rounds != nullptr) rounds->hand_back();
    watch.look(reason);  // before the waiter looks no more
  }
  const AgentDrives agent_drives;
  while (!any_done(tickets)) {
    watch.look_and_listen(reason, WaitWatch::Listen::to_all);  // its home may wait for a third node
    Ticket::sleep(tickets, kLookTime);
  }
}

}  // namespace shm::pages
