// SPDX-License-Identifier: BSD-3-Clause
// usage: model_slots [slots=2] [fault=none] <group>=<PEs>... <PE>:<groups>...
//
// Threads that make groups, in every interleaving.  `a=01` is a group, of one letter, of PEs 0 and 1; `1:sa`
// is a thread of PE 1 that makes s, then a.  What a PE offers and does is decided by coll/slot_agreement, as
// in the product; here is what surrounds it: words reach all members, each hears them when it likes.
//
// Nothing may be violated: groups that share a PE get different slots, and every thread comes to its end,
// that is, no state has no move, and no circle of states that threads may run in for ever, each of which that
// always could move moving.  Faults: `early`, offers are made before all members have come; `equal`, all
// groups have the same priority.  Exit code 0 if nothing is violated or, with a fault, if something is.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "coll/slot_agreement.hpp"

namespace shm::model {
namespace {

struct Options {
  int slots = 2;
  std::string fault = "none";
  std::map<char, std::string> groups;                // PEs as digits
  std::vector<std::pair<int, std::string>> threads;  // PE, groups in turn
};

// A member of one group; its words of the last two rounds, and how many it has said and heard, modulo 4:
// nobody is more than a round ahead.
struct Member {
  unsigned said = 0, heard = 0;
  SlotWords words[2] = {};
  auto operator<=>(const Member&) const = default;
};

struct Thread {
  std::size_t at = 0;  // in its list of groups
  bool speaks = true;  // its next move is to begin a round
  std::optional<SlotAgreement> agreement;
  auto operator<=>(const Thread&) const = default;
};

struct State {
  std::map<int, SlotTable> tables;
  std::map<int, std::string> taken;  // slots of each PE, in order of taking
  std::map<std::pair<char, int>, Member> members;
  std::vector<Thread> threads;
  auto operator<=>(const State&) const = default;
};

// ---- Moves

class System {
 public:
  explicit System(const Options& options) : options_(options) {}

  State begin() const {
    State state;
    for (const auto& [pe, list] : options_.threads) {
      for (int slot = options_.slots; slot < kSlots; ++slot) state.tables[pe].mark(slot, false);
      state.taken[pe];
      for (const char group : list) state.members[{group, pe}];
      state.threads.emplace_back();
    }
    return state;
  }

  bool ended(const State& state, std::size_t t) const {
    return state.threads[t].at == options_.threads[t].second.size();
  }

  bool can_move(const State& state, std::size_t t) const {
    if (ended(state, t)) return false;
    if (state.threads[t].speaks) return true;
    const unsigned heard = state.members.at({group_of(state, t), pe_of(t)}).heard;
    const std::string& pes = options_.groups.at(group_of(state, t));
    return std::all_of(pes.begin(), pes.end(), [&](char pe) {
      const unsigned ahead = (state.members.at({group_of(state, t), pe - '0'}).said - heard) % 4;
      return ahead == 1 || ahead == 2;
    });
  }

  /// What is violated by it, or nothing.
  std::string move(State& state, std::size_t t) const {
    Thread& thread = state.threads[t];
    const char group = group_of(state, t);
    Member& member = state.members.at({group, pe_of(t)});
    SlotTable& table = state.tables.at(pe_of(t));
    if (thread.speaks) {
      if (!thread.agreement) start(thread, group, table);
      thread.speaks = false;
      member.words[member.said % 2] = thread.agreement->begin_round(table);
      member.said = (member.said + 1) % 4;
      return {};
    }
    SlotWords combined;
    combined.fill(~std::uint64_t{0});
    for (const char pe : options_.groups.at(group)) {
      const SlotWords& theirs = state.members.at({group, pe - '0'}).words[member.heard % 2];
      for (std::size_t i = 0; i < combined.size(); ++i) combined[i] &= theirs[i];
    }
    member.heard = (member.heard + 1) % 4;
    thread.speaks = true;
    const SlotOutcome outcome = thread.agreement->outcome(combined);
    thread.agreement->end_round(table, outcome, true);
    if (!outcome.agreed) return {};
    ++thread.at;
    thread.agreement.reset();
    std::string& taken = state.taken.at(pe_of(t));
    const char slot = static_cast<char>('0' + outcome.slot);
    if (outcome.slot >= 0 && taken.find(slot) != std::string::npos)
      return std::string("two groups have slot ") + slot + " on PE " + std::to_string(pe_of(t));
    if (outcome.slot >= 0) taken += slot;
    return {};
  }

  std::string describe(const State& state, std::size_t t) const {
    return "thread " + std::to_string(t) + " of PE " + std::to_string(pe_of(t)) +
           (state.threads[t].speaks ? " speaks in " : " hears in ") + group_of(state, t);
  }

 private:
  int pe_of(std::size_t t) const { return options_.threads[t].first; }
  char group_of(const State& state, std::size_t t) const {
    return options_.threads[t].second[state.threads[t].at];
  }
  void start(Thread& thread, char group, SlotTable& table) const {
    const std::uint64_t priority = options_.fault == "equal" ? 0 : static_cast<std::uint64_t>(group);
    thread.agreement.emplace(SlotPriority{priority}, SlotRange{0, options_.slots});
    if (options_.fault != "early") return;
    const SlotWords alone = thread.agreement->begin_round(table);
    thread.agreement->end_round(table, thread.agreement->outcome(alone), true);
  }

  const Options& options_;
};

// ---- All states, and circles among them

struct Edge {
  std::size_t to, thread;
};

class Explorer {
 public:
  explicit Explorer(const Options& options) : system_(options) {}

