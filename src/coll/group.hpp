// SPDX-License-Identifier: BSD-3-Clause
// A group: what the members of a team or active set need for collective operations.  README.md has the
// protocols.
//
// PEs of one node talk through cells in shared memory (coll/internal.hpp).  Each collective call takes the
// next one or more phase numbers of the group; all members make the same calls, so all know which phase means
// what.  In phase n a PE writes its cell n % kCells, payload first, then the number.
//
// Invariants
//  1. A PE writes the cell of phase n only when n < settled + kCells, where every member on its node is known
//     to have entered phase `settled`: so nobody reads the cell's former contents any more.
//  2. Numbers only grow, also from one team that uses a slot to the next.  A reader that only wants to know
//  that a
//     phase was reached therefore accepts any later number; payloads are covered by 1.
//  3. seq and settled depend only on the calls made: they are the same on all members.
//
// Thread safety: one thread at a time, as for any collective operation.  Groups of different teams are
// independent.
#pragma once

#include <cstring>
#include <memory>
#include <vector>

#include "coll/internal.hpp"
#include "core/address.hpp"
#include "core/team.hpp"

namespace shm {

/// Members that share a node, in team order; the first one speaks for the others.
struct NodePart {
  std::vector<int> members;  // team numbers
  int leader = 0;            // world PE of the first
};

struct Group {
  Team team;
  int slot = 0;
  std::uint64_t* seq = nullptr;  // phases taken so far
  std::uint64_t settled = 0;
  std::vector<NodePart> nodes;           // in the order of their first members
  int node = 0;                          // mine
  int local = 0;                         // my place among my node's members
  std::vector<Cell*> rings;              // the cells of my node's members, as mapped here
  std::vector<int> node_of;              // [member]
  std::vector<std::size_t> position_of;  // [member]: where all members stand, node by node
  bool in_order = true;                  // that is team order
  int stripes = 0;                       // members that every node has: as many can work between nodes

  int size() const { return team.size; }
  int me() const { return team.me; }
  bool one_node() const { return nodes.size() == 1; }
  bool leads() const { return local == 0; }
  const std::vector<int>& locals() const { return nodes[static_cast<std::size_t>(node)].members; }
  int local_size() const { return static_cast<int>(rings.size()); }
};

/// World PE of the member that works for `node` in `stripe`; the leader's is stripe 0.
inline int stripe_pe(const Group& g, int node, int stripe = 0) {
  return g.team.world_pe(g.nodes[static_cast<std::size_t>(node)].members[static_cast<std::size_t>(stripe)]);
}

/// The group of `team` on `slot`.  Its members must agree on slot and on the phase number to begin with,
/// which is counters of the slot (slots.hpp).  REQUIRES: this PE is a member.
std::unique_ptr<Group> make_group(const Team& team, int slot);

/// Waits until the cell of member `i` of this node has come to phase `number`.
[[gnu::cold]] void wait_for_cell(const Group& g, int i, const Cell& cell, std::uint64_t number);

/// The cell of phase `number` of member `i` of this node, once that member has reached the phase.  The
/// acquire pairs with the release in publish(): what the member wrote before, the payload included, is
/// visible after.
[[gnu::always_inline]] inline const Cell& await(const Group& g, int i, std::uint64_t number) {
  const Cell& cell = g.rings[static_cast<std::size_t>(i)][number % kCells];
  if (cell.number.load(std::memory_order_acquire) < number) wait_for_cell(g, i, cell, number);
  return cell;
}

inline void await_all(const Group& g, std::uint64_t number) {
  for (int i = 0; i < g.local_size(); ++i) await(g, i, number);
}

/// Says that this PE has come to phase `number`.  REQUIRES: n <= Cell::kPayload.
[[gnu::always_inline]] inline void publish(Group& g, std::uint64_t number, const void* payload = nullptr,
                                           std::size_t n = 0, std::uint64_t size = 0) {
  Cell& cell = g.rings[static_cast<std::size_t>(g.local)][number % kCells];
  if (n > 0) std::memcpy(cell.payload, payload, n);
  cell.size = size;
  cell.number.store(number, std::memory_order_release);
}

/// Takes the next `count` phase numbers and returns the first.  May synchronize the group to keep
/// invariant 1.
std::uint64_t take_phases(Group& g, int count);

/// Every member on this node is known to have entered phase `number`.
inline void settle(Group& g, std::uint64_t number) { g.settled = number; }

/// Address here of a local member's n bytes at `address`; ends the job, naming call and argument, if they are
/// not symmetric memory that the PEs of a node share.
std::byte* at_member(const Group& g, Call call, const char* argument, const void* address, std::size_t n,
                     int member);

}  // namespace shm
