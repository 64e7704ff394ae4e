// SPDX-License-Identifier: BSD-3-Clause
// What SHMEM_STATS prints at the end.
#pragma once

#include "base/stats.hpp"

namespace shm {

/// Collective: PE 0 prints the counters of all PEs and their sums on stderr.  Overwrites the start of the
/// heap. REQUIRES: all PEs are past their last use of it.
void print_statistics(const StatValues& mine);

}  // namespace shm
