// SPDX-License-Identifier: BSD-3-Clause
#include "repeats.hpp"

#include <algorithm>

namespace oshrun {
namespace {

constexpr std::string_view kHead = "atoll: ";

/// What a line of the library says, without who says it ("PE 2 of 4 on host: ", "memory server 0 on host: "),
/// which is missing before shmem_init knows.
std::string_view text_of(std::string_view line) {
  line.remove_prefix(kHead.size());
  const std::size_t end = line.find(": ");
  const bool named = (line.starts_with("PE ") || line.starts_with("memory server ")) && end != line.npos &&
                     line.substr(0, end).find(" on ") != line.npos;
  return named ? line.substr(end + 2) : line;
}

/// Addresses ("0x7f00") are each process's own: the same mistake may have another in each.
std::string without_addresses(std::string_view text) {
  std::string kept;
  while (true) {
    const std::size_t address = text.find("0x");
    kept += text.substr(0, address);
    if (address == text.npos) return kept;
    kept += "0x";
    text.remove_prefix(address + 2);
    text.remove_prefix(std::min(text.find_first_not_of("0123456789abcdef"), text.size()));
  }
}

}  // namespace

bool Repeats::repeats(int rank, std::string_view line, Clock::time_point now) {
  if (!line.starts_with(kHead) || !line.ends_with('\n')) return false;
  std::string text = without_addresses(text_of(line));
  auto at = said_.find(text);
  if (at == said_.end()) {
    at = said_.emplace(std::move(text), Said{rank, {}, now + kTogether}).first;
    in_order_.push_back(at);
  }
  Said& said = at->second;
  if (rank == said.first) return false;
  said.others.insert(rank);
  return true;
}

std::string Repeats::first_of(int rank, std::string_view text, Clock::time_point now) {
  std::string kept;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, std::min(text.find('\n'), text.size() - 1) + 1);
    if (!repeats(rank, line, now)) kept += line;
    text.remove_prefix(line.size());
  }
  return kept;
}

std::optional<Repeats::Clock::time_point> Repeats::deadline() const {
  if (in_order_.empty()) return std::nullopt;
  return in_order_.front()->second.forget_at;
}

std::vector<std::string> Repeats::summary(Clock::time_point until) {
  std::vector<std::string> lines;
  while (!in_order_.empty() && in_order_.front()->second.forget_at <= until) {
    const Said& said = in_order_.front()->second;
    if (const std::vector<int> others(said.others.begin(), said.others.end()); !others.empty())
      lines.push_back("oshrun: " + roster_.names(others) + " said the same as " + roster_.name(said.first));
    said_.erase(in_order_.front());
    in_order_.pop_front();
  }
  return lines;
}

}  // namespace oshrun
