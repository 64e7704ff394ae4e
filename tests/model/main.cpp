// SPDX-License-Identifier: BSD-3-Clause
// usage: model_moesif [nodes=3] [pages=2] [events=2] [kinds=rwe] [frames=0] [cooperative=1] [ordered=1]
//                     [agreement=1] [ends=0] [unused=0] [fault=none]
//
// Explores one setting; events are those of each node, kinds of r(ead) w(rite) e(vict) d(rop) g(et) p(ut)
// c(lean) R(ead ahead) W(rite ahead) f(ill) l(atch) pi(n), the last two to be read or, L and I, written. Exit
// code 0 if nothing is violated or, with a fault, if a violation is found; prints the shortest trace to it.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "explore.hpp"

namespace shm::model {
namespace {

[[noreturn]] void usage(const char* argument) {
  std::fprintf(stderr, "model_moesif: not understood or too large: %s\n", argument);
  std::exit(2);
}

bool print_unused = false;

int number(const char* argument, const std::string& value, int least, int most) {
  char* end = nullptr;
  const long number = std::strtol(value.c_str(), &end, 10);
  if (value.empty() || *end != '\0' || number < least || number > most) usage(argument);
  return static_cast<int>(number);
}

void set_option(Options& options, const char* argument) {
  const char* const equals = std::strchr(argument, '=');
  if (equals == nullptr) usage(argument);
  const std::string key(argument, equals), value(equals + 1);
  if (key == "nodes") {
    options.nodes = number(argument, value, 1, kMostNodes);
  } else if (key == "pages") {
    options.pages = number(argument, value, 1, kMostPages);
  } else if (key == "events") {
    options.events = number(argument, value, 0, 9);
  } else if (key == "kinds" && value.find_first_not_of("rwedgpcRWflLiI") == std::string::npos) {
    options.kinds = value;
  } else if (key == "cooperative") {
    options.cooperative = number(argument, value, 0, 1) == 1;
  } else if (key == "ordered") {
    options.ordered = number(argument, value, 0, 1) == 1;
  } else if (key == "frames") {
    options.frames = number(argument, value, 0, kMostPages);
  } else if (key == "agreement") {
    options.agreement = number(argument, value, 0, 1) == 1;
  } else if (key == "ends") {
    options.ends = number(argument, value, 0, 1) == 1;
  } else if (key == "unused") {
    print_unused = number(argument, value, 0, 1) == 1;
  } else if (key == "fault") {
    int fault = 0;
    while (fault < kFaults && value != name(static_cast<Fault>(fault))) ++fault;
    if (fault == kFaults) usage(argument);
    options.fault = static_cast<Fault>(fault);
  } else {
    usage(argument);
  }
}

int run(const Options& options) {
  const auto start = std::chrono::steady_clock::now();
  const Findings found = explore(options);
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  std::printf("%d nodes, %d pages, %d events of each node (%s), %s, %s, fault: %s\n", options.nodes,
              options.pages, options.events, options.kinds.c_str(),
              options.cooperative ? "cooperative" : "not cooperative",
              options.ordered ? "ordered" : "not ordered", name(options.fault));
  if (found.violation.empty()) {
    std::printf("%zu states, %zu moves, %zu ends, depth %zu: nothing violated; %.1f s\n", found.states,
                found.moves, found.ends, found.depth, time.count());
    if (print_unused) std::printf("rows that were not used:\n%s", found.unused.c_str());
  } else {
    std::printf("violated after %zu moves: %s; %.1f s\n%s", found.moves, found.violation.c_str(),
                time.count(), found.trace.c_str());
  }
  return found.violation.empty() == (options.fault == Fault::none) ? 0 : 1;
}

}  // namespace
}  // namespace shm::model

int main(int argc, char** argv) {
  shm::model::Options options;
  for (int i = 1; i < argc; ++i) shm::model::set_option(options, argv[i]);
  return shm::model::run(options);
}
