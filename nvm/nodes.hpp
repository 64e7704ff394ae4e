// SPDX-License-Identifier: BSD-3-Clause
// Which PE speaks for a page on which node.
#pragma once

#include <vector>

#include "nvm/moesif.hpp"

namespace shm::nvm {

/// The nodes of the job; the same on all PEs but for `here`.
struct Nodes {
  NodeId here = 0;
  std::vector<NodeId> node;               // of each PE
  std::vector<int> place;                 // of each PE on its node
  std::vector<std::vector<int>> members;  // PEs of each node, by place

  NodeId node_of(int pe) const { return node[static_cast<std::size_t>(pe)]; }
  int place_of(int pe) const { return place[static_cast<std::size_t>(pe)]; }
  bool is_here(int pe) const { return node_of(pe) == here; }

  /// The PE whose pager has the pages of PE `home` on node `at`: the home itself on its own node, elsewhere
  /// one that is the same for all, so that homes are spread over the node.
  int keeper(int home, NodeId at) const {
    if (node_of(home) == at) return home;
    const std::vector<int>& there = members[static_cast<std::size_t>(at)];
    return there[static_cast<std::size_t>(home) % there.size()];
  }
};

}  // namespace shm::nvm
