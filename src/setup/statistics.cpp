// SPDX-License-Identifier: BSD-3-Clause
#include "setup/statistics.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "coll/collectives.hpp"
#include "coll/memory.hpp"
#include "coll/teams.hpp"
#include "pages/swap_stages.hpp"
#include "setup/remote_memory.hpp"

namespace shm {
namespace {

constexpr const char* kRateName = "mshr_miss_rate";
constexpr const char* kRateHelp = "lines / (lines + merged)";
constexpr std::size_t kWidest = 120;  // characters of a line, if the columns can be so few

std::string rate_text(const StatValues& values) {
  char text[24];
  std::snprintf(text, sizeof text, "%.4f", mshr_miss_rate(values));
  return text;
}

/// How long a swap takes from point to point, in the mean; nothing if there was none.
std::string stages_text(const StatValues& values) {
  using pages::SwapStages;
  const auto value = [&values](Stat stat) {
    return static_cast<double>(values[static_cast<std::size_t>(stat)]);
  };
  if (value(Stat::swaps) == 0) return "";
  std::string text = "  a swap in the mean, us:";
  for (std::size_t i = 0; i < SwapStages::kStages; ++i) {
    char stage[48];
    std::snprintf(stage, sizeof stage, "%s A%zu-A%zu %.4g", i > 0 ? "," : "", i + 1, i + 2,
                  value(SwapStages::kSums[i]) / 1e3 / value(Stat::swaps));
    text += stage;
  }
  return text + "\n";
}

/// From top to bottom: the head, the PEs, the total.
using Column = std::vector<std::string>;

std::size_t width_of(const Column& column) {
  const auto longer = [](const std::string& a, const std::string& b) { return a.size() < b.size(); };
  return std::max_element(column.begin(), column.end(), longer)->size() + 2;
}

/// The columns side by side, each line ended.
std::string beside(const std::vector<Column>& columns) {
  std::string text;
  for (std::size_t row = 0; row < columns.front().size(); ++row) {
    for (const Column& column : columns) {
      text += std::string(width_of(column) - column[row].size(), ' ') + column[row];
    }
    text += "\n";
  }
  return text;
}

/// The same, in as many blocks as lines of kWidest ask for; each begins with `label`.
std::string in_blocks(const Column& label, const std::vector<Column>& columns) {
  std::string text;
  std::vector<Column> block{label};
  std::size_t width = width_of(label);
  for (const Column& column : columns) {
    if (block.size() > 1 && width + width_of(column) > kWidest) {
      text += beside(block);
      block = {label};
      width = width_of(label);
    }
    block.push_back(column);
    width += width_of(column);
  }
  return text + beside(block);
}

StatValues sum_of(const std::vector<StatValues>& of_pes) {
  StatValues total{};
  for (const StatValues& values : of_pes) {
    for (std::size_t i = 0; i < kStats; ++i) total[i] += values[i];
  }
  return total;
}

/// `cell(values)` for each PE and for the total.
template <class F>
Column column_of(const char* name, const std::vector<StatValues>& of_pes, const StatValues& total, F cell) {
  Column column{name};
  for (const StatValues& values : of_pes) column.push_back(cell(values));
  column.push_back(cell(total));
  return column;
}

Column labels(std::size_t npes) {
  Column column{"PE"};
  for (std::size_t pe = 0; pe < npes; ++pe) column.push_back(std::to_string(pe));
  column.emplace_back("total");
  return column;
}

/// Collective.  Overwrites the start of the heap, where few at a time have room.
std::vector<remote::ServerUse> sum_over_pes(std::vector<remote::ServerUse> uses) {
  constexpr std::size_t kAtATime = 64, kCounts = sizeof(remote::ServerUse) / sizeof(std::uint64_t);
  auto* source = reinterpret_cast<remote::ServerUse*>(rt.heap.base);
  for (std::size_t first = 0; first < uses.size(); first += kAtATime) {
    const std::size_t n = std::min(kAtATime, uses.size() - first);
    std::copy_n(&uses[first], n, source);
    reduce(world_group(), {"shmem_finalize"}, kReduction<ReduceOp::sum, std::uint64_t>, source + n, source,
           n * kCounts);
    std::copy_n(source + n, n, &uses[first]);
  }
  return uses;
}

// At once: other PEs print too.
void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stderr); }

}  // namespace

