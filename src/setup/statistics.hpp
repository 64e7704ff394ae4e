// SPDX-License-Identifier: BSD-3-Clause
// What SHMEM_STATS prints at the end, and shmemx_stats_print at any time.
#pragma once

#include <string>
#include <vector>

#include "base/stats.hpp"
#include "remote/server_use.hpp"

namespace shm {

/// A column for each counter that is not 0 on all PEs, a row for each PE, and one for their sums; below, what
/// the columns mean, and which counters are left out.  What is too wide goes on in a second block of columns.
std::string statistics_table(const std::vector<StatValues>& of_pes);

/// All counters of one PE, a line each, and what they mean.
std::string statistics_list(int pe, unsigned npes, const StatValues& values);

/// What PEs have had of each memory server, a row each; empty if nothing.
std::string memory_servers_table(const std::vector<remote::ServerUse>& uses);

/// Collective: PE 0 prints the table of all PEs on stderr.  Overwrites the start of the heap.  REQUIRES: all
/// PEs are past their last use of it.
void print_statistics();

/// Prints this PE's list on stderr, as one write, so that those of several PEs do not mix.  Any thread.
void print_own_statistics();

}  // namespace shm
