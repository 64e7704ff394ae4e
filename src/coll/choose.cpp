// SPDX-License-Identifier: BSD-3-Clause
#include "coll/choose.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

#include "coll/chunks.hpp"
#include "coll/internal.hpp"

namespace shm {
namespace {

struct Rule {
  Collective what;
  bool one_node;
  std::size_t bytes;  // up to
  int pes;            // up to
  Algorithm algorithm;
};

constexpr std::size_t kInlineBytes = Cell::kPayload;
constexpr std::size_t kAny = SIZE_MAX;
constexpr int kAll = 1 << 30;

// The first rule that fits is taken; one of 0 PEs fits never, and says that the algorithm is there
// (SHMEM_ALGORITHMS).  What each algorithm takes beside the others:
//   tests/perf/sweep_collectives.py --bin build/release/bin -n 4              (also -n 2, 3, 8)
//   tests/perf/sweep_collectives.py --bin build/release/bin -n 4 --nodes 4    (also --nodes 2)
constexpr Rule kRules[] = {
    {Collective::broadcast, true, kInlineBytes, kAll, Algorithm::inlined},
    {Collective::broadcast, true, kAny, kAll, Algorithm::reading},
    {Collective::broadcast, false, kInlineBytes, kAll, Algorithm::inlined},
    {Collective::broadcast, false, kAny, kAll, Algorithm::reading},
    {Collective::collect, true, kInlineBytes, kAll, Algorithm::inlined},
    {Collective::collect, true, kAny, kAll, Algorithm::reading},
    {Collective::alltoall, true, kInlineBytes, kAll, Algorithm::inlined},
    {Collective::alltoall, true, kAny, kAll, Algorithm::reading},
    {Collective::alltoall, false, 4096, 8, Algorithm::leading},
    {Collective::alltoall, false, 1024, 64, Algorithm::leading},
    {Collective::alltoall, false, 16384, kAll, Algorithm::combined},
    {Collective::alltoall, false, kAny, kAll, Algorithm::pairwise},
    {Collective::reduce, true, kInlineBytes, kAll, Algorithm::inlined},
    {Collective::reduce, true, 2048, 2, Algorithm::whole},
    {Collective::reduce, true, 512, kAll, Algorithm::whole},
    {Collective::reduce, true, kAny, kAll, Algorithm::shares},
    {Collective::reduce, false, kInlineBytes, kAll, Algorithm::inlined},
    {Collective::reduce, false, kAny, kAll, Algorithm::leading},
    {Collective::scan, true, kInlineBytes, kAll, Algorithm::inlined},
    {Collective::scan, true, kAny, kAll, Algorithm::shares},
    {Collective::scan, false, kInlineBytes, kAll, Algorithm::inlined},
    {Collective::scan, false, kAny, kAll, Algorithm::shares},
    {Collective::internode_broadcast, false, kAny, kAll, Algorithm::tree},
    {Collective::internode_broadcast, false, 0, 0, Algorithm::chain},
    {Collective::internode_reduce, false, 16384, kAll, Algorithm::doubling},
    {Collective::internode_reduce, false, 524288, 2, Algorithm::doubling},  // as many bytes, half the steps
    {Collective::internode_reduce, false, kAny, kAll, Algorithm::halving},
};

constexpr const char* kCollectives[] = {
#define COLLECTIVE(NAME) #NAME,
#include "coll/algorithms.def"
#undef COLLECTIVE
};
constexpr const char* kAlgorithms[] = {
#define ALGORITHM(NAME, WORD) WORD,
#include "coll/algorithms.def"
#undef ALGORITHM
};

consteval bool all_have_rules() {
  for (std::size_t i = 0; i < std::size(kAlgorithms); ++i) {
    if (std::none_of(std::begin(kRules), std::end(kRules),
                     [i](const Rule& rule) { return static_cast<std::size_t>(rule.algorithm) == i; }))
      return false;
  }
  return true;
}
static_assert(all_have_rules(),
              "an algorithm of algorithms.def is in no rule of kRules: nothing would use it");

std::size_t stripe_bytes = 32768;  // a stripe that has less than this to send is not worth its messages
std::size_t eager_bytes = 32768;

std::optional<Algorithm> overruled[std::size(kCollectives)];

// Whether somebody wrote the algorithm for that: a rule of the table has it.
bool can_use(Collective what, std::size_t bytes, bool one_node, Algorithm algorithm) {
  if (algorithm == Algorithm::inlined && bytes > kInlineBytes) return false;
  if (algorithm == Algorithm::whole && bytes > kChunk) return false;
  return std::any_of(std::begin(kRules), std::end(kRules), [&](const Rule& rule) {
    return rule.what == what && rule.one_node == one_node && rule.algorithm == algorithm;
  });
}

template <std::size_t n>
int index_of(const char* const (&names)[n], std::string_view name) {
  const auto found = std::find(std::begin(names), std::end(names), name);
  return found == std::end(names) ? -1 : static_cast<int>(found - std::begin(names));
}

bool overrule(std::string_view name, std::string_view value) {
  if (name == "stripe" || name == "eager") {
    std::size_t& limit = name == "stripe" ? stripe_bytes : eager_bytes;
    const auto result = std::from_chars(value.data(), value.data() + value.size(), limit);
    return result.ec == std::errc{} && result.ptr == value.data() + value.size() && limit > 0;
  }
  const int what = index_of(kCollectives, name), algorithm = index_of(kAlgorithms, value);
  if (what < 0 || algorithm < 0) return false;
  overruled[what] = static_cast<Algorithm>(algorithm);
  return true;
}

}  // namespace

int stripes_for(std::size_t bytes, int stripes) {
  return static_cast<int>(
      std::clamp<std::size_t>(bytes / stripe_bytes, 1, static_cast<std::size_t>(stripes)));
}

std::size_t eager_limit() { return eager_bytes; }

Status overrule_choice(std::string_view words) {
  while (!words.empty()) {
    const std::string_view word = words.substr(0, words.find(','));
    words.remove_prefix(std::min(words.size(), word.size() + 1));
    const std::size_t equals = word.find('=');
    if (equals == word.npos || !overrule(word.substr(0, equals), word.substr(equals + 1))) {
      return Status::error(
          "SHMEM_ALGORITHMS: \"" + std::string(word) +
          "\" is not collective=algorithm, stripe=bytes or eager=bytes; names: src/coll/algorithms.def");
    }
  }
  return {};
}

Algorithm choose(Collective what, std::size_t bytes, int pes, bool one_node) {
  if (const auto forced = overruled[static_cast<std::size_t>(what)]; forced.has_value()) [[unlikely]] {
    if (can_use(what, bytes, one_node, *forced)) return *forced;
  }
  for (const Rule& rule : kRules) {
    if (rule.what == what && rule.one_node == one_node && bytes <= rule.bytes && pes <= rule.pes) {
      return rule.algorithm;
    }
  }
  return Algorithm::reading;
}

}  // namespace shm
