// SPDX-License-Identifier: BSD-3-Clause
#include "core/order.hpp"

#include <atomic>
#include <set>

#include "core/wait.hpp"

namespace shm {
namespace {

std::atomic<void (*)()> quiet_service{nullptr};

void quiet_services(const Context& context) {
  if (&context != &rt.world_context) return;
  if (void (*complete)() = quiet_service.load(std::memory_order_acquire); complete != nullptr) complete();
}

// Names the first PE that must act, and how many others there are.
void describe_quiet(WaitRecord& record, Call call, const Channel* channel) {
  std::set<int> actors;
  for (int pe = 0; pe < static_cast<int>(rt.npes); ++pe) {
    if (!channel->ops->idle_to(channel, pe)) actors.insert(who_must_act(channel, pe));
  }
  const int first = actors.empty() ? WaitRecord::kNobody : *actors.begin();
  const int others = actors.empty() ? 0 : static_cast<int>(actors.size()) - 1;
  describe_wait(
      record, call.name, first,
      others > 0 ? "for PE %d and %d other PEs to apply operations" : "for PE %d to apply operations", first,
      others);
}

}  // namespace

void set_quiet_service(void (*complete)()) { quiet_service.store(complete, std::memory_order_release); }

void quiet_remote(Context& context, Call call) {
  quiet_regions(context);
  quiet_services(context);
  Channel* channel = context.channel;
  if (channel == nullptr) return;
  channel->ops->flush(channel);
  Drain wait;
  wait_for([&] { return drained(channel, wait); },
           [&](WaitRecord& record) { describe_quiet(record, call, channel); });
  end_quiet_of_regions();
}

void quiet_remote_to(Context& context, int pe, Call call) {
  quiet_regions(context);
  quiet_services(context);
  Channel* channel = context.channel;
  if (channel == nullptr) return;
  channel->ops->flush(channel);
  Drain wait;  // what other threads go on issuing to `pe` need not be waited for
  wait_for([&] { return channel->ops->idle_to(channel, pe) || drained(channel, wait); },
           [&](WaitRecord& record) {
             const int actor = who_must_act(channel, pe);
             describe_wait(record, call.name, actor, "for PE %d to apply operations", actor);
           });
  end_quiet_of_regions();
}

void fence_remote(Context& context, Call call) {
  fence_regions(context);
  Channel* channel = context.channel;
  if (channel == nullptr) return;
  // Regions send messages, later ones too, which no channel keeps behind its puts and atomics.
  if (rt.regions.size != 0 || !channel->ops->fence(channel)) quiet_remote(context, call);
}

}  // namespace shm
