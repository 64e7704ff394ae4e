// SPDX-License-Identifier: BSD-3-Clause
// Which algorithm a collective call uses: by what is done, how much, among how many PEs, and over which path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/status.hpp"

namespace shm {

enum class Collective : std::uint8_t {
  broadcast,
  collect,
  alltoall,
  reduce,
  scan,
  internode_broadcast,  // between nodes; `pes` are nodes
  internode_reduce,
};

enum class Algorithm : std::uint8_t {
  inlined,   // "inline": payloads lie in the cells of the phase
  reading,   // each PE reads what it needs straight from the others' sources
  whole,     // reductions: each PE combines the whole vectors
  shares,    // reductions, scans: each PE does one part of the vector, for everybody
  leading,   // the leaders of the nodes do the work, the others copy the result
  pairwise,  // nodes: each PE exchanges with each
  combined,  // nodes: one parcel for each pair of nodes, shared out among the PEs of a node
  tree,      // nodes: each has it from one of the nodes that have it, log2(nodes) steps
  chain,     // nodes: each passes it on to the next, piece by piece
  doubling,  // nodes: whole vectors, log2(nodes) times
  halving,   // nodes: halves, then quarters ... and back
};

/// `bytes` is what each PE contributes to each cell or vector: the block of a collect, the vector of a
/// reduction, all blocks of an alltoall.  The answer depends only on what all members know.
Algorithm choose(Collective what, std::size_t bytes, int pes, bool one_node);

/// How many PEs of a node work between nodes, each on its part of a vector of `bytes`, if every node has
/// `stripes`.
int stripes_for(std::size_t bytes, int stripes);

/// Longer parcels wait until their receiver says where it wants them.
std::size_t eager_limit();

/// For measurements: words "collective=algorithm", by the names above, "stripe=bytes" and "eager=bytes", with
/// commas, overrule the table wherever the algorithm can be used.  Once, before other threads call.
Status overrule_choice(std::string_view words);

}  // namespace shm
