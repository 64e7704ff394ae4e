// SPDX-License-Identifier: BSD-3-Clause
// SHMEM_TRACE and SHMEM_STATS: loads libshmem_observe, and has the program's calls go through it.
#pragma once

namespace shm {

/// Where the variables ask for it; else nothing happens, and no call costs anything.  Collective, at the end
/// of init: operations are possible.  What cannot be loaded is said in a line, and left out.
void begin_observation();

/// Collective, in finalize, where nobody's operation is under way.  The heap need not be kept.
void end_observation();

}  // namespace shm
