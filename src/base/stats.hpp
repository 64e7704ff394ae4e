// SPDX-License-Identifier: BSD-3-Clause
// Counters of what goes off node, and of pages that come and go.  Each is a row of include/shmem/stats.h.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/inside.hpp"
#include "shmem/stats.h"

namespace shm {

/// Members carry the names of the table.
enum class Stat : std::uint8_t {
#define ATOLL_STAT_(NAME, HELP) NAME,
  SHMEMX_STATS(ATOLL_STAT_)
#undef ATOLL_STAT_
};

#define ATOLL_STAT_(NAME, HELP) +1
inline constexpr std::size_t kStats = 0 SHMEMX_STATS(ATOLL_STAT_);
#undef ATOLL_STAT_

/// Values of all counters, indexed by Stat.
using StatValues = std::array<std::uint64_t, kStats>;

namespace detail {
ATOLL_INSIDE extern std::array<std::atomic<std::uint64_t>, kStats> stat_counters;
}

/// Counts; any thread.  A few nanoseconds: for paths that lead to a network, once for each packet where
/// operations are packed.
inline void count(Stat stat, std::uint64_t n = 1) {
  detail::stat_counters[static_cast<std::size_t>(stat)].fetch_add(n, std::memory_order_relaxed);
}

/// The same for a hot path: counts of threads that meet here may be lost.
inline void count_roughly(Stat stat) {
  std::atomic<std::uint64_t>& counter = detail::stat_counters[static_cast<std::size_t>(stat)];
  counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

/// The values since the last take_stats().  Any thread; nobody who counts is held up, so counters of one
/// operation may be caught apart.
StatValues read_stats();

/// The same, and starts again from 0.  What is counted meanwhile is in these values or in the next, never
/// lost.
StatValues take_stats();

/// The share of the atomics that passed through the MSHR file here which had to take hold of a cache line; 0
/// where none did.
double mshr_miss_rate(const StatValues&);

/// The name and the help of a counter.
const char* stat_name(Stat);
const char* stat_help(Stat);

}  // namespace shm
