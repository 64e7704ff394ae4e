// SPDX-License-Identifier: BSD-3-Clause
// Memory ordering: fence, quiet, pe_quiet (OpenSHMEM 1.6, section 9.12).
#pragma once

#include <atomic>

#include "core/address.hpp"
#include "core/region.hpp"
#include "core/runtime.hpp"

namespace shm {

/// The PE that must act before what is outstanding on the channel towards `pe` is complete, for reports.
inline int who_must_act(const Channel* channel, int pe) {
  return channel->ops->waits_for != nullptr ? channel->ops->waits_for(channel, pe) : pe;
}

/// What a service above the core completes with the operations of SHMEM_CTX_DEFAULT; null: nothing any more.
/// Called by all threads, and may wait.
void set_quiet_service(void (*complete)());

[[gnu::cold]] void quiet_remote(Context&, Call);
[[gnu::cold]] void quiet_remote_to(Context&, int pe, Call);
[[gnu::cold]] void fence_remote(Context&, Call);
[[gnu::cold]] void complete_fenced_remote(Context&, Call);

/// Whether anything but plain stores can be pending on a context.
inline bool has_remote(const Context& context) {
  return context.channel != nullptr || context.uses_regions.load(std::memory_order_relaxed);
}

/// Completes all operations issued on the context: they are visible to every PE on return.  The full barrier
/// drains this CPU's store buffer, so that what is read afterwards was read after the stores became visible.
/// `call` is what the program has called.
inline void quiet(Context& context, Call call = {"shmem_quiet"}) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (has_remote(context)) [[unlikely]]
    quiet_remote(context, call);
}

/// The same, for operations towards world PE `pe` only.
inline void quiet_to(Context& context, int pe, Call call = {"shmem_pe_quiet"}) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (has_remote(context)) [[unlikely]]
    quiet_remote_to(context, pe, call);
}

/// Orders the deliveries to each PE: stores issued before it are seen before those issued after it.
inline void fence(Context& context, Call call = {"shmem_fence"}) {
  std::atomic_thread_fence(std::memory_order_release);
  if (has_remote(context)) [[unlikely]]
    fence_remote(context, call);
}

/// To be called before an operation of the context on a region that a fence orders: regions send messages,
/// which no channel keeps behind its operations.  So what of those precedes a fence is waited for here, and
/// not by the fence, which need not know whether a region is used after it.
inline void complete_fenced(Context& context, Call call) {
  // The acquire pairs with the release of the thread that has waited.
  if (context.fences_done.load(std::memory_order_acquire) != context.fences.load(std::memory_order_relaxed))
      [[unlikely]]
    complete_fenced_remote(context, call);
}

}  // namespace shm
