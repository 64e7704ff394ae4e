// SPDX-License-Identifier: BSD-3-Clause
#include "pairs.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/format.hpp"
#include "base/human.hpp"

namespace observe {

using shm::format;
namespace {

constexpr char kShades[] = ".:-=+*#%@";  // what is little, to what is much
constexpr int kSteps = sizeof kShades - 1;
constexpr int kWidest = 64;   // columns in a terminal
constexpr int kDetailed = 8;  // so many PEs get numbers, too
constexpr std::size_t kBusiest = 5;

unsigned long long number(std::uint64_t value) { return value; }

/// What heat is made from: bytes, and 8 for each operation, so that an atomic or a signal counts.
std::uint64_t weight(const Talk& talk) { return talk.bytes + 8 * talk.operations; }

std::uint64_t most_of(const Pairs& pairs) {
  std::uint64_t most = 0;
  for (int row = 0; row < pairs.side(); ++row)
    for (int column = 0; column < pairs.side(); ++column)
      most = std::max(most, weight(pairs.at(row, column)));
  return most;
}

struct Pair {
  int row, column;
  Talk talk;
};
std::vector<Pair> busiest(const Pairs& pairs) {
  std::vector<Pair> all;
  for (int row = 0; row < pairs.side(); ++row) {
    for (int column = 0; column < pairs.side(); ++column) {
      if (pairs.at(row, column).operations > 0) all.push_back({row, column, pairs.at(row, column)});
    }
  }
  const std::size_t shown = std::min(all.size(), kBusiest);
  std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(shown), all.end(),
                    [](const Pair& a, const Pair& b) {
                      if (weight(a.talk) != weight(b.talk)) return weight(a.talk) > weight(b.talk);
                      return a.row != b.row ? a.row < b.row : a.column < b.column;
                    });
  all.resize(shown);
  return all;
}

std::string map_in_numbers(const Pairs& pairs, std::uint64_t most) {
  std::string text = "   from\\to";
  for (int column = 0; column < pairs.side(); ++column) text += format(" %12s", pairs.name(column).c_str());
  text += "\n";
  for (int row = 0; row < pairs.side(); ++row) {
    text += format("  %8s", pairs.name(row).c_str());
    for (int column = 0; column < pairs.side(); ++column) {
      const Talk& talk = pairs.at(row, column);
      const int step = heat(weight(talk), most, kSteps);
      text += step == 0 ? format(" %12s", "")
                        : format(" %10s %c", shm::human_bytes(talk.bytes).c_str(), kShades[step - 1]);
    }
    text += "\n";
  }
  return text;
}

std::string map_in_shades(const Pairs& pairs, std::uint64_t most) {
  std::string text;
  for (int row = 0; row < pairs.side(); ++row) {
    text += format("  %13s |", pairs.name(row).c_str());
    for (int column = 0; column < pairs.side(); ++column) {
      const int step = heat(weight(pairs.at(row, column)), most, kSteps);
      text += step == 0 ? ' ' : kShades[step - 1];
    }
    text += "|\n";
  }
  return text + format("  %13s  columns: PEs %s to %s\n", "", pairs.name(0).c_str(),
                       pairs.name(pairs.side() - 1).c_str());
}

}  // namespace

Pairs::Pairs(int npes, int most)
    : npes_(npes),
      group_((npes + most - 1) / most),
      side_((npes + group_ - 1) / group_),
      cells_(static_cast<std::size_t>(side_) * static_cast<std::size_t>(side_)) {}

void Pairs::add(int from, int to, Talk talk) {
  Talk& cell = at(from / group_, to / group_);
  cell.operations += talk.operations;
  cell.bytes += talk.bytes;
}

std::string Pairs::name(int row) const {
  const int first = row * group_, last = std::min(first + group_, npes_) - 1;
  return first == last ? std::to_string(first) : std::to_string(first) + "-" + std::to_string(last);
}

bool Pairs::empty() const {
  return std::all_of(cells_.begin(), cells_.end(), [](const Talk& talk) { return talk.operations == 0; });
}

