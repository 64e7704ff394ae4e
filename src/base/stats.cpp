// SPDX-License-Identifier: BSD-3-Clause
#include "base/stats.hpp"

namespace shm {

constinit std::array<std::atomic<std::uint64_t>, kStats> detail::stat_counters{};

namespace {

struct Row {
  const char* name;
  const char* help;
};

#define ATOLL_ROW_(NAME, HELP) {#NAME, HELP},
constexpr Row kRows[] = {SHMEMX_STATS(ATOLL_ROW_)};
#undef ATOLL_ROW_

std::uint64_t value_of(const StatValues& values, Stat stat) { return values[static_cast<std::size_t>(stat)]; }

}  // namespace

StatValues read_stats() {
  StatValues values;
  for (std::size_t i = 0; i < kStats; ++i) {
    values[i] = detail::stat_counters[i].load(std::memory_order_relaxed);
  }
  return values;
}

StatValues take_stats() {
  StatValues values;
  for (std::size_t i = 0; i < kStats; ++i) {
    values[i] = detail::stat_counters[i].exchange(0, std::memory_order_relaxed);
  }
  return values;
}

double mshr_miss_rate(const StatValues& values) {
  const std::uint64_t lines = value_of(values, Stat::lines), passed = lines + value_of(values, Stat::merged);
  if (passed == 0) return 0;
  return static_cast<double>(lines) / static_cast<double>(passed);
}

const char* stat_name(Stat stat) { return kRows[static_cast<std::size_t>(stat)].name; }
const char* stat_help(Stat stat) { return kRows[static_cast<std::size_t>(stat)].help; }

}  // namespace shm
