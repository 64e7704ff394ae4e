// SPDX-License-Identifier: BSD-3-Clause
// Which algorithm a collective call uses: by what is done, how much, among how many PEs, and over which path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/status.hpp"

namespace shm {

enum class Collective : std::uint8_t {
#define COLLECTIVE(NAME) NAME,
#include "coll/algorithms.def"
#undef COLLECTIVE
};

enum class Algorithm : std::uint8_t {
#define ALGORITHM(NAME, WORD) NAME,
#include "coll/algorithms.def"
#undef ALGORITHM
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
