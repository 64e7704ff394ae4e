// SPDX-License-Identifier: BSD-3-Clause
// Counters of what goes off node.  To add one, add its row to stats.def.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace shm {

/// Members carry the names of stats.def.
enum class Stat : std::uint8_t {
#define STAT(name, help) name,
#include "base/stats.def"
#undef STAT
};

#define STAT(name, help) +1
inline constexpr std::size_t kStats = 0
#include "base/stats.def"
    ;
#undef STAT

/// Values of all counters, indexed by Stat.
using StatValues = std::array<std::uint64_t, kStats>;

namespace detail {
inline std::array<std::atomic<std::uint64_t>, kStats> stat_counters{};
}

/// Counts; any thread.  A few nanoseconds: for paths that lead to a network, once for each packet where
/// operations are packed.
inline void count(Stat stat, std::uint64_t n = 1) {
  detail::stat_counters[static_cast<std::size_t>(stat)].fetch_add(n, std::memory_order_relaxed);
}

/// The values since the last call, which start again from 0.
StatValues take_stats();

/// The name and the help of a counter.
const char* stat_name(Stat);
const char* stat_help(Stat);

}  // namespace shm
