// SPDX-License-Identifier: BSD-3-Clause
// Barriers: of a group, and of the world, the base of shmem_barrier_all, shmem_sync_all and the collective
// allocator.
#pragma once

#include <cstddef>

#include "core/address.hpp"

namespace shm {

struct Group;

/// Returns when every member of the group has entered.  Completes only what plain stores have done before it:
/// callers that owe more call quiet() first.
void sync_group(Group& group);

/// The same for all PEs of the job, one thread a PE at a time.  `call` is what the program has called.
void sync_world(Call call);

/// The same, which also brings the n bytes that PE 0 has at `said` to all others, with what is sent anyway.
/// REQUIRES: n <= Cell::kPayload.
void sync_world_with(Call call, void* said, std::size_t n);

}  // namespace shm
