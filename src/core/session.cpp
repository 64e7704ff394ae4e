// SPDX-License-Identifier: BSD-3-Clause
#include "core/session.hpp"

#include "base/mutex.hpp"
#include "core/order.hpp"

namespace shm {
namespace {

// Threads that share a context may start and stop its session at the same time.
Mutex mutex;

void hint(Channel* channel, const BatchHint& what) {
  if (channel != nullptr && channel->ops->hint != nullptr) channel->ops->hint(channel, what);
}

}  // namespace

void start_session(Context& context, long options, const shmem_ctx_session_config_t* config, long mask) {
  // What is under way on the channel itself would keep later operations out of the packets, until it is
  // complete.
  if (context.channel != nullptr && !context.channel->ops->idle(context.channel)) quiet(context);
  const LockGuard lock(mutex);
  Session& session = context.session;
  session.started = true;
  session.options |= options;
  if (config != nullptr && (mask & SHMEM_CTX_SESSION_TOTAL_OPS) != 0) session.total_ops = config->total_ops;
  hint(context.channel, {(session.options & SHMEM_CTX_SESSION_BATCH) != 0, session.total_ops});
}

void stop_session(Context& context) {
  const LockGuard lock(mutex);
  if (!context.session.started) return;
  context.session = {};
  hint(context.channel, {});
}

}  // namespace shm
