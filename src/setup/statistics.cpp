// SPDX-License-Identifier: BSD-3-Clause
#include "setup/statistics.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <string>

#include "coll/collectives.hpp"
#include "coll/teams.hpp"

namespace shm {
namespace {

std::string line(const std::string& head, const StatValues& values) {
  std::string text = head;
  char column[24];
  for (const std::uint64_t value : values) {
    std::snprintf(column, sizeof column, " %11" PRIu64, value);
    text += column;
  }
  return text + "\n";
}

std::string cell(const std::string& text) {
  return std::string(6 - std::min<std::size_t>(text.size(), 6), ' ') + text;
}

}  // namespace

void print_statistics(const StatValues& mine) {
  auto* source = reinterpret_cast<StatValues*>(rt.heap.base);
  StatValues* all = source + 1;
  std::memcpy(source, &mine, sizeof mine);
  fcollect(world_group(), {"shmem_finalize"}, all, source, sizeof mine);
  if (rt.me != 0) return;
  std::string text = "Operations between nodes, and what they took (SHMEM_STATS):\n" + cell("PE");
  StatValues total{};
  char column[24];
  for (std::size_t i = 0; i < kStats; ++i) {
    std::snprintf(column, sizeof column, " %11s", stat_name(static_cast<Stat>(i)));
    text += column;
  }
  text += "\n";
  for (unsigned pe = 0; pe < rt.npes; ++pe) {
    text += line(cell(std::to_string(pe)), all[pe]);
    for (std::size_t i = 0; i < kStats; ++i) total[i] += all[pe][i];
  }
  text += line(cell("total"), total);
  for (std::size_t i = 0; i < kStats; ++i) {
    const auto stat = static_cast<Stat>(i);
    text += std::string("  ") + stat_name(stat) + ": " + stat_help(stat) + "\n";
  }
  std::fputs(text.c_str(), stderr);
}

}  // namespace shm
