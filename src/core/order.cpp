// SPDX-License-Identifier: BSD-3-Clause
#include "core/order.hpp"

#include "core/wait.hpp"

namespace shm {

void quiet_remote(Context& context) {
  quiet_regions(context);
  Channel* channel = context.channel;
  if (channel == nullptr) return;
  channel->ops->flush(channel);
  wait_for([channel] { return channel->ops->idle(channel); });
}

void quiet_remote_to(Context& context, int pe) {
  quiet_regions(context);
  Channel* channel = context.channel;
  if (channel == nullptr) return;
  channel->ops->flush(channel);
  wait_for([channel, pe] { return channel->ops->idle_to(channel, pe); });
}

void fence_remote(Context& context) {
  fence_regions(context);
  Channel* channel = context.channel;
  if (channel == nullptr) return;
  if (!channel->ops->fence(channel)) quiet_remote(context);
}

}  // namespace shm
