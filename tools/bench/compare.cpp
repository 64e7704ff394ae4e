// SPDX-License-Identifier: BSD-3-Clause
// shmem_bench compare: is what was measured now slower than before?  No SHMEM: it runs where no job can
// start.
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "command.hpp"
#include "json.hpp"
#include "ranks.hpp"

namespace bench {
namespace {

constexpr char kCompareUsage[] =
    "usage: shmem_bench compare [--threshold PERCENT] BEFORE.json AFTER.json\n"
    "Compares what two runs with --json have measured, row by row: the medians of their rounds, and whether "
    "the\n"
    "rounds differ by more than chance, by the rank test of Mann and Whitney. Of many rows as many are "
    "believed as\n"
    "let at most one of twenty changes be chance (Benjamini and Hochberg). A file may hold several runs, one "
    "behind\n"
    "the other: rows of the same kind count together.\n"
    "  --threshold PERCENT  what is less than this is no change (default 2)\n"
    "  -h, --help           this text\n"
    "Exit code: 0 if nothing is slower, 1 if something is, 2 for wrong arguments or files.\n";

struct Measured {
  std::vector<double> samples;
  std::string unit;
  bool less_is_better = true;
};

/// Rows by what was measured, and the machine.
struct File {
  std::map<std::string, Measured> rows;
  std::vector<std::string> order;
  Json environment;
};

/// What stands before "figure" says what was measured, what follows is what came out.
std::string key_of(const Json& row) {
  std::string key = row.text_of("kernel") + " " + row.text_of("what");
  for (const Json& member : row.members) {
    if (member.name == "figure") break;
    if (member.name != "kernel" && member.name != "what") key += " " + member.name + "=" + member.text;
  }
  return key;
}

/// False: it is not what --json writes; a line has said so.
bool read(const char* path, File& file) {
  std::ifstream stream(path);
  if (!stream) {
    std::fprintf(stderr, "shmem_bench compare: cannot read '%s'\n", path);
    return false;
  }
  std::size_t number = 0;
  for (std::string line; std::getline(stream, line);) {
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const std::optional<Json> row = parse_json(line);
    const Json* const environment = row ? row->find("environment") : nullptr;
    if (environment != nullptr) file.environment = *environment;
    if (environment != nullptr) continue;
    const Json* const figure = row ? row->find(row->text_of("figure")) : nullptr;
    if (figure == nullptr || figure->kind != Json::Kind::number || !std::isfinite(figure->number)) {
      std::fprintf(stderr, "shmem_bench compare: %s:%zu is no result of shmem_bench --json\n", path, number);
      return false;
    }
    const std::string key = key_of(*row);
    if (file.rows.count(key) == 0) file.order.push_back(key);
    Measured& measured = file.rows[key];
    measured.unit = row->text_of("unit");
    measured.less_is_better = row->text_of("better") != "more";
    const Json* const samples = row->find("samples");
    if (samples != nullptr && !samples->numbers.empty()) {
      measured.samples.insert(measured.samples.end(), samples->numbers.begin(), samples->numbers.end());
    } else {
      measured.samples.push_back(figure->number);
    }
  }
  if (!file.rows.empty()) return true;
  std::fprintf(stderr, "shmem_bench compare: %s has no results\n", path);
  return false;
}

struct Row {
  std::string key, unit;
  double before, after;
  double better;  ///< by how much it is quicker: 0.1 means by 10 %, -0.1 slower
  double p;
  bool enough;  ///< samples to tell anything by
};

std::vector<Row> paired(const File& before, const File& after) {
  std::vector<Row> rows;
  for (const std::string& key : before.order) {
    const auto found = after.rows.find(key);
    if (found == after.rows.end()) continue;
    const Measured &a = before.rows.at(key), &b = found->second;
    const double from = median(a.samples), to = median(b.samples);
    const double quicker = a.less_is_better ? from / to - 1 : to / from - 1;
    rows.push_back({key, a.unit, from, to, quicker, rank_test(a.samples, b.samples),
                    least_p(a.samples.size(), b.samples.size()) <= 0.05});
  }
  return rows;
}

void say_environments(const File& before, const File& after) {
  for (const char* name :
       {"host", "cpu", "cores", "governor", "pes", "nodes", "provider", "version", "commit", "build"}) {
    const std::string a = before.environment.text_of(name), b = after.environment.text_of(name);
    if (a != b) std::printf("# %s: %s, then %s\n", name, a.c_str(), b.c_str());
  }
}

/// How many rows only one of the files has.
std::size_t unmatched(const File& a, const File& b) {
  std::size_t count = 0;
  for (const std::string& key : a.order) count += b.rows.count(key) == 0 ? 1 : 0;
  return count;
}

int say_verdict(const std::vector<Row>& rows, std::size_t alone, double threshold) {
  std::vector<double> p;
  for (const Row& row : rows) p.push_back(row.p);
  const std::vector<bool> changed = believed(p);
  std::size_t slower = 0, faster = 0, unclear = 0;
  double logs = 0;
  std::printf("%-60s %12s %12s %9s %9s  verdict\n", "# what", "before", "after", "change", "p");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    const char* verdict = "same";
    if (!row.enough) {
      verdict = "too few rounds to tell";
      ++unclear;
    } else if (changed[i] && std::abs(row.better) >= threshold) {
      verdict = row.better > 0 ? "faster" : "slower";
      ++(row.better > 0 ? faster : slower);
    }
    logs += std::log1p(row.better);
    std::printf("%-60s %12.5g %12.5g %+8.1f%% %9.2g  %s\n", row.key.c_str(), row.before, row.after,
                100 * row.better, row.p, verdict);
  }
  std::printf(
      "verdict: %s; of %zu rows %zu faster, %zu slower, %zu with too few rounds; %+.1f%% on (geometric) "
      "average",
      slower > 0               ? "slower"
      : faster > 0             ? "faster"
      : unclear == rows.size() ? "cannot tell"
                               : "no change",
      rows.size(), faster, slower, unclear, 100 * std::expm1(logs / static_cast<double>(rows.size())));
  if (alone > 0) std::printf("; %zu rows are in one file only", alone);
  std::printf("\n");
  return slower > 0 ? 1 : 0;
}

int wrong_usage() {
  std::fputs(kCompareUsage, stderr);
  return 2;
}

}  // namespace

int compare(Words words) {
  double percent = 2;
  std::vector<const char*> files;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string word = words[i];
    if (word == "-h" || word == "--help") {
      std::fputs(kCompareUsage, stdout);
      return 0;
    }
    if (word == "--threshold" && i + 1 < words.size()) {
      char* end = nullptr;
      percent = std::strtod(words[++i], &end);
      if (*words[i] == '\0' || *end != '\0' || !(percent >= 0 && percent <= 100)) return wrong_usage();
    } else if (word.size() > 1 && word[0] == '-') {
      return wrong_usage();
    } else {
      files.push_back(words[i]);
    }
  }
  if (files.size() != 2) return wrong_usage();
  File before, after;
  if (!read(files[0], before) || !read(files[1], after)) return 2;
  const std::vector<Row> rows = paired(before, after);
  if (rows.empty()) {
    std::fputs("shmem_bench compare: the files have no row in common\n", stderr);
    return 2;
  }
  say_environments(before, after);
  return say_verdict(rows, unmatched(before, after) + unmatched(after, before), percent / 100);
}

}  // namespace bench
