// SPDX-License-Identifier: BSD-3-Clause
#include "atomics_options.hpp"

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace bench {
namespace {

constexpr std::string_view kPatterns[] = {"RAND",    "STRIDE1", "STRIDEN", "PTRCHASE",
                                          "CENTRAL", "SG",      "SCATTER", "GATHER"};
constexpr std::string_view kKinds[] = {"add", "cas"};
constexpr std::string_view kForms[] = {"blocking", "nonfetching", "nbi"};

using Names = std::vector<std::string>;

bool among(const Names& names, std::string_view name) {
  return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
}

/// Words between commas, each of `known`; false if one is not.
bool split(std::string_view text, std::span<const std::string_view> known, Names& names) {
  while (true) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view name = text.substr(0, comma);
    if (std::find(known.begin(), known.end(), name) == known.end()) return false;
    names.emplace_back(name);
    if (comma == text.size()) return true;
    text.remove_prefix(comma + 1);
  }
}

bool number(const std::string& text, std::size_t& value) {
  if (text.empty() || text.find_first_not_of("0123456789") != std::string::npos || text.size() > 15)
    return false;
  value = std::strtoull(text.c_str(), nullptr, 10);
  return true;
}

/// 0.02 and the like.
bool duration(const std::string& text, double& value) {
  char* end = nullptr;
  value = std::strtod(text.c_str(), &end);
  return !text.empty() && *end == '\0' && value > 0 && value <= 3600;
}

bool set(const std::string& name, const std::string& value, AtomicsOptions& o) {
  if (name == "--memory") return number(value, o.memory);
  if (name == "--iterations") return number(value, o.iterations) && o.iterations > 0;
  if (name == "--stride") return number(value, o.stride) && o.stride > 0;
  if (name == "--distance") return number(value, o.distance);
  if (name == "--count") return number(value, o.count) && o.count > 0;
  if (name == "--rounds") return number(value, o.rounds) && o.rounds > 0;
  if (name == "--seconds") return duration(value, o.seconds);
  if (name == "--pattern") return split(value, kPatterns, o.patterns);
  if (name == "--kind") return split(value, kKinds, o.kinds);
  if (name == "--form") return split(value, kForms, o.forms);
  return false;
}

}  // namespace

const char kAtomicsUsage[] =
    "usage: oshrun -n 4 [--virtual-nodes 2] shmem_bench atomics [options]\n"
    "Million atomic operations a second, in the access patterns of CircusTent. Each PE works on the array of "
    "the next\n"
    "one; of CENTRAL all on one word of PE 0, of PTRCHASE on a random PE's for each step. What must have "
    "happened to\n"
    "the memory is verified after each round; the exit code is 1 if something else did.\n"
    "  --pattern NAME,..    RAND STRIDE1 STRIDEN PTRCHASE CENTRAL SG SCATTER GATHER (default all)\n"
    "  --kind add,cas       fetch-and-add, compare-and-swap (default both)\n"
    "  --form NAME,..       blocking     each fetches and is waited for\n"
    "                       nonfetching  shmem_atomic_add; SG, SCATTER, GATHER fetch nbi what they need for "
    "it\n"
    "                       nbi          fetching and nonblocking, with a quiet for each pass (default all "
    "three)\n"
    "  --memory BYTES       array of a PE (default 8388608)\n"
    "  --iterations N       of a pass over the array (default 65536)\n"
    "  --stride N           of STRIDEN, in words (default 9)\n"
    "  --distance N         PEs from each to its target (default 1); half the PEs: always to another node of "
    "two\n"
    "  --seconds S          length of a round (default 0.02): the number of iterations is found by trying\n"
    "  --count N            iterations of a round, instead\n"
    "  --rounds N           a rate is the median of N rounds (default 3)\n"
    "  --session            within a session with SHMEM_CTX_SESSION_BATCH\n"
    "  --json               one line of JSON a result\n";

const char* name_of(Form form) { return kForms[static_cast<int>(form)].data(); }

bool AtomicsOptions::wants(const Kernel& kernel) const {
  const std::string_view name = kernel.name;
  return among(patterns, name.substr(0, name.find('_'))) &&
         among(kinds, kKinds[static_cast<int>(kernel.kind)]) && among(forms, name_of(kernel.form));
}

Parsed parse(Words words, AtomicsOptions& options, std::string& why) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string name = words[i], value;
    if (name == "-h" || name == "--help") return Parsed::help;
    if (name == "--json" || name == "--session") {
      (name == "--json" ? options.json : options.session) = true;
      continue;
    }
    if (const std::size_t equals = name.find('='); equals != std::string::npos) {
      value = name.substr(equals + 1);
      name.resize(equals);
    } else if (i + 1 < words.size()) {
      value = words[++i];
    }
    if (!set(name, value, options)) {
      why = "wrong option or value: " + name + " " + value;
      return Parsed::wrong;
    }
  }
  const std::size_t iterations = options.iterations, size = options.memory / sizeof(Word);
  if (iterations > size || options.stride > size || (iterations - 1) * options.stride >= size) {
    why = "--memory has no room for --iterations times --stride words";
    return Parsed::wrong;
  }
  return Parsed::run;
}

}  // namespace bench
