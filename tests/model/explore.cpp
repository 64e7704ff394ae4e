// SPDX-License-Identifier: BSD-3-Clause
#include "explore.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

namespace shm::model {
namespace {

std::uint64_t hash_of(const SystemState& state) {
  static_assert(sizeof(SystemState) % 4 == 0);
  std::uint32_t words[sizeof(SystemState) / 4];
  std::memcpy(words, &state, sizeof(state));
  std::uint64_t hash = 0x9e3779b97f4a7c15u;
  for (const std::uint32_t word : words) {
    hash = (hash ^ word) * 0xff51afd7ed558ccdu;
    hash ^= hash >> 32;
  }
  return hash == 0 ? 1 : hash;
}

/// Hashes of visited states, with their numbers; open addressing, 0 is free.
class Visited {
 public:
  Visited() : slots_(1 << 16) {}

  /// The number of the state: `next` if it is new.
  std::uint32_t add(std::uint64_t hash, std::uint32_t next) {
    if (2 * (count_ + 1) > slots_.size()) grow();
    Slot& slot = find(hash);
    if (slot.hash == hash) return slot.number;
    slot = {hash, next};
    ++count_;
    return next;
  }

 private:
  struct Slot {
    std::uint64_t hash = 0;
    std::uint32_t number = 0;
  };
  Slot& find(std::uint64_t hash) {
    std::size_t i = hash & (slots_.size() - 1);
    while (slots_[i].hash != 0 && slots_[i].hash != hash) i = (i + 1) & (slots_.size() - 1);
    return slots_[i];
  }
  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.hash != 0) find(slot.hash) = slot;
    }
  }

  std::vector<Slot> slots_;
  std::size_t count_ = 0;
};

/// Moves from state to state.
using Edges = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

/// A state that lies on a circle, or behind one; 0: there is none.  Takes away what nothing leads to, again
/// and again.
std::uint32_t on_circle(Edges& edges, std::size_t states) {
  std::ranges::sort(edges);
  std::vector<std::uint32_t> leads_here(states, 0), first(states + 1, 0), free;
  for (const auto& [from, to] : edges) {
    ++leads_here[to];
    ++first[from + 1];
  }
  for (std::size_t i = 0; i < states; ++i) {
    first[i + 1] += first[i];
    if (leads_here[i] == 0) free.push_back(static_cast<std::uint32_t>(i));
  }
  std::size_t gone = 0;
  for (; !free.empty(); ++gone) {
    const std::uint32_t state = free.back();
    free.pop_back();
    for (std::uint32_t i = first[state]; i < first[state + 1]; ++i) {
      if (--leads_here[edges[i].second] == 0) free.push_back(edges[i].second);
    }
  }
  if (gone == states) return 0;
  const auto found = std::ranges::find_if(leads_here, [](std::uint32_t count) { return count != 0; });
  return static_cast<std::uint32_t>(found - leads_here.begin());
}

/// How a state was reached; the first has no parent.
struct Origin {
  std::uint32_t parent;
  std::uint8_t move;  // of the parent's
};

struct Reached {
  SystemState state;
  std::uint32_t origin;
};

std::string trace_to(const std::vector<Origin>& origins, std::uint32_t last, std::size_t move,
                     const Options& options) {
  std::vector<std::size_t> path = {move};
  for (std::uint32_t i = last; i != 0; i = origins[i].parent) path.push_back(origins[i].move);
  std::reverse(path.begin(), path.end());
  Model model(options);
  std::vector<Move> moves;
  std::string text;
  for (const std::size_t index : path) {
    model.moves(moves);
    if (index >= moves.size()) break;  // the violation is that there is none
    text += "  " + model.describe(moves[index]);
    (void)model.make(moves[index]);
    text += "\n        -> " + model.summary() + "\n";
  }
  return text;
}

std::string unused_rows(const Model& model) {
  std::string text;
  for (std::size_t s = 0; s < nvm::kStates; ++s) {
    for (std::size_t e = 0; e < nvm::kNodeEvents; ++e) {
      const auto state = static_cast<nvm::State>(s);
      const auto event = static_cast<nvm::Event>(e);
      if (nvm::step(state, event).actions == 0 || model.used(state, event)) continue;
      text += std::string("  ") + nvm::name(state) + " + " + nvm::name(event) + "\n";
    }
  }
  return text;
}

}  // namespace

Findings explore(const Options& options) {
  Model model(options);
  Findings found;
  Visited visited;
  std::vector<Origin> origins = {{0, 0}};
  std::vector<Reached> level = {{model.state(), 0}}, next;
  std::vector<Move> moves;
  Edges edges;
  visited.add(hash_of(model.state()), 0);
  for (; !level.empty(); level.swap(next), next.clear(), ++found.depth) {
    for (const Reached& from : level) {
      model.set(from.state);
      model.moves(moves);
      if (moves.empty() || moves[0].type == Move::Type::local) {
        ++found.ends;
        found.violation = model.check_end();
        if (!found.violation.empty()) {
          found.trace = trace_to(origins, from.origin, moves.size(), options);
          return found;
        }
      }
      for (std::size_t i = 0; i < moves.size(); ++i) {
        model.set(from.state);
        found.violation = model.make(moves[i]);
        ++found.moves;
        if (!found.violation.empty()) {
          found.trace = trace_to(origins, from.origin, i, options);
          return found;
        }
        const auto fresh = static_cast<std::uint32_t>(origins.size());
        const std::uint32_t reached = visited.add(hash_of(model.state()), fresh);
        if (options.ends) edges.emplace_back(from.origin, reached);
        if (reached != fresh) continue;
        next.push_back({model.state(), fresh});
        origins.push_back({from.origin, static_cast<std::uint8_t>(i)});
      }
    }
    found.states = origins.size();
  }
  if (const std::uint32_t state = on_circle(edges, origins.size()); options.ends && state != 0) {
    found.violation = "moves go in a circle: somebody waits for ever";
    found.trace = trace_to(origins, origins[state].parent, origins[state].move, options);
  }
  found.unused = unused_rows(model);
  return found;
}

}  // namespace shm::model
