// SPDX-License-Identifier: BSD-3-Clause
#include "coll/barrier.hpp"

#include "coll/group.hpp"
#include "coll/internode.hpp"
#include "coll/slots.hpp"
#include "coll/teams.hpp"

namespace shm {
namespace {

// Up to this many PEs on the only node each one watches all others: one step of latency, and few enough
// lines.
constexpr int kFlat = 8;
constexpr int kRadix = 8;  // children in the tree of larger nodes

// Phase 1: arrivals climb a tree to the leader.  Phase 2, of the leader alone: it releases everybody at once,
// with what the first leader says.
void sync_tree(Group& g, std::uint64_t phase, void* said, std::size_t n) {
  for (int child = g.local * kRadix + 1; child <= g.local * kRadix + kRadix && child < g.local_size();
       ++child) {
    await(g, child, phase);
  }
  publish(g, phase);
  if (g.leads()) {
    if (!g.one_node()) internode_sync(g, phase, said, n);
    publish(g, phase + 1, said, n);
  } else {
    const Cell& cell = await(g, 0, phase + 1);
    if (n > 0) std::memcpy(said, cell.payload, n);
  }
}

bool is_flat(const Group& g) { return g.one_node() && g.size() <= kFlat; }

}  // namespace

void sync_group(Group& g) {
  if (g.size() == 1) return;
  // Invariant 1 without take_phases(), which calls this: that leaves room for a barrier, always.
  const std::uint64_t phase = *g.seq + 1;
  if (is_flat(g)) {
    *g.seq = phase;
    publish(g, phase);
    await_all(g, phase);
  } else {
    *g.seq = phase + 1;
    sync_tree(g, phase, nullptr, 0);
  }
  settle(g, phase);
}

// PE 0 is the first of the first node.
void sync_world_with(Call call, void* said, std::size_t n) {
  begin_call(kWorldSlot, call);
  Group& g = world_group();
  if (g.size() == 1) return;
  const std::uint64_t phase = *g.seq + 1;
  if (is_flat(g)) {
    *g.seq = phase;
    publish(g, phase, said, g.me() == 0 ? n : 0);
    await_all(g, phase);
    if (g.me() != 0) std::memcpy(said, await(g, 0, phase).payload, n);
  } else {
    *g.seq = phase + 1;
    sync_tree(g, phase, said, n);
  }
  settle(g, phase);
}

void sync_world(Call call) {
  begin_call(kWorldSlot, call);
  sync_group(world_group());
}

}  // namespace shm
