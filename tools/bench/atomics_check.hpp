// SPDX-License-Identifier: BSD-3-Clause
// Whether a round of a kernel did what it should: by a model of it, where the contract leaves one outcome,
// and by sums.
#pragma once

#include "kernels.hpp"

namespace bench {

/// Memory of one PE's model: same sizes as the ground, private.  Owned by the caller, reused.
struct Sandbox {
  Ground ground;
  const Word* index;  ///< what ground.index and ground.next must hold
  const Word* next;
};

/// Collective, after a barrier that follows the updates.  Whether all is right on all PEs; a PE that finds
/// something wrong says what on its standard error.
bool verify(const Kernel& kernel, const Ground& ground, Sandbox& sandbox, std::size_t count,
            const Tally& tally);

}  // namespace bench
