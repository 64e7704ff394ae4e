// SPDX-License-Identifier: BSD-3-Clause
// The barrier of the world: the base of shmem_barrier_all, shmem_sync_all and the collective allocator.
#pragma once

namespace shm {

/// Returns when every PE of the job has entered.  Completes only what plain stores have done before it:
/// callers that owe more call quiet() first.  Collective over the world, one thread a PE at a time.
void sync_world();

}  // namespace shm
