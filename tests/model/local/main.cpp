// SPDX-License-Identifier: BSD-3-Clause
// usage: model_local [pages=2] [frames=2] [threads=2] [operations=2] [kinds=ls] [at_hand=1] [fault=none]
//
// Explores one setting, breadth first; kinds of l(oad) s(tore) p(ut) g(et) f(orget).  Exit code 0 if nothing
// is violated or, with a fault, if a violation is found; prints the shortest trace to it.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <string>
#include <vector>

#include "local_model.hpp"
#include "visited.hpp"

namespace shm::model {
namespace {

[[noreturn]] void refuse(const char* argument) {
  std::fprintf(stderr, "model_local: not understood or too large: %s\n", argument);
  std::exit(2);
}

int count_of(const char* argument, const std::string& value, int most) {
  if (value.size() != 1 || value[0] < '0' || value[0] - '0' > most) refuse(argument);
  return value[0] - '0';
}

void set_local_option(LocalOptions& options, const char* argument) {
  const char* const equals = std::strchr(argument, '=');
  if (equals == nullptr) refuse(argument);
  const std::string key(argument, equals), value(equals + 1);
  if (key == "pages") {
    options.pages = count_of(argument, value, kLocalPagesMost);
  } else if (key == "frames") {
    options.frames = count_of(argument, value, kLocalFramesMost);
  } else if (key == "threads") {
    options.threads = count_of(argument, value, kLocalActors - 2);
  } else if (key == "operations") {
    options.operations = count_of(argument, value, 9);
  } else if (key == "at_hand") {
    options.at_hand = count_of(argument, value, kLocalFramesMost);
  } else if (key == "kinds" && value.find_first_not_of("lspgf") == std::string::npos) {
    options.kinds = value;
  } else if (key == "fault") {
    int fault = 0;
    while (fault < kLocalFaults && value != name(static_cast<LocalFault>(fault))) ++fault;
    if (fault == kLocalFaults) refuse(argument);
    options.fault = static_cast<LocalFault>(fault);
  } else {
    refuse(argument);
  }
}

struct Origin {
  std::uint32_t parent;
  LocalMove move;
};

void print_trace(const LocalOptions& options, const std::vector<Origin>& origins, std::uint32_t last,
                 const LocalMove* move) {
  std::vector<LocalMove> path;
  if (move != nullptr) path.push_back(*move);
  for (std::uint32_t i = last; i != 0; i = origins[i].parent) path.push_back(origins[i].move);
  std::reverse(path.begin(), path.end());
  LocalModel model(options);
  for (const LocalMove& each : path) {
    std::printf("  %s\n", model.describe(each).c_str());
    static_cast<void>(model.make(each));
  }
}

int explore(const LocalOptions& options) {
  LocalModel model(options);
  Visited visited;
  std::vector<Origin> origins = {{0, {}}};
  std::deque<std::pair<LocalState, std::uint32_t>> level = {{model.state(), 0}}, next;
  std::vector<LocalMove> moves;
  std::size_t made = 0, ends = 0;
  const auto violated = [&](const std::string& what, std::uint32_t from, const LocalMove* move) {
    std::printf("violated after %zu moves: %s\n", made, what.c_str());
    print_trace(options, origins, from, move);
    return options.fault == LocalFault::none ? 1 : 0;
  };
  visited.add(hash_of(model.state()), 0);
  for (; !level.empty(); level.swap(next), next.clear()) {
    for (const auto& [state, origin] : level) {
      model.set(state);
      model.moves(moves);
      if (moves.empty()) {
        ++ends;
        if (const std::string what = model.check_end(); !what.empty()) return violated(what, origin, nullptr);
      }
      for (const LocalMove& move : moves) {
        model.set(state);
        ++made;
        if (const std::string what = model.make(move); !what.empty()) return violated(what, origin, &move);
        const auto fresh = static_cast<std::uint32_t>(origins.size());
        if (visited.add(hash_of(model.state()), fresh) != fresh) continue;
        next.emplace_back(model.state(), fresh);
        origins.push_back({origin, move});
      }
    }
  }
  std::printf("%zu states, %zu moves, %zu ends: nothing violated; fault: %s\n", origins.size(), made, ends,
              name(options.fault));
  return options.fault == LocalFault::none ? 0 : 1;
}

}  // namespace
}  // namespace shm::model

int main(int argc, char** argv) {
  shm::model::LocalOptions options;
  for (int i = 1; i < argc; ++i) shm::model::set_local_option(options, argv[i]);
  return shm::model::explore(options);
}
