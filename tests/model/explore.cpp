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

/// Hashes of visited states; open addressing, 0 is free.
class Visited {
 public:
  Visited() : slots_(1 << 16) {}

  bool add(std::uint64_t hash) {
    if (2 * (count_ + 1) > slots_.size()) grow();
    std::uint64_t& slot = find(hash);
    if (slot == hash) return false;
    slot = hash;
    ++count_;
    return true;
  }

 private:
  std::uint64_t& find(std::uint64_t hash) {
    std::size_t i = hash & (slots_.size() - 1);
    while (slots_[i] != 0 && slots_[i] != hash) i = (i + 1) & (slots_.size() - 1);
    return slots_[i];
  }
  void grow() {
    std::vector<std::uint64_t> old(slots_.size() * 2);
    old.swap(slots_);
    for (const std::uint64_t hash : old) {
      if (hash != 0) find(hash) = hash;
    }
  }

  std::vector<std::uint64_t> slots_;
  std::size_t count_ = 0;
};

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
  visited.add(hash_of(model.state()));
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
        if (!visited.add(hash_of(model.state()))) continue;
        next.push_back({model.state(), static_cast<std::uint32_t>(origins.size())});
        origins.push_back({from.origin, static_cast<std::uint8_t>(i)});
      }
    }
    found.states = origins.size();
  }
  found.unused = unused_rows(model);
  return found;
}

}  // namespace shm::model
