// SPDX-License-Identifier: BSD-3-Clause
#include "roster.hpp"

namespace oshrun {
namespace {

constexpr const char* kPe = "PE ";
constexpr const char* kServer = "memory server ";

std::string counted(int number, const char* what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

}  // namespace

std::string Roster::name(int rank) const {
  return is_pe(rank) ? kPe + std::to_string(rank) : kServer + std::to_string(rank - pes);
}

std::string Roster::names(const std::vector<int>& ranks) const {
  std::vector<int> of_pes, of_servers;
  for (const int rank : ranks) {
    if (is_pe(rank)) {
      of_pes.push_back(rank);
    } else {
      of_servers.push_back(rank - pes);
    }
  }
  std::string text;
  if (!of_pes.empty()) text = kPe + number_list(of_pes);
  if (!of_pes.empty() && !of_servers.empty()) text += " and ";
  if (!of_servers.empty()) text += kServer + number_list(of_servers);
  return text;
}

std::string Roster::count() const {
  const std::string text = counted(pes, "PE");
  return servers == 0 ? text : text + " and " + counted(servers, "memory server");
}

std::string number_list(const std::vector<int>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    text += (text.empty() ? "" : ", ") + std::to_string(numbers[i]);
    if (last > i) text += (last == i + 1 ? ", " : "-") + std::to_string(numbers[last]);
    i = last + 1;
  }
  return text;
}

}  // namespace oshrun
