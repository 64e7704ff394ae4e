// SPDX-License-Identifier: BSD-3-Clause
// Collective operations between nodes: one PE of each node takes part, for all members of the group on it, or
// of a long vector one PE for each stripe.
//
// Each sends about log2(nodes) parcels, but for exchange, where each node has something else for each other.
//
// `phase` names the operation: a phase number that the caller has taken for it.  Only the PEs of the stripe
// (the leaders, where none is named) call, except that broadcasts are called by the root on its own node.
#pragma once

#include "base/reduce_op.hpp"
#include "coll/group.hpp"

namespace shm {

/// Returns when all leaders have come here.  The n bytes at `said` are what the first node's leader has
/// there: they travel with what is sent anyway.  REQUIRES: n <= Cell::kPayload.
void internode_sync(Group& g, std::uint64_t phase, void* said = nullptr, std::size_t n = 0);

/// Brings n bytes from the root to the leader of every other node.  `data` is the source at the root, else
/// the place for it.
void internode_broadcast(Group& g, std::uint64_t phase, int root, void* data, std::size_t n);

/// Combines the vectors of all PEs of the stripe; each gets the same result, in place.
void internode_reduce(Group& g, std::uint64_t phase, const Reduction& op, void* data, std::size_t count,
                      int stripe = 0);

/// Replaces the vector of each PE of the stripe by the sum of those of the nodes before its own: zeros on the
/// first.  `op` is a sum.
void internode_exscan(Group& g, std::uint64_t phase, const Reduction& op, void* data, std::size_t count,
                      int stripe = 0);

/// Brings the block of each node to all leaders.  Block i has sizes[i] bytes; `blocks` has room for all in
/// the order of the nodes, without gaps, and holds this node's own at its place.  Calls of one phase differ
/// in `turn`.
void internode_gather(Group& g, std::uint64_t phase, std::byte* blocks, const std::vector<std::size_t>& sizes,
                      int turn = 0);

}  // namespace shm
