// SPDX-License-Identifier: BSD-3-Clause
#include "debugger.hpp"

#include <algorithm>
#include <string_view>

#include "engine.hpp"
#include "words.hpp"

namespace oshrun {
namespace {

constexpr int kMostOfRange = 4096;

/// "2", "5-7".
bool add_range(const std::string& text, std::vector<int>& pes) {
  const std::size_t dash = text.find('-');
  const std::optional<int> first = whole_number(text.substr(0, dash));
  const std::optional<int> last = dash == text.npos ? first : whole_number(text.substr(dash + 1));
  if (!first || !last || *first < 0 || *last < *first || *last - *first >= kMostOfRange) return false;
  for (int pe = *first; pe <= *last; ++pe) pes.push_back(pe);
  return true;
}

bool read_pes(const std::string& list, std::vector<int>& pes) {
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    if (!add_range(list.substr(begin, end - begin), pes)) return false;
    begin = end + 1;
  }
  std::ranges::sort(pes);
  pes.erase(std::unique(pes.begin(), pes.end()), pes.end());
  return true;
}

}  // namespace

std::optional<Debugging> debugging_of(const std::string& text) {
  Debugging debugging;
  if (text.empty()) return debugging;
  const std::size_t colon = text.rfind(':');
  const bool only_pes = colon == text.npos && text.find_first_not_of("0123456789,-") == text.npos;
  if (!only_pes) debugging.debugger = text.substr(0, colon);
  if (debugging.debugger.empty() || debugging.debugger.front() == '-') return std::nullopt;
  if (!only_pes && colon == text.npos) return debugging;
  if (!read_pes(only_pes ? text : text.substr(colon + 1), debugging.pes)) return std::nullopt;
  return debugging;
}

std::vector<std::string> debugger_command(const std::string& path, const std::string& debugger, pid_t pid) {
  const std::string name = debugger.substr(debugger.rfind('/') + 1);
  std::vector<std::string> words{path};
  const bool is_gdb = name.find("gdb") != name.npos;
  if (is_gdb) words.insert(words.end(), {"-q"});
  words.insert(words.end(), {"-p", std::to_string(pid)});
  // The library asks by SIGURG who waits for whom.
  if (is_gdb)
    words.insert(words.end(), {"-ex", "handle SIGURG nostop noprint pass", "-ex", "tcatch exec", "-ex",
                               "continue", "-ex", "tbreak main", "-ex", "continue"});
  return words;
}

std::vector<std::string> window_command(const std::string& tmux, const std::string& session, bool first,
                                        const std::string& name, const std::vector<std::string>& command) {
  std::vector<std::string> words{tmux};
  if (session.empty()) {
    words.insert(words.end(), {"new-window", "-d", "-n", name});
  } else if (first) {
    words.insert(words.end(), {"new-session", "-d", "-s", session, "-n", name});
  } else {
    words.insert(words.end(), {"new-window", "-d", "-t", session + ":", "-n", name});
  }
  words.push_back(shell_line(command));
  return words;
}

bool is_traced(const std::string& status) {
  const std::string_view field = "\nTracerPid:\t";
  const std::size_t at = status.find(field);
  return at != status.npos && status.substr(at + field.size(), 2) != "0\n";
}

}  // namespace oshrun
