// SPDX-License-Identifier: BSD-3-Clause
// Mappers: how PEs of one node come to share memory.
//
// A mapper plugs in at set-up and leaves only data behind: a file descriptor of one sparse file that every PE
// of the node maps.  Kinds of shared memory differ in how a peer gets hold of that file, not in how one
// stores to it.
#pragma once

#include <memory>
#include <string>

#include "base/status.hpp"

namespace shm {

/// This PE as a member of its node.
struct NodeMember {
  std::string key;  ///< unique on the machine: job, user, (virtual) node, and a secret of the node, as all
                    ///< users see who takes a name; letters, digits, '.', '-' and '_'
  int node_rank;    ///< 0 .. node_size - 1; 0 is the leader
  int node_size;
  double timeout;  ///< seconds to wait for the others
};

class Mapper {
 public:
  virtual ~Mapper() = default;
  virtual const char* name() const = 0;

  /// Collective over the node: the leader creates an empty file, the others attach to it.  The caller owns
  /// the descriptor.  Waits for the leader, and (in the leader) for nobody.
  virtual Result<int> open(const NodeMember& member) = 0;

  /// Leader, after every member has attached: removes whatever name the file had, so that nothing is left
  /// behind however the processes end.
  virtual void all_attached() = 0;
};

}  // namespace shm
