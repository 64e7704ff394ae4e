// SPDX-License-Identifier: BSD-3-Clause
#include "atomics_options.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <string_view>

namespace bench {
namespace {

constexpr std::string_view kPatterns[] = {"RAND",    "STRIDE1", "STRIDEN", "PTRCHASE",
                                          "CENTRAL", "SG",      "SCATTER", "GATHER"};
constexpr std::string_view kKinds[] = {"add", "cas"};
constexpr std::string_view kForms[] = {"blocking", "nonfetching", "nbi"};

constexpr std::size_t kMost = 1000000000;  // the product of two, in bytes, fits a word
constexpr std::size_t kMostBytes = std::size_t{1} << 50;

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

/// Digits for 1 to `most`.
bool number(const std::string& text, std::size_t most, std::size_t& value) {
  if (text.empty() || text.find_first_not_of("0123456789") != std::string::npos || text.size() > 15)
    return false;
  value = std::strtoull(text.c_str(), nullptr, 10);
  return value >= 1 && value <= most;
}

/// 8388608, 8192k, 8m.
bool bytes(std::string text, std::size_t& value) {
  constexpr std::string_view kUnits = "kmgt";
  std::size_t unit = 1;
  if (text.empty()) return false;
  const auto letter = static_cast<char>(std::tolower(static_cast<unsigned char>(text.back())));
  if (const std::size_t at = kUnits.find(letter); at != std::string_view::npos) {
    unit = std::size_t{1024} << 10 * at;
    text.pop_back();
  }
  if (!number(text, kMostBytes / unit, value)) return false;
  value *= unit;
  return true;
}

/// 0.02 and the like.
bool duration(const std::string& text, double& value) {
  char* end = nullptr;
  value = std::strtod(text.c_str(), &end);
  return !text.empty() && *end == '\0' && value > 0 && value <= 3600;
}

struct Option {
  std::string_view name;
  const char* allowed;
  bool (*set)(const std::string& value, AtomicsOptions& options);  ///< false if `value` is not allowed
};

constexpr Option kOptions[] = {
    {"--pattern", "RAND, STRIDE1, STRIDEN, PTRCHASE, CENTRAL, SG, SCATTER, GATHER, or several with commas",
     [](const std::string& value, AtomicsOptions& o) { return split(value, kPatterns, o.patterns); }},
    {"--kind", "add, cas or add,cas",
     [](const std::string& value, AtomicsOptions& o) { return split(value, kKinds, o.kinds); }},
    {"--form", "blocking, nonfetching, nbi, or several with commas",
     [](const std::string& value, AtomicsOptions& o) { return split(value, kForms, o.forms); }},
    {"--memory", "a number of bytes such as 8388608, 8192k, 8m or 1g",
     [](const std::string& value, AtomicsOptions& o) { return bytes(value, o.memory); }},
    {"--iterations", "a number from 1 to 1000000000",
     [](const std::string& value, AtomicsOptions& o) { return number(value, kMost, o.iterations); }},
    {"--stride", "a number of words from 1 to 1000000000",
     [](const std::string& value, AtomicsOptions& o) { return number(value, kMost, o.stride); }},
    {"--distance", "a number of PEs from 0 to those of the job less one",
     [](const std::string& value, AtomicsOptions& o) {
       if (value != "0") return number(value, kMost, o.distance);
       o.distance = 0;
       return true;
     }},
    {"--count", "a number from 1 to 1000000000",
     [](const std::string& value, AtomicsOptions& o) { return number(value, kMost, o.count); }},
    {"--rounds", "a number from 1 to 1000000000",
     [](const std::string& value, AtomicsOptions& o) { return number(value, kMost, o.rounds); }},
    {"--seconds", "more than 0 and at most 3600, such as 0.02",
     [](const std::string& value, AtomicsOptions& o) { return duration(value, o.seconds); }},
};

/// What is wrong with "NAME VALUE" (nullptr: nothing follows), or "".
std::string set(const std::string& name, const char* value, AtomicsOptions& options) {
  for (const Option& option : kOptions) {
    if (name != option.name) continue;
    if (value == nullptr) return name + " needs a value: " + option.allowed;
    if (option.set(value, options)) return "";
    return name + " must be " + option.allowed + ", not '" + value + "'";
  }
  return "there is no option '" + name + "'; --help has those that there are";
}

/// What is wrong with a word and the one that follows it, or ""; `took` says whether it used that.
std::string take(const std::string& word, const char* next, AtomicsOptions& options, bool& took) {
  const std::size_t equals = std::min(word.find('='), word.size());
  const std::string name = word.substr(0, equals);
  took = false;
  if (name == "--json" || name == "--session") {
    if (equals != word.size()) return name + " takes no value; write it alone";
    (name == "--json" ? options.json : options.session) = true;
    return "";
  }
  if (equals != word.size()) return set(name, word.c_str() + equals + 1, options);
  took = true;
  return set(name, next, options);
}

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
    "  --session            within a session with SHMEM_CTX_SESSION_BATCH\n"
    "  --json               one line of JSON a result\n";

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
  for (std::size_t i = 0; i < words.size() && why.empty(); ++i) {
    const std::string_view word = words[i];
    if (word == "-h" || word == "--help") return Parsed::help;
    bool took = false;
    why = take(words[i], i + 1 < words.size() ? words[i + 1] : nullptr, options, took);
    if (took) ++i;
  }
  if (why.empty()) why = check(options, pes);
  return why.empty() ? Parsed::run : Parsed::wrong;
}

}  // namespace bench
