// SPDX-License-Identifier: BSD-3-Clause
// What says where PEs go: the lists of -H and --hostfile, and the variables of a Slurm allocation.  Each line
// of the input is a line of the list, or a variable NAME=VALUE.
#include "hosts.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>

#include "engine.hpp"
#include "fuzz.hpp"

namespace shm::fuzz {
namespace {

void must(bool condition, const char* promise) {
  if (condition) return;
  std::fprintf(stderr, "broken: %s\n", promise);
  std::abort();
}

void place_on(const oshrun::HostList& list, int processes) {
  if (!list.error.empty()) return;
  must(!list.hosts.empty(), "a list without hosts is an error");
  const oshrun::Placement placement = oshrun::place(list.hosts, processes);
  if (!placement.error.empty()) return;
  int placed = 0;
  for (const oshrun::Host& host : placement.hosts) placed += host.places.value_or(0);
  must(placed == processes, "each process has a place");
  static_cast<void>(oshrun::named_twice(list.hosts, "here"));
}

/// The command line that would take the place of oshrun's.
void hand_over(const oshrun::Surroundings& surroundings, const oshrun::HostList& list,
               oshrun::Engine engine) {
  oshrun::ParseResult parsed = oshrun::parse_options({"./program"}, {});
  must(parsed.kind == oshrun::ParseResult::Kind::kRun, "a program is enough");
  oshrun::Options& options = parsed.options;
  if (!oshrun::default_pes(options, list.hosts, surroundings).empty()) return;
  must(options.apps[0].processes > 0, "a job has PEs");
  const oshrun::Choice choice = oshrun::choose_engine(options, list.hosts, surroundings);
  must(choice.error.empty() != choice.engines.empty(), "engines, or a reason why there are none");
  const oshrun::Candidate candidate{engine, "/usr/bin/engine"};
  const oshrun::HandOver over = oshrun::hand_over(options, options.apps, list.hosts, candidate, surroundings);
  must(over.argv.empty() != over.error.empty(), "a command line, or a reason why there is none");
}

}  // namespace

void fuzz_one_input(const std::uint8_t* data, std::size_t n) {
  using oshrun::Engine;
  Input input(data, n);
  const unsigned which = input.below(4);
  const int processes = 1 + static_cast<int>(input.below(1000));
  const Engine engine = std::array{Engine::kSrun, Engine::kPrterun, Engine::kMpirun}[input.below(3)];
  if (which == 0) return place_on(oshrun::parse_hostfile("hosts", input.text(input.left())), processes);
  if (which == 1) return place_on(oshrun::parse_host_list("-H", input.text(input.left())), processes);
  oshrun::Surroundings surroundings;
  surroundings.host = "here";
  surroundings.directory = "/tmp";
  surroundings.oshrun = "/usr/bin/oshrun";
  oshrun::HostList list;
  for (const std::string& line : input.lines()) {
    const std::size_t equals = line.find('=');
    if (equals != std::string::npos) {
      surroundings.environment[line.substr(0, equals)] = line.substr(equals + 1);
    } else if (which == 3) {
      list = oshrun::parse_host_list("-H", line);
    }
  }
  if (list.error.empty()) hand_over(surroundings, list, engine);
}

}  // namespace shm::fuzz
