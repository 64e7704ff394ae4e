// SPDX-License-Identifier: BSD-3-Clause
#include "coll/group.hpp"

#include <algorithm>

#include "base/fatal.hpp"
#include "coll/barrier.hpp"
#include "coll/slots.hpp"
#include "coll/staging.hpp"
#include "core/region.hpp"
#include "core/wait.hpp"

namespace shm {
namespace {

// Looks before the first pause, where every PE has a core: an answer is usually less than a microsecond away,
// and a pause instruction takes longer than a load that hits.
constexpr int kEagerLooks = 64;

void add_member(Group& g, std::vector<int>& node_leaders, int member) {
  const int pe = g.team.world_pe(member);
  const int host = rt.memory->record(pe).leader;
  const auto found = std::find(node_leaders.begin(), node_leaders.end(), host);
  const auto node = static_cast<std::size_t>(found - node_leaders.begin());
  if (found == node_leaders.end()) {
    node_leaders.push_back(host);
    g.nodes.push_back({{}, pe});
  }
  g.nodes[node].members.push_back(member);
  g.node_of.push_back(static_cast<int>(node));
  if (member != g.team.me) return;
  g.node = static_cast<int>(node);
  g.local = static_cast<int>(g.nodes[node].members.size()) - 1;
}

}  // namespace

std::unique_ptr<Group> make_group(const Team& team, int slot) {
  auto g = std::make_unique<Group>();
  g->team = team;
  g->slot = slot;
  g->seq = &slot_counter(slot);
  g->settled = *g->seq;
  std::vector<int> node_leaders;
  for (int member = 0; member < team.size; ++member) add_member(*g, node_leaders, member);
  g->position_of.resize(g->node_of.size());
  std::size_t position = 0;
  g->stripes = team.size;
  for (const NodePart& node : g->nodes) {
    g->stripes = std::min(g->stripes, static_cast<int>(node.members.size()));
    for (const int member : node.members) {
      g->in_order = g->in_order && static_cast<std::size_t>(member) == position;
      g->position_of[static_cast<std::size_t>(member)] = position++;
    }
  }
  for (const int member : g->locals()) {
    g->rings.push_back(internal_at(&internal_area().cells[slot][0], team.world_pe(member)));
  }
  return g;
}

void wait_for_cell(const Group& g, int i, const Cell& cell, std::uint64_t number) {
  const auto reached = [&] { return cell.number.load(std::memory_order_acquire) >= number; };
  const int looks = rt.spin_polls >= kEagerLooks ? kEagerLooks : 1;
  for (int i = 0; i < looks; ++i) {
    if (reached()) return;
  }
  wait_for(reached, [&](WaitRecord& record) {
    const int pe = g.team.world_pe(g.locals()[static_cast<std::size_t>(i)]);
    describe_behind(record, g.slot, pe);
  });
}

std::uint64_t take_phases(Group& g, int count) {
  constexpr int kOfBarrier = 2;
  const auto needed = static_cast<std::uint64_t>(count + kOfBarrier);
  if (*g.seq + needed >= g.settled + kCells) [[unlikely]]
    sync_group(g);
  const std::uint64_t first = *g.seq + 1;
  *g.seq += static_cast<std::uint64_t>(count);
  return first;
}

std::byte* at_member(const Group& g, Call call, const char* argument, const void* address, std::size_t n,
                     int member) {
  const int pe = g.team.world_pe(member);
  if (std::byte* here = mapped(address, n, pe)) [[likely]]
    return here;
  if (is_staging(address, n)) return internal_at(static_cast<std::byte*>(const_cast<void*>(address)), pe);
  const Target target = resolve(call, argument, address, n, pe);
  if (target.local != nullptr) return target.local;
  if (target.region != nullptr) {
    if (void* here = target.region->ptr(reinterpret_cast<std::uintptr_t>(address), pe)) {
      return static_cast<std::byte*>(here);
    }
  }
  fatal(
      "%s: %s %p cannot be reached by the PEs of its node; allowed are memory from shmem_malloc and the "
      "like, and "
      "global and static variables",
      call.name, argument, address);
}

}  // namespace shm
