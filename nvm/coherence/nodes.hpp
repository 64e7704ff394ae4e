// SPDX-License-Identifier: BSD-3-Clause
// Which PE is the caching agent of a page on which node.
#pragma once

#include <vector>

#include "nvm/coherence/moesif.hpp"
#include "transports/net.hpp"

namespace shm::nvm {

/// The nodes of the job; the same on all PEs but for `here`.
struct Nodes : Placement {
  NodeId here = 0;

  NodeId node_of(int pe) const { return peers[static_cast<std::size_t>(pe)].node; }
  int node_rank_of(int pe) const { return static_cast<int>(peers[static_cast<std::size_t>(pe)].node_rank); }

  /// The PE whose pager has the pages of PE `home` on node `at`: the home itself on its own node, elsewhere
  /// one that is the same for all, so that homes are spread over the node.
  int caching_pe(int home, NodeId at) const {
    if (node_of(home) == at) return home;
    const std::vector<int>& there = members[static_cast<std::size_t>(at)];
    return there[static_cast<std::size_t>(home) % there.size()];
  }
};

}  // namespace shm::nvm
