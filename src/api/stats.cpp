// SPDX-License-Identifier: BSD-3-Clause
// The counters of shmemx.h.
#include "base/stats.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "api/define.hpp"
#include "setup/remote_memory.hpp"
#include "setup/statistics.hpp"

using shm::Call;
using shm::Stat;

// A counter that is in one and not in the other would be lost silently.
static_assert(offsetof(shmemx_stats_t, reserved_) == sizeof(shm::StatValues));

extern "C" {

void pshmemx_stats_read(shmemx_stats_t* stats) {
  shm::check_started({"shmemx_stats_read"});
  shm::check_result({"shmemx_stats_read"}, "stats", stats);
  const shm::StatValues values = shm::read_stats();
#define ATOLL_READ_(NAME, HELP) stats->NAME = values[static_cast<std::size_t>(Stat::NAME)];
  SHMEMX_STATS(ATOLL_READ_)
#undef ATOLL_READ_
  std::fill(std::begin(stats->reserved_), std::end(stats->reserved_), 0);
  stats->mshr_miss_rate = shm::mshr_miss_rate(values);
}

void pshmemx_stats_reset(void) {
  shm::check_started({"shmemx_stats_reset"});
  shm::take_stats();
  shm::begin_memory_server_uses_anew();
}

void pshmemx_stats_print(void) {
  shm::check_started({"shmemx_stats_print"});
  shm::print_own_statistics();
}

SHMEMX_STATS_FUNCS(ATOLL_ALIAS_)

}  // extern "C"
