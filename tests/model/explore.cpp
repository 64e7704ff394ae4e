// SPDX-License-Identifier: BSD-3-Clause
#include "explore.hpp"

#include <algorithm>
#include <deque>
#include <vector>

#include "visited.hpp"

namespace shm::model {
namespace {

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
  std::deque<Reached> level = {{model.state(), 0}}, next;  // which do not move when they grow
  std::vector<Move> moves;
  std::vector<std::pair<SystemState, std::uint64_t>> made;  // by the moves of one state, with their hashes
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
      made.clear();
      for (std::size_t i = 0; i < moves.size(); ++i) {
        model.set(from.state);
        found.violation = model.make(moves[i]);
        ++found.moves;
        if (!found.violation.empty()) {
          found.trace = trace_to(origins, from.origin, i, options);
          return found;
        }
        visited.prefetch(made.emplace_back(model.state(), hash_of(model.state())).second);
      }
      for (std::size_t i = 0; i < made.size(); ++i) {
        const auto fresh = static_cast<std::uint32_t>(origins.size());
        const std::uint32_t reached = visited.add(made[i].second, fresh);
        if (options.ends) edges.emplace_back(from.origin, reached);
        if (reached != fresh) continue;
        next.push_back({made[i].first, fresh});
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
