// SPDX-License-Identifier: BSD-3-Clause
#include "wait_summary.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "roster.hpp"

namespace oshrun {
namespace {

using shm::WaitRecord;

/// Two PEs that are asked at slightly different times may seem to wait for each other; not for this long (s).
constexpr double kSurely = 0.5;

constexpr std::size_t kMostLines = 40;  // of groups: more say nothing to a person

std::string seconds_text(double seconds) {
  char text[32];
  snprintf(text, sizeof text, "%.1f s", seconds);
  return text;
}

bool known(const std::vector<PeWaits>& pes, int pe) {
  return pe >= 0 && static_cast<std::size_t>(pe) < pes.size();
}
const PeWaits& at(const std::vector<PeWaits>& pes, int pe) { return pes[static_cast<std::size_t>(pe)]; }

/// The wait of `pe` in `call`, or null.
const WaitRecord* wait_in(const std::vector<PeWaits>& pes, int pe, const std::string& call) {
  if (!known(pes, pe)) return nullptr;
  for (const WaitRecord& wait : at(pes, pe).waits)
    if (call == wait.call && known(pes, wait.for_pe)) return &wait;
  return nullptr;
}

/// In a tree of a collective call most wait for one that itself only waits: whom they all wait for in the
/// end.
int last_of_chain(const std::vector<PeWaits>& pes, const WaitRecord& wait) {
  std::set<int> seen;
  int pe = wait.for_pe;
  while (const WaitRecord* next = wait_in(pes, pe, wait.call)) {
    if (!seen.insert(pe).second) return wait.for_pe;  // a circle, which has a line of its own
    pe = next->for_pe;
  }
  return pe;
}

/// One line for each group of PEs whose threads say the same.
std::vector<std::string> group_lines(const std::vector<PeWaits>& pes, double at_least) {
  struct Group {
    std::vector<int> pes;
    double longest = 0;
  };
  std::map<std::string, Group> groups;
  std::vector<std::string> order;
  for (std::size_t pe = 0; pe < pes.size(); ++pe) {
    for (const WaitRecord& wait : pes[pe].waits) {
      if (wait.seconds < at_least) continue;
      const std::string text = std::string(wait.call) + " waits " + wait.what;
      Group& group = groups[text];
      if (group.pes.empty()) order.push_back(text);
      if (group.pes.empty() || group.pes.back() != static_cast<int>(pe))
        group.pes.push_back(static_cast<int>(pe));
      group.longest = std::max(group.longest, wait.seconds);
    }
  }
  std::vector<std::string> lines;
  for (const std::string& text : order) {
    if (lines.size() == kMostLines) {
      lines.push_back("... and " + std::to_string(order.size() - kMostLines) + " more");
      break;
    }
    const Group& group = groups[text];
    lines.push_back("PE " + number_list(group.pes) + ": " + text + " (" + seconds_text(group.longest) + ")");
  }
  return lines;
}

/// Why PEs, each with one wait, wait in a circle, if it is in collective operations.
std::string why_in_a_circle(const std::vector<PeWaits>& pes, std::span<const int> circle) {
  const WaitRecord& first = at(pes, circle.front()).waits.front();
  bool collective = true, known_group = true, same = true, as_often = true;
  std::string counts;
  for (const int pe : circle) {
    const WaitRecord& wait = at(pes, pe).waits.front();
    collective = collective && std::strstr(wait.what, shm::kNotAsFar) != nullptr;
    known_group = known_group && wait.group >= 0;
    same = same && wait.group == first.group && std::strcmp(wait.call, first.call) == 0;
    as_often = as_often && wait.calls == first.calls;
    counts +=
        (counts.empty() ? "PE " : ", PE ") + std::to_string(pe) + " has made " + std::to_string(wait.calls);
  }
  if (!collective) return "";
  if (!known_group) return ": they may have called different collective operations, or in different orders";
  if (!same) return ": they have called different collective operations, or in different orders";
  if (!as_often) return ": some have made more collective calls of this team than others: " + counts;
  return ": they are in the same call of the same team: their arguments differ, a message was lost, or it is "
         "still under way";
}

bool is_in_one_call(const std::vector<PeWaits>& pes, std::span<const int> circle) {
  const WaitRecord& first = at(pes, circle.front()).waits.front();
  return std::ranges::all_of(circle, [&](int pe) {
    const WaitRecord& wait = at(pes, pe).waits.front();
    return wait.group >= 0 && wait.group == first.group && wait.calls == first.calls &&
           std::strcmp(wait.call, first.call) == 0;
  });
}

/// Follows what the PEs wait for. A PE with a thread that does not wait is not stuck, which only the caller
/// can judge: so a circle is looked for among PEs that wait in one thread. Of two PEs that wait for each
/// other's memory both may be served all the while: so each must wait for the next one's program.
std::vector<std::string> circle_lines(const std::vector<PeWaits>& pes, double at_least) {
  std::vector<std::string> lines;
  std::set<int> done;
  for (int start = 0; known(pes, start); ++start) {
    std::vector<int> path;
    int pe = start;
    while (known(pes, pe) && !done.contains(pe) && at(pes, pe).waits.size() == 1) {
      const WaitRecord& wait = at(pes, pe).waits.front();
      if (wait.seconds < std::max(at_least, kSurely) || wait.for_pe == pe || wait.program == 0) break;
      const auto before = std::find(path.begin(), path.end(), pe);
      if (before != path.end()) {
        const std::span<const int> circle{before, path.end()};
        std::string text = is_in_one_call(pes, circle) ? "maybe a deadlock: " : "a deadlock: ";
        for (auto it = before; it != path.end(); ++it)
          text += "PE " + std::to_string(*it) + " in " + at(pes, *it).waits.front().call + " waits for ";
        text += "PE " + std::to_string(pe);
        lines.push_back(text + why_in_a_circle(pes, circle));
        break;
      }
      path.push_back(pe);
      pe = wait.for_pe;
    }
    done.insert(path.begin(), path.end());
  }
  return lines;
}

std::string state_text(const PeWaits& pe) {
  switch (pe.state) {
    case PeWaits::State::kEnded: return "ended";
    case PeWaits::State::kFinalized: return "not between shmem_init and shmem_finalize";
    case PeWaits::State::kSilent: return "silent (it starts up, or is stopped)";
    case PeWaits::State::kPresent: break;
  }
  return pe.waits.empty() ? "computing (in no waiting call)" : "waiting";
}

/// "PE 0-2 are computing; PE 3 is silent", of the PEs in which no thread waits.
std::string others_text(const std::vector<PeWaits>& pes) {
  std::map<std::string, std::vector<int>> others;
  for (std::size_t pe = 0; pe < pes.size(); ++pe) {
    if (pes[pe].waits.empty()) others[state_text(pes[pe])].push_back(static_cast<int>(pe));
  }
  std::string text;
  for (const auto& [state, members] : others)
    text += (text.empty() ? "PE " : "; PE ") + number_list(members) +
            (members.size() > 1 ? " are " : " is ") + state;
  return text;
}

/// "PE 0-2 wait in shmem_barrier_all for PE 3; PE 3 is computing".
std::string last_line(const std::vector<PeWaits>& pes, double at_least) {
  std::map<std::pair<std::string, int>, std::vector<int>> waiting;  // (call, for whom) -> PEs
  for (std::size_t pe = 0; pe < pes.size(); ++pe) {
    for (const WaitRecord& wait : pes[pe].waits) {
      if (wait.seconds < at_least) continue;
      std::vector<int>& members = waiting[{wait.call, last_of_chain(pes, wait)}];
      if (members.empty() || members.back() != static_cast<int>(pe)) members.push_back(static_cast<int>(pe));
    }
  }
  const Roster roster{static_cast<int>(pes.size()), 0};
  std::string line;
  for (const auto& [key, members] : waiting) {
    line += (line.empty() ? "PE " : "; PE ") + number_list(members) +
            (members.size() > 1 ? " wait in " : " waits in ") + key.first;
    if (key.second >= 0) line += " for " + roster.name(key.second);
  }
  if (const std::string others = others_text(pes); !others.empty()) line += "; " + others;
  std::vector<int> early;
  for (std::size_t pe = 0; pe < pes.size(); ++pe) {
    if (pes[pe].left_early) early.push_back(static_cast<int>(pe));
  }
  if (!early.empty()) line += "; PE " + number_list(early) + " returned from main without shmem_finalize";
  return line;
}

}  // namespace

std::vector<std::string> summarize(const std::vector<PeWaits>& pes, double at_least) {
  std::vector<std::string> lines = group_lines(pes, at_least);
  if (lines.empty()) return lines;
  for (std::string& line : circle_lines(pes, at_least)) lines.push_back(std::move(line));
  lines.push_back(last_line(pes, at_least));
  return lines;
}

std::string nobody_waits(const std::vector<PeWaits>& pes) {
  return "no PE waits in a call of the library; " + others_text(pes);
}

double all_have_waited(const std::vector<PeWaits>& pes) {
  double least = std::numeric_limits<double>::infinity();
  for (const PeWaits& pe : pes) {
    if (pe.state == PeWaits::State::kEnded) continue;
    if (pe.waits.empty()) return 0;
    for (const WaitRecord& wait : pe.waits) least = std::min(least, wait.seconds);
  }
  return std::isinf(least) ? 0 : least;
}

}  // namespace oshrun
