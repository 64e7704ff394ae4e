// SPDX-License-Identifier: BSD-3-Clause
#include "atomics_options.hpp"

#include <string_view>

namespace bench {
namespace {

constexpr std::string_view kPatterns[] = {"RAND",    "STRIDE1", "STRIDEN", "PTRCHASE",
                                          "CENTRAL", "SG",      "SCATTER", "GATHER"};
constexpr std::string_view kKinds[] = {"add", "cas"};
constexpr std::string_view kForms[] = {"blocking", "nonfetching", "nbi"};

constexpr Option<AtomicsOptions> kOptions[] = {
    {"--pattern", "RAND, STRIDE1, STRIDEN, PTRCHASE, CENTRAL, SG, SCATTER, GATHER, or several with commas",
     [](const std::string& value, AtomicsOptions& o) { return split(value, kPatterns, o.patterns); }},
    {"--kind", "add, cas or add,cas",
     [](const std::string& value, AtomicsOptions& o) { return split(value, kKinds, o.kinds); }},
    {"--form", "blocking, nonfetching, nbi, or several with commas",
     [](const std::string& value, AtomicsOptions& o) { return split(value, kForms, o.forms); }},
    {"--memory", kBytesAllowed,
     [](const std::string& value, AtomicsOptions& o) { return bytes(value, o.memory); }},
    {"--iterations", kNumberAllowed,
     [](const std::string& value, AtomicsOptions& o) { return number(value, kMostNumber, o.iterations); }},
    {"--stride", "a number of words from 1 to 1000000000",
     [](const std::string& value, AtomicsOptions& o) { return number(value, kMostNumber, o.stride); }},
    {"--distance", "a number of PEs from 0 to those of the job less one",
     [](const std::string& value, AtomicsOptions& o) {
       if (value != "0") return number(value, kMostNumber, o.distance);
       o.distance = 0;
       return true;
     }},
    {"--count", kNumberAllowed,
     [](const std::string& value, AtomicsOptions& o) { return number(value, kMostNumber, o.count); }},
    {"--rounds", kNumberAllowed,
     [](const std::string& value, AtomicsOptions& o) { return number(value, kMostNumber, o.rounds); }},
    {"--seconds", kDurationAllowed,
     [](const std::string& value, AtomicsOptions& o) { return duration(value, o.seconds); }},
    plot_option<AtomicsOptions>(),
};

constexpr Flag<AtomicsOptions> kFlags[] = {{"--json", &AtomicsOptions::json},
                                           {"--session", &AtomicsOptions::session}};

/// What does not fit together, or "".
std::string check(const AtomicsOptions& o, std::size_t pes) {
  bool any = false, strided = false;
  for (const Kernel& kernel : all_kernels()) {
    any |= o.wants(kernel);
    strided |= o.wants(kernel) && std::string_view(kernel.name).starts_with("STRIDEN");
  }
  if (!any) return "nothing to measure: " + o.what_is_not();
  if (o.distance != 0 && o.distance >= pes) {
    return "--distance " + std::to_string(o.distance) + " is not less than the number of PEs, " +
           std::to_string(pes) + "; take half of them to reach the other node of two";
  }
  const std::size_t needed = ((o.iterations - 1) * (strided ? o.stride : 1) + 1) * sizeof(Word);
  if (o.memory >= needed) return "";
  return "--memory " + std::to_string(o.memory) + " is too little: " + std::to_string(o.iterations) +
         " iterations" + (strided ? " with a stride of " + std::to_string(o.stride) + " words" : "") +
         " need " + std::to_string(needed) + " bytes; take more, or fewer --iterations";
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
    "  --memory BYTES       array of a PE: 8388608, 8m, 1g and the like (default 8m)\n"
    "  --iterations N       of a pass over the array (default 65536)\n"
    "  --stride N           of STRIDEN, in words (default 9)\n"
    "  --distance N         PEs from each to its target, less than the number of PEs (default 1); half the "
    "PEs:\n"
    "                       always to another node of two\n"
    "  --seconds S          length of a round (default 0.02): the number of iterations is found by trying\n"
    "  --count N            iterations of a round, instead\n"
    "  --rounds N           a rate is the median of N rounds (default 3)\n"
    "  --session            within a session with SHMEM_CTX_SESSION_BATCH\n";

const char* name_of(Form form) { return kForms[static_cast<int>(form)].data(); }

bool AtomicsOptions::wants(const Kernel& kernel) const {
  const std::string_view name = kernel.name;
  return among(patterns, name.substr(0, name.find('_'))) &&
         among(kinds, kKinds[static_cast<int>(kernel.kind)]) && among(forms, name_of(kernel.form));
}

std::string AtomicsOptions::what_is_not() const {
  const bool nonfetching = among(forms, "nonfetching");
  std::string said;
  if (among(patterns, "PTRCHASE") && (nonfetching || among(forms, "nbi"))) {
    said = "PTRCHASE has only --form blocking, as each step needs the result of the one before";
  }
  if (!among(kinds, "cas") || !nonfetching) return said;
  if (!said.empty()) said += "; ";
  return said + "--kind cas has no --form nonfetching, as every compare-and-swap fetches";
}

Parsed parse(Words words, std::size_t pes, AtomicsOptions& options, std::string& why) {
  if (pes == 1) options.distance = 0;  // there is no neighbour
  const Parsed parsed = parse_words<AtomicsOptions>(words, kOptions, kFlags, options, why);
  if (parsed != Parsed::run) return parsed;
  why = check(options, pes);
  return why.empty() ? Parsed::run : Parsed::wrong;
}

}  // namespace bench
