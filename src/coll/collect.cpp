// SPDX-License-Identifier: BSD-3-Clause
// fcollect and collect: the blocks of all members, one after the other, to all.
#include <algorithm>
#include <numeric>

#include "base/call_checks.hpp"
#include "base/copy_bytes.hpp"
#include "coll/choose.hpp"
#include "coll/collectives.hpp"
#include "coll/internode.hpp"
#include "coll/paged.hpp"

namespace shm {
namespace {

using Sizes = std::vector<std::size_t>;

// How long dest must be is known to all members together only.
void check_dest(Call call, const void* dest, std::size_t n) {
  if (const CallChecks* checks = call_checks.load(std::memory_order_relaxed)) [[unlikely]]
    checks->range(call.name, "dest", dest, n);
}

// ---- One node

// Phase 1: my source is ready (or inline).  Phase 2, unless all were: I have copied all.
void fcollect_here(Group& g, Call call, std::byte* dest, const void* source, std::size_t n) {
  const bool inlined = choose(Collective::collect, n, g.size(), true) == Algorithm::inlined;
  const std::uint64_t phase = take_phases(g, inlined ? 1 : 2);
  publish(g, phase, source, inlined ? n : 0);
  for (int k = 0; k < g.size(); ++k) {
    const int i = g.me() + k < g.size() ? g.me() + k : g.me() + k - g.size();  // not all at the same peer
    const Cell& cell = await(g, i, phase);
    const void* from = inlined       ? cell.payload
                       : i == g.me() ? source
                                     : at_member(g, call, "source", source, n, i);
    copy_bytes(dest + static_cast<std::size_t>(i) * n, from, n);
  }
  settle(g, phase);
  if (inlined) return;
  publish(g, phase + 1);
  await_all(g, phase + 1);
}

// Members with nothing to give may have no source, so each says where its own is.
const void* source_of(const Cell& cell) {
  Place place;
  std::memcpy(&place, cell.payload, sizeof place);
  return address_of(place);
}

// Whether data are inline is decided for each member by its own size, which its cell tells.
void collect_here(Group& g, Call call, std::byte* dest, const void* source, std::size_t n) {
  const auto inlined = [&](std::size_t size) {
    return choose(Collective::collect, size, g.size(), true) == Algorithm::inlined;
  };
  const std::uint64_t phase = take_phases(g, 2);
  if (inlined(n)) {
    publish(g, phase, source, n, n);
  } else {
    const Place place = place_of(source);
    publish(g, phase, &place, sizeof place, n);
  }
  bool all_inline = true;
  std::byte* const first = dest;
  for (int i = 0; i < g.size(); ++i) {
    const Cell& cell = await(g, i, phase);
    const std::size_t size = cell.size;
    check_dest(call, first, static_cast<std::size_t>(dest - first) + size);
    if (inlined(size)) {
      if (size > 0) std::memcpy(dest, cell.payload, size);
    } else {
      all_inline = false;
      copy_bytes(dest, i == g.me() ? source : at_member(g, call, "source", source_of(cell), size, i), size);
    }
    dest += size;
  }
  settle(g, phase);
  if (all_inline) return;
  publish(g, phase + 1);
  await_all(g, phase + 1);
}

// ---- Several nodes

std::size_t sum(const Sizes& sizes) { return std::accumulate(sizes.begin(), sizes.end(), std::size_t{0}); }

// Bytes of each node's block, when members have `sizes`.
Sizes node_sizes(const Group& g, const Sizes& sizes) {
  Sizes of_node(g.nodes.size(), 0);
  for (std::size_t member = 0; member < sizes.size(); ++member) {
    of_node[static_cast<std::size_t>(g.node_of[member])] += sizes[member];
  }
  return of_node;
}

// Leader: all members' sizes, from what those of its node have published.
Sizes gather_sizes(Group& g, std::uint64_t phase) {
  Sizes packed;
  const Sizes ones(static_cast<std::size_t>(g.size()), sizeof(std::size_t));
  const Sizes of_node = node_sizes(g, ones);
  for (int node = 0; node < static_cast<int>(g.nodes.size()); ++node) {
    for (std::size_t i = 0; i < g.nodes[static_cast<std::size_t>(node)].members.size(); ++i) {
      packed.push_back(node == g.node ? await(g, static_cast<int>(i), phase).size : 0);
    }
  }
  internode_gather(g, phase, reinterpret_cast<std::byte*>(packed.data()), of_node);
  Sizes sizes(packed.size());
  std::size_t next = 0;
  for (const NodePart& node : g.nodes) {
    for (const int member : node.members) sizes[static_cast<std::size_t>(member)] = packed[next++];
  }
  return sizes;
}

/// The leader's part: its node's sources, then all nodes' blocks, to its dest.
void lead(Group& g, Call call, std::uint64_t phase, std::byte* dest, const void* source, const Sizes& sizes) {
  const bool direct = g.in_order;
  std::vector<std::byte> packed(direct ? 0 : sum(sizes));
  std::byte* blocks = direct ? dest : packed.data();
  const Sizes of_node = node_sizes(g, sizes);
  std::byte* mine = blocks + std::accumulate(of_node.begin(), of_node.begin() + g.node, std::size_t{0});
  for (std::size_t i = 0; i < g.locals().size(); ++i) {
    const int member = g.locals()[i];
    const std::size_t size = sizes[static_cast<std::size_t>(member)];
    const Cell& cell = await(g, static_cast<int>(i), phase);
    if (size == 0) continue;
    const void* from =
        member == g.me() ? source : at_member(g, call, "source", source_of(cell), size, member);
    copy_bytes(mine, from, size);
    mine += size;
  }
  internode_gather(g, phase + 1, blocks, of_node);
  if (direct) return;
  Sizes start(sizes.size() + 1, 0);
  std::partial_sum(sizes.begin(), sizes.end(), start.begin() + 1);
  const std::byte* from = blocks;
  for (const NodePart& node : g.nodes) {
    for (const int member : node.members) {
      const std::size_t size = sizes[static_cast<std::size_t>(member)];
      if (size > 0) copy_bytes(dest + start[static_cast<std::size_t>(member)], from, size);
      from += size;
    }
  }
}

// Phase 1: my source is ready.  Phase 2, of the leader: the result is in my dest.  Phase 3: I have copied it.
// `sizes_of` returns what all members bring; the leader asks.
template <class SizesOf>
void collect_between(Group& g, Call call, std::byte* dest, const void* source, std::size_t n,
                     SizesOf sizes_of) {
  const std::uint64_t phase = take_phases(g, 3);
  const Place place = place_of(source);
  publish(g, phase, &place, sizeof place, n);
  if (g.leads()) {
    const Sizes& sizes = sizes_of(phase);
    check_dest(call, dest, sum(sizes));
    lead(g, call, phase, dest, source, sizes);
    publish(g, phase + 1, nullptr, 0, sum(sizes));
    for (int i = 1; i < g.local_size(); ++i) await(g, i, phase + 2);
  } else {
    const std::size_t total = await(g, 0, phase + 1).size;
    check_dest(call, dest, total);
    if (total > 0) copy_bytes(dest, at_member(g, call, "dest", dest, total, g.locals().front()), total);
    publish(g, phase + 2);
  }
  settle(g, phase);
}

// A member that brings nothing may have no source: then those of others tell.
bool any_is_paged(Group& g, const void* dest, const void* source, std::size_t n) {
  if (rt.paged == nullptr || in_region(dest)) return in_region(dest);
  const std::uint64_t mine = n > 0 && in_region(source) ? 1 : 0;
  std::uint64_t all = 0;
  reduce_inline(g, kReduction<ReduceOp::sum, std::uint64_t>, &all, &mine, 1);
  return all > 0;
}

}  // namespace

void fcollect(Group& g, Call call, void* dest, const void* source, std::size_t n) {
  if (n == 0) return;
  if (g.size() == 1) {
    if (dest != source) copy_bytes(dest, source, n);
  } else if (is_paged(dest, source)) {
    paged_fcollect(g, call, dest, source, n);
  } else if (g.one_node()) {
    fcollect_here(g, call, static_cast<std::byte*>(dest), source, n);
  } else {
    collect_between(g, call, static_cast<std::byte*>(dest), source, n,
                    [&](std::uint64_t) { return Sizes(static_cast<std::size_t>(g.size()), n); });
  }
}

void collect(Group& g, Call call, void* dest, const void* source, std::size_t n) {
  if (g.size() == 1) {
    if (dest != source && n > 0) copy_bytes(dest, source, n);
  } else if (any_is_paged(g, dest, source, n)) {
    paged_collect(g, call, dest, source, n);
  } else if (g.one_node()) {
    collect_here(g, call, static_cast<std::byte*>(dest), source, n);
  } else {
    collect_between(g, call, static_cast<std::byte*>(dest), source, n,
                    [&](std::uint64_t phase) { return gather_sizes(g, phase); });
  }
}

void collect_known(Group& g, Call call, void* dest, const void* source, const Sizes& sizes) {
  const std::size_t n = sizes[static_cast<std::size_t>(g.me())];
  if (g.one_node()) return collect_here(g, call, static_cast<std::byte*>(dest), source, n);
  collect_between(g, call, static_cast<std::byte*>(dest), source, n,
                  [&](std::uint64_t) -> const Sizes& { return sizes; });
}

}  // namespace shm