  /// What is violated, with the moves that lead there; empty: nothing.
  std::string explore() {
    reach(system_.begin(), 0, 0);
    for (std::size_t i = 0; i < states_.size(); ++i) {
      bool moved = false, all_ended = true;
      for (std::size_t t = 0; t < states_[i]->threads.size(); ++t) {
        all_ended &= system_.ended(*states_[i], t);
        if (!system_.can_move(*states_[i], t)) continue;
        moved = true;
        State next = *states_[i];
        const std::string violation = system_.move(next, t);
        const std::size_t to = reach(std::move(next), i, t);
        edges_[i].push_back({to, t});
        if (!violation.empty()) return violation + "\n" + trace(to);
      }
      if (!moved && !all_ended) return "nobody can move\n" + trace(i);
    }
    return find_circle();
  }

  std::size_t states() const { return states_.size(); }

 private:
  std::size_t reach(State state, std::size_t from, std::size_t thread) {
    const auto [place, is_new] = numbers_.try_emplace(std::move(state), states_.size());
    if (is_new) {
      states_.push_back(&place->first);
      edges_.emplace_back();
      origins_.push_back({from, thread});
    }
    return place->second;
  }

  std::string trace(std::size_t last) const {
    std::string text;
    for (std::size_t i = last; i != 0; i = origins_[i].to) {
      const Edge& origin = origins_[i];
      text.insert(0, "  " + system_.describe(*states_[origin.to], origin.thread) + "\n");
    }
    return text;
  }

  // Strongly connected components by Tarjan's algorithm, without recursion.
  std::vector<std::size_t> components() const {
    const std::size_t n = states_.size();
    std::vector<std::size_t> index(n, 0), low(n, 0), component(n, 0), stack, path, next(n, 0);
    std::size_t count = 0, found = 0;
    for (std::size_t root = 0; root < n; ++root) {
      if (index[root] != 0) continue;
      path.push_back(root);
      while (!path.empty()) {
        const std::size_t at = path.back();
        if (index[at] == 0) {
          index[at] = low[at] = ++count;
          stack.push_back(at);
        }
        if (next[at] < edges_[at].size()) {
          const std::size_t to = edges_[at][next[at]++].to;
          if (index[to] == 0)
            path.push_back(to);
          else if (component[to] == 0)
            low[at] = std::min(low[at], index[to]);
          continue;
        }
        path.pop_back();
        if (!path.empty()) low[path.back()] = std::min(low[path.back()], low[at]);
        if (low[at] != index[at]) continue;
        ++found;
        for (std::size_t member = n; member != at; stack.pop_back()) component[member = stack.back()] = found;
      }
    }
    return component;
  }

  // A component that threads can stay in for ever, each of which that could move in all of its states moving.
  std::string find_circle() const {
    const std::vector<std::size_t> component = components();
    const std::size_t threads = states_[0]->threads.size();
    struct Found {
      std::size_t state = 0;
      unsigned moving = 0, always = ~0U;
    };
    std::unordered_map<std::size_t, Found> all;
    for (std::size_t i = 0; i < states_.size(); ++i) {
      Found& found = all[component[i]];
      found.state = i;
      unsigned can = 0;
      for (std::size_t t = 0; t < threads; ++t) can |= unsigned{system_.can_move(*states_[i], t)} << t;
      found.always &= can;
      for (const Edge& edge : edges_[i]) {
        if (component[edge.to] == component[i]) found.moving |= 1U << edge.thread;
      }
    }
    for (const auto& [number, found] : all) {
      if (found.moving != 0 && (found.always & ~found.moving) == 0)
        return "threads run in a circle for ever\n" + trace(found.state);
    }
    return {};
  }

  System system_;
  std::map<State, std::size_t> numbers_;
  std::vector<const State*> states_;  // those of the map, by number
  std::vector<std::vector<Edge>> edges_;
  std::vector<Edge> origins_;
};

// ---- Arguments

[[noreturn]] void usage(const char* argument) {
  std::fprintf(stderr, "model_slots: not understood: %s\n", argument);
  std::exit(2);
}

Options read(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string text = argv[i];
    if (text.starts_with("slots=")) {
      options.slots = std::atoi(text.c_str() + 6);
      if (options.slots < 1 || options.slots > 9) usage(argv[i]);
    } else if (text.starts_with("fault=")) {
      options.fault = text.substr(6);
      if (options.fault != "none" && options.fault != "early" && options.fault != "equal") usage(argv[i]);
    } else if (text.size() > 2 && text[1] == '=' && text.find_first_not_of("01234567", 2) == text.npos) {
      options.groups[text[0]] = text.substr(2);
    } else if (text.size() > 2 && text[1] == ':' && text[0] >= '0' && text[0] <= '7') {
      options.threads.emplace_back(text[0] - '0', text.substr(2));
    } else {
      usage(argv[i]);
    }
  }
  std::map<char, std::string> made;
  for (const auto& [pe, list] : options.threads) {
    for (const char group : list) made[group] += static_cast<char>('0' + pe);
  }
  for (auto& [group, pes] : made) std::sort(pes.begin(), pes.end());
  if (options.threads.empty() || made != options.groups) usage("each PE of a group makes it once");
  return options;
}

}  // namespace
}  // namespace shm::model

int main(int argc, char** argv) {
  const shm::model::Options options = shm::model::read(argc, argv);
  shm::model::Explorer explorer(options);
  const std::string violation = explorer.explore();
  std::printf("%zu states, fault: %s\n%s\n", explorer.states(), options.fault.c_str(),
              violation.empty() ? "nothing violated" : ("violated: " + violation).c_str());
  return violation.empty() == (options.fault == "none") ? 0 : 1;
}
