// SPDX-License-Identifier: BSD-3-Clause
#include "coll/choose.hpp"

#include <algorithm>

#include "core/internal.hpp"

namespace shm {
namespace {

struct Rule {
  Collective what;
  bool one_node;
  std::size_t bytes;  // up to
  int pes;            // up to
  Algorithm algorithm;
};

constexpr std::size_t kRides = Cell::kPayload;
constexpr std::size_t kAny = SIZE_MAX;
constexpr int kAll = 1 << 30;

// The first rule that fits is taken; README.md says what the limits were measured with.
constexpr Rule kRules[] = {
    {Collective::broadcast, true, kRides, kAll, Algorithm::riding},
    {Collective::broadcast, true, kAny, kAll, Algorithm::reading},
    {Collective::broadcast, false, kRides, kAll, Algorithm::riding},
    {Collective::broadcast, false, kAny, kAll, Algorithm::reading},
    {Collective::collect, true, kRides, kAll, Algorithm::riding},
    {Collective::collect, true, kAny, kAll, Algorithm::reading},
    {Collective::collect, false, kAny, kAll, Algorithm::leading},
    {Collective::alltoall, true, kRides, kAll, Algorithm::riding},
    {Collective::alltoall, true, kAny, kAll, Algorithm::reading},
    {Collective::alltoall, false, 1024, 64, Algorithm::leading},
    {Collective::alltoall, false, 32768, kAll, Algorithm::combined},
    {Collective::alltoall, false, kAny, kAll, Algorithm::pairwise},
    {Collective::reduce, true, kRides, kAll, Algorithm::riding},
    {Collective::reduce, true, 2048, 4, Algorithm::whole},
    {Collective::reduce, true, 1024, kAll, Algorithm::whole},
    {Collective::reduce, true, kAny, kAll, Algorithm::shares},
    {Collective::reduce, false, kRides, kAll, Algorithm::riding},
    {Collective::reduce, false, kAny, kAll, Algorithm::leading},
    {Collective::scan, true, kRides, kAll, Algorithm::riding},
    {Collective::scan, true, kAny, kAll, Algorithm::shares},
    {Collective::scan, false, kRides, kAll, Algorithm::riding},
    {Collective::scan, false, kAny, kAll, Algorithm::shares},
    {Collective::leaders_broadcast, false, kAny, kAll, Algorithm::tree},
    {Collective::leaders_reduce, false, 65536, kAll, Algorithm::doubling},
    {Collective::leaders_reduce, false, kAny, kAll, Algorithm::halving},
};

// A lane that has less than this to send is not worth its messages.
constexpr std::size_t kLane = 32768;

}  // namespace

int lanes_for(std::size_t bytes, int lanes) {
  return static_cast<int>(std::clamp<std::size_t>(bytes / kLane, 1, static_cast<std::size_t>(lanes)));
}

Algorithm choose(Collective what, std::size_t bytes, int pes, bool one_node) {
  for (const Rule& rule : kRules) {
    if (rule.what == what && rule.one_node == one_node && bytes <= rule.bytes && pes <= rule.pes) {
      return rule.algorithm;
    }
  }
  return Algorithm::reading;
}

}  // namespace shm
