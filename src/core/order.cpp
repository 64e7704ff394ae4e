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

// All that is outstanding on the channel, which the context has.  What its fences so far had before them is
// then complete; fences of other threads since then, and what such a thread has waited for, stay as they are.
void complete_channel(Context& context, Call call) {
  const std::uint64_t fences = context.fences.load(std::memory_order_acquire);
  Channel* channel = context.channel;
  channel->ops->flush(channel);
  Drain wait;
  wait_for([&] { return drained(channel, wait); },
           [&](WaitRecord& record) { describe_quiet(record, call, channel); });
  std::uint64_t done = context.fences_done.load(std::memory_order_relaxed);
  while (done < fences && !context.fences_done.compare_exchange_weak(done, fences, std::memory_order_release,
                                                                     std::memory_order_relaxed)) {
  }
}

}  // namespace

void set_quiet_service(void (*complete)()) { quiet_service.store(complete, std::memory_order_release); }

void quiet_remote(Context& context, Call call) {
  quiet_regions(context);
  quiet_services(context);
  if (context.channel != nullptr) complete_channel(context, call);
  end_quiet_of_regions();
}

void quiet_remote_to(Context& context, int pe, Call call) {
  quiet_regions(context);
  quiet_services(context);
  Channel* channel = context.channel;
  if (channel == nullptr) return;
  flush_to(channel, pe);
  Drain wait;  // what other threads go on issuing to `pe` need not be waited for
  const auto complete = [&] { return channel->ops->idle_to(channel, pe) || drained(channel, wait); };
  const auto describe = [&](WaitRecord& record) {
    const int actor = who_must_act(channel, pe);
    describe_wait(record, call.name, actor, "for PE %d to apply operations", actor);
  };
  // That PE's library answers whatever others get: what is held for them may stay.
  for (Waiter waiter(HeldBack::stays); !complete();) waiter.pause(describe);
  end_quiet_of_regions();
}

void fence_remote(Context& context, Call call) {
  fence_regions(context);
  Channel* channel = context.channel;
  if (channel == nullptr) return;
  if (!channel->ops->fence(channel)) return quiet_remote(context, call);
  // After the fence of the channel: what is issued from here on follows it.
  // The release tells whoever completes the channel for this fence of what precedes it.
  if (rt.regions.size != 0 && !channel->ops->idle(channel))
    context.fences.fetch_add(1, std::memory_order_release);
}

void complete_fenced_remote(Context& context, Call call) {
  if (context.channel != nullptr) complete_channel(context, call);
}

}  // namespace shm
