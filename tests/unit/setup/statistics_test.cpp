// SPDX-License-Identifier: BSD-3-Clause
#include "setup/statistics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <sstream>

namespace shm {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

StatValues with(std::initializer_list<std::pair<Stat, std::uint64_t>> counters) {
  StatValues values{};
  for (const auto& [stat, value] : counters) values[static_cast<std::size_t>(stat)] = value;
  return values;
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream in(line);
  return {std::istream_iterator<std::string>(in), {}};
}

/// What a reader of the table sees: label of the row -> name of the column -> cell.
std::map<std::string, std::map<std::string, std::string>> read_table(const std::string& text) {
  std::map<std::string, std::map<std::string, std::string>> rows;
  std::istringstream in(text);
  std::vector<std::string> names;
  for (std::string line; std::getline(in, line);) {
    const std::vector<std::string> words = words_of(line);
    if (words.at(0) == "PE") names = words;
    if (names.empty() || words.size() != names.size() || words.at(0) == "PE") continue;
    for (std::size_t i = 1; i < words.size(); ++i) rows[words[0]][names[i]] = words[i];
  }
  return rows;
}

TEST(Statistics, TableHasEachPeAndTheSums) {
  const std::string text = statistics_table({with({{Stat::puts, 7}, {Stat::put_bytes, 56}}),
                                             with({{Stat::puts, 35}, {Stat::posts, 12345678901234}})});
  auto rows = read_table(text);
  EXPECT_EQ(rows["0"]["puts"], "7");
  EXPECT_EQ(rows["1"]["puts"], "35");
  EXPECT_EQ(rows["total"]["puts"], "42");
  EXPECT_EQ(rows["1"]["put_bytes"], "0");
  EXPECT_EQ(rows["total"]["posts"], "12345678901234");
  EXPECT_THAT(text, HasSubstr("  puts: puts issued\n"));
}

TEST(Statistics, TableLeavesOutWhatIsZeroEverywhere) {
  const std::string text = statistics_table({with({{Stat::puts, 7}}), with({{Stat::gets, 1}})});
  EXPECT_EQ(read_table(text)["total"].size(), 2u);
  EXPECT_THAT(text, Not(HasSubstr("  packets:")));
  EXPECT_THAT(text, HasSubstr("0 on all PEs: atomics, put_bytes, "));
  EXPECT_THAT(text, Not(HasSubstr("mshr_miss_rate"))) << "nothing was executed";
  EXPECT_THAT(statistics_table({StatValues{}, StatValues{}}), HasSubstr("none, all counters are 0\n"));
}

TEST(Statistics, MissRateOfTheTotalIsNotTheSumOfTheRates) {
  auto rows = read_table(statistics_table(
      {with({{Stat::executed, 100}, {Stat::merged, 50}, {Stat::lines, 50}}),
       with({{Stat::executed, 900}, {Stat::merged, 270}, {Stat::lines, 30}}), StatValues{}}));
  EXPECT_EQ(rows["0"]["mshr_miss_rate"], "0.5000");
  EXPECT_EQ(rows["1"]["mshr_miss_rate"], "0.1000");
  EXPECT_EQ(rows["2"]["mshr_miss_rate"], "0.0000");
  EXPECT_EQ(rows["total"]["mshr_miss_rate"], "0.2000");
}

TEST(Statistics, MemoryServersHaveRowsOfTheirOwn) {
  EXPECT_EQ(memory_servers_table({}), "");
  EXPECT_EQ(memory_servers_table({{}, {}}), "");
  const std::string text = memory_servers_table({{4096, 3, 300, 2, 20}, {8192, 5, 0, 1, 7}});
  EXPECT_THAT(text, HasSubstr("  memory server  lent  reads  read_bytes  writes  write_bytes\n"));
  EXPECT_THAT(text, HasSubstr("              0  4096      3         300       2           20\n"));
  EXPECT_THAT(text, HasSubstr("              1  8192      5           0       1            7\n"));
}

TEST(Statistics, StagesOfSwapsAreMeansOfAllPes) {
  const StatValues one = with({{Stat::swaps, 1}, {Stat::swap_queued_ns, 4000}, {Stat::swap_ended_ns, 500}});
  const StatValues three =
      with({{Stat::swaps, 3}, {Stat::swap_queued_ns, 4000}, {Stat::swap_received_ns, 800000}});
  const char* const mean = "  a swap in the mean, us: A1-A2 2, A2-A3 200, A3-A4 0, A4-A5 0, A5-A6 0.125\n";
  EXPECT_THAT(statistics_table({one, three}), HasSubstr(mean));
  EXPECT_THAT(statistics_list(0, 1, one), HasSubstr("us: A1-A2 4, A2-A3 0, A3-A4 0, A4-A5 0, A5-A6 0.5\n"));
  EXPECT_THAT(statistics_table({with({{Stat::puts, 1}})}), Not(HasSubstr("a swap")));
}

// All columns, with large numbers: in blocks, none of them too wide, nothing lost.
TEST(Statistics, WideTableGoesOnBelow) {
  StatValues values;
  for (std::size_t i = 0; i < kStats; ++i) values[i] = 1000000000000 + i;
  const std::string text = statistics_table({values, values});
  std::istringstream in(text);
  std::size_t blocks = 0;
  for (std::string line; std::getline(in, line);) {
    EXPECT_LE(line.size(), 120u) << line;
    blocks += words_of(line).at(0) == "PE";
  }
  EXPECT_LE(blocks, kStats / 4) << "columns stand side by side as far as they can";
  auto rows = read_table(text);
  ASSERT_EQ(rows["total"].size(), kStats + 1);
  for (std::size_t i = 0; i < kStats; ++i) {
    EXPECT_EQ(rows["0"][stat_name(static_cast<Stat>(i))], std::to_string(values[i]));
    EXPECT_EQ(rows["total"][stat_name(static_cast<Stat>(i))], std::to_string(2 * values[i]));
  }
}

TEST(Statistics, ListHasEveryCounterAndWhatItMeans) {
  const std::string text =
      statistics_list(3, 8, with({{Stat::executed, 4}, {Stat::lines, 1}, {Stat::merged, 3}}));
  EXPECT_EQ(text.rfind("PE 3 of 8: ", 0), 0u);
  std::istringstream in(text);
  std::map<std::string, std::vector<std::string>> lines;
  for (std::string line; std::getline(in, line);) lines[words_of(line).at(0)] = words_of(line);
  ASSERT_EQ(lines.size(), kStats + 2);  // and the head, and the rate
  for (std::size_t i = 0; i < kStats; ++i) {
    EXPECT_THAT(text, HasSubstr(std::string("  ") + stat_help(static_cast<Stat>(i)) + "\n"));
  }
  EXPECT_EQ(lines["executed"].at(1), "4");
  EXPECT_EQ(lines["mshr_miss_rate"].at(1), "0.2500");
}

}  // namespace
}  // namespace shm
