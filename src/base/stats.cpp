// SPDX-License-Identifier: BSD-3-Clause
#include "base/stats.hpp"

namespace shm {
namespace {

struct Row {
  const char* name;
  const char* help;
};

constexpr Row kRows[] = {
#define STAT(name, help) {#name, help},
#include "base/stats.def"
#undef STAT
};

}  // namespace

StatValues take_stats() {
  StatValues values;
  for (std::size_t i = 0; i < kStats; ++i) {
    values[i] = detail::stat_counters[i].exchange(0, std::memory_order_relaxed);
  }
  return values;
}

const char* stat_name(Stat stat) { return kRows[static_cast<std::size_t>(stat)].name; }
const char* stat_help(Stat stat) { return kRows[static_cast<std::size_t>(stat)].help; }

}  // namespace shm