std::string statistics_table(const std::vector<StatValues>& of_pes) {
  const std::string title = "Operations between nodes, and what they took (SHMEM_STATS):";
  const StatValues total = sum_of(of_pes);
  if (total == StatValues{}) return title + " none, all counters are 0\n";
  std::vector<Column> columns;
  std::string legend, zeros;
  for (std::size_t i = 0; i < kStats; ++i) {
    const std::string name = stat_name(static_cast<Stat>(i));
    if (total[i] == 0) {
      zeros += (zeros.empty() ? "" : ", ") + name;
    } else {
      const auto cell = [i](const StatValues& values) { return std::to_string(values[i]); };
      columns.push_back(column_of(name.c_str(), of_pes, total, cell));
      legend += "  " + name + ": " + stat_help(static_cast<Stat>(i)) + "\n";
    }
  }
  if (total[static_cast<std::size_t>(Stat::executed)] > 0) {
    columns.push_back(column_of(kRateName, of_pes, total, rate_text));
    legend += std::string("  ") + kRateName + ": " + kRateHelp + "\n";
  }
  if (!zeros.empty()) legend += "  0 on all PEs: " + zeros + "\n";
  return title + "\n" + in_blocks(labels(of_pes.size()), columns) + legend + stages_text(total);
}

std::string statistics_list(int pe, unsigned npes, const StatValues& values) {
  std::string text =
      "PE " + std::to_string(pe) + " of " + std::to_string(npes) +
      ": operations between nodes, and what they took, since shmem_init or shmemx_stats_reset:\n";
  const auto add = [&](const char* name, const std::string& value, const char* help) {
    char line[160];
    std::snprintf(line, sizeof line, "  %-16s %14s  %s\n", name, value.c_str(), help);
    text += line;
  };
  for (std::size_t i = 0; i < kStats; ++i) {
    const auto stat = static_cast<Stat>(i);
    add(stat_name(stat), std::to_string(values[i]), stat_help(stat));
  }
  add(kRateName, rate_text(values), kRateHelp);
  return text + stages_text(values);
}

std::string memory_servers_table(const std::vector<remote::ServerUse>& uses) {
  using remote::ServerUse;
  if (std::ranges::all_of(uses, [](const ServerUse& use) { return use == ServerUse{}; })) return "";
  const std::pair<const char*, std::uint64_t ServerUse::*> members[] = {
      {"lent", &ServerUse::lent},
      {"reads", &ServerUse::reads},
      {"read_bytes", &ServerUse::read_bytes},
      {"writes", &ServerUse::writes},
      {"write_bytes", &ServerUse::write_bytes}};
  std::vector<Column> columns{{"memory server"}};
  for (std::size_t server = 0; server < uses.size(); ++server)
    columns.front().push_back(std::to_string(server));
  for (const auto& [name, member] : members) {
    Column& column = columns.emplace_back(Column{name});
    for (const ServerUse& use : uses) column.push_back(std::to_string(use.*member));
  }
  return beside(columns) +
         "  lent: bytes that PEs had leased, the most at a time of each; reads, writes: of pages or parts of "
         "them\n";
}

void print_statistics() {
  take_over_heap((1 + static_cast<std::size_t>(rt.npes)) * sizeof(StatValues));
  auto* source = reinterpret_cast<StatValues*>(rt.heap.base);
  StatValues* all = source + 1;
  *source = read_stats();
  fcollect(world_group(), {"shmem_finalize"}, all, source, sizeof *source);
  const std::string table = rt.me == 0 ? statistics_table({all, all + rt.npes}) : "";
  const std::string servers = memory_servers_table(sum_over_pes(memory_server_uses()));
  if (rt.me == 0) print(table + servers);
}

void print_own_statistics() {
  print(statistics_list(rt.me, rt.npes, read_stats()) + memory_servers_table(memory_server_uses()));
}

}  // namespace shm
