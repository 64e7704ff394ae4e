// SPDX-License-Identifier: BSD-3-Clause
// Contexts: streams of operations that are ordered and completed on their own (OpenSHMEM 1.6, section 9.5).
#pragma once

#include <atomic>
#include <cstdint>

#include "shmem.h"
#include "transports/net.hpp"

namespace shm {

struct Call;
struct Team;

/// What the program has promised between session start and stop.  Hints: nothing depends on them but
/// batching.
struct Session {
  long options = 0;
  std::size_t total_ops = SIZE_MAX;
  bool started = false;
};

/// What a shmem_ctx_t stands for.
struct Context {
  Channel* channel = nullptr;  // null: all PEs are on this node, plain stores are all there is
  const Team* team = nullptr;  // PE numbers of calls are relative to it
  long options = 0;
  Session session;
  std::atomic<bool> uses_regions{false};     // has issued operations to a region (core/region)
  std::atomic<std::uint64_t> unanswered{0};  // a region's: what it has sent to other PEs
  // Fences that had operations of the channel before them, while there were regions; and how many of them
  // have nothing of these operations outstanding any more: core/order.
  std::atomic<std::uint64_t> fences{0}, fences_done{0};
  std::atomic<std::uint64_t> generation{0};  // odd: live
};

/// A new context on the team, or SHMEM_CTX_INVALID: options that are not known, or too many contexts.
/// Thread safety: any thread.
shmem_ctx_t create_context(const Team& team, long options);

/// Completes what the context has issued, and ends it.  The second form ends all contexts of a team (null:
/// all that there are).
void destroy_context(Call call, shmem_ctx_t handle);
void destroy_contexts(const Team* team);

}  // namespace shm