Pairs coarser(const Pairs& pairs, int most) {
  Pairs few(pairs.npes(), most);
  for (int row = 0; row < pairs.side(); ++row)
    for (int column = 0; column < pairs.side(); ++column)
      few.add(row * pairs.group(), column * pairs.group(), pairs.at(row, column));
  return few;
}

int heat(std::uint64_t value, std::uint64_t most, int steps) {
  if (value == 0 || most == 0) return 0;
  const double part = 1 + std::log2(static_cast<double>(value) / static_cast<double>(most)) / 10;
  return std::clamp(static_cast<int>(std::ceil(part * steps)), 1, steps);
}

std::string heat_map(const Pairs& pairs) {
  const std::string title = "Who talked to whom (SHMEM_STATS):";
  if (pairs.empty()) return title + " nobody, by puts, gets, atomics, signals or keys\n";
  const Pairs shown = coarser(pairs, kWidest);
  const std::uint64_t most = most_of(shown);
  std::string text = title + " bytes from the PE that called (row) to the one that it named (column)\n";
  text += shown.side() <= kDetailed ? map_in_numbers(shown, most) : map_in_shades(shown, most);
  text +=
      format("  shades: %s, 1/1024 of the most to the most; an operation counts as 8 bytes more\n", kShades);
  for (const Pair& pair : busiest(shown)) {
    text += format("  PE %s to PE %s: %s in %llu operations\n", shown.name(pair.row).c_str(),
                   shown.name(pair.column).c_str(), shm::human_bytes(pair.talk.bytes).c_str(),
                   number(pair.talk.operations));
  }
  return text;
}

std::string svg_of(const Pairs& pairs) {
  const int cell = std::max(2, 640 / pairs.side()), left = 90, top = 60, side = cell * pairs.side();
  const std::uint64_t most = most_of(pairs);
  std::string text = format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\" "
      "font-size=\"12\">\n<title>Who talked to whom, %d PEs</title>\n",
      left + side + 20, top + side + 20, pairs.npes());
  text += format(
      "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n<text x=\"%d\" y=\"20\">to PE (columns), from "
      "PE (rows): "
      "bytes, darker is more</text>\n",
      left);
  text += format("<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"#f4f4f4\" stroke=\"#888\"/>\n",
                 left, top, side, side);
  const int between = std::max(1, 16 / cell);  // labels must not meet
  for (int row = 0; row < pairs.side(); row += between) {
    const int at = row * cell + cell / 2;
    text += format("<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n", left - 6, top + at + 4,
                   pairs.name(row).c_str());
    text += format("<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text>\n", left + at, top - 6,
                   pairs.name(row).c_str());
  }
  for (int row = 0; row < pairs.side(); ++row) {
    for (int column = 0; column < pairs.side(); ++column) {
      const Talk& talk = pairs.at(row, column);
      const int step = heat(weight(talk), most, 100);
      if (step == 0) continue;
      text += format(
          "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"hsl(215,80%%,%d%%)\"><title>PE %s to PE "
          "%s: %llu "
          "bytes, %llu operations</title></rect>\n",
          left + column * cell, top + row * cell, cell, cell, 92 - step * 67 / 100, pairs.name(row).c_str(),
          pairs.name(column).c_str(), number(talk.bytes), number(talk.operations));
    }
  }
  return text + "</svg>\n";
}

std::string json_of(const Pairs& pairs) {
  std::string text = format("{\"pes\":%d,\"pes_per_group\":%d,\"pairs\":[", pairs.npes(), pairs.group());
  bool begun = false;
  for (int row = 0; row < pairs.side(); ++row) {
    for (int column = 0; column < pairs.side(); ++column) {
      const Talk& talk = pairs.at(row, column);
      if (talk.operations == 0) continue;
      text +=
          format("%s\n{\"from\":%d,\"to\":%d,\"operations\":%llu,\"bytes\":%llu}", begun ? "," : "",
                 row * pairs.group(), column * pairs.group(), number(talk.operations), number(talk.bytes));
      begun = true;
    }
  }
  return text + "\n]}\n";
}

}  // namespace observe
