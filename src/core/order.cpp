// SPDX-License-Identifier: BSD-3-Clause
#include "core/order.hpp"

#include "core/wait.hpp"

namespace shm {
namespace {

// Names the first PE towards which something is outstanding, and how many others there are.
void describe_quiet(WaitRecord& record, Call call, const Channel* channel) {
  int first = WaitRecord::kNobody, others = 0;
  for (int pe = 0; pe < static_cast<int>(rt.npes); ++pe) {
    if (channel->ops->idle_to(channel, pe)) continue;
    if (first < 0) {
      first = pe;
    } else {
      ++others;
    }
  }
  describe_wait(record, call.name, first,
                others > 0 ? "for operations to PE %d and %d other PEs" : "for operations to PE %d", first,
                others);
}

}  // namespace

void quiet_remote(Context& context, Call call) {
  quiet_regions(context);
  Channel* channel = context.channel;
  if (channel == nullptr) return;
  channel->ops->flush(channel);
  wait_for([channel] { return channel->ops->idle(channel); },
           [&](WaitRecord& record) { describe_quiet(record, call, channel); });
}

void quiet_remote_to(Context& context, int pe, Call call) {
  quiet_regions(context);
  Channel* channel = context.channel;
  if (channel == nullptr) return;
  channel->ops->flush(channel);
  wait_for([channel, pe] { return channel->ops->idle_to(channel, pe); },
           [&](WaitRecord& record) { describe_wait(record, call.name, pe, "for operations to PE %d", pe); });
}

void fence_remote(Context& context) {
  fence_regions(context);
  Channel* channel = context.channel;
  if (channel == nullptr) return;
  if (!channel->ops->fence(channel)) quiet_remote(context, {"shmem_fence"});
}

}  // namespace shm
