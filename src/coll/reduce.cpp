// SPDX-License-Identifier: BSD-3-Clause
// Reductions: the vectors of all members combined, to all.
#include <algorithm>

#include "base/copy_bytes.hpp"
#include "coll/choose.hpp"
#include "coll/chunks.hpp"
#include "coll/collectives.hpp"
#include "coll/internode.hpp"
#include "coll/paged.hpp"

namespace shm {
namespace {

// Combines what lies in the cells of all PEs of this node into `result`.
void combine_cells(const Group& g, const Reduction& op, std::uint64_t phase, void* result,
                   std::size_t count) {
  std::memcpy(result, await(g, 0, phase).payload, count * op.element);
  for (int i = 1; i < g.local_size(); ++i) op.into(result, await(g, i, phase).payload, count);
}

// Phase 1: my source is ready.  Phase 2: I have read all sources; only now dest, which may be a source, is
// written.
void reduce_whole(Group& g, Call call, const Reduction& op, void* dest, const void* source,
                  std::size_t count) {
  const std::size_t n = count * op.element;
  const std::uint64_t phase = take_phases(g, 2);
  publish(g, phase);
  alignas(kCacheLine) std::byte result[kChunk];
  for (int i = 0; i < g.size(); ++i) {
    await(g, i, phase);
    const void* from = at_member(g, call, "source", source, n, i);
    if (i == 0) {
      std::memcpy(result, from, n);
    } else {
      op.into(result, from, count);
    }
  }
  publish(g, phase + 1);
  await_all(g, phase + 1);
  std::memcpy(dest, result, n);
  settle(g, phase + 1);
}

/// The vectors of this node's members, and where results go.
struct Vectors {
  Vectors(const Group& g, Call call, void* dest, const void* source, std::size_t n)
      : from(g, call, "source", source, n), to(g, call, "dest", dest, n) {}
  const Pointers from, to;
};

// Combines one share of the vectors of this node and writes the result to the dests of the local members
// first ... end - 1.  Nobody else reads or writes that share of anything, so dests may be sources.
void combine_share(const Group& g, const Reduction& op, const Vectors& v, Share share, int first, int end) {
  alignas(kCacheLine) std::byte result[kChunk];
  for_chunks(share, op.element, [&](std::size_t at, std::size_t elements) {
    const std::size_t offset = at * op.element, n = elements * op.element;
    copy_bytes(result, v.from[0] + offset, n);
    for (int i = 1; i < g.local_size(); ++i) op.into(result, v.from[i] + offset, elements);
    for (int i = first; i < end; ++i) copy_bytes(v.to[i] + offset, result, n);
  });
}

// Phase 1: my source is ready, and my dest.  Phase 2: my share is done, in everybody's dest.
void reduce_shares(Group& g, Call call, const Reduction& op, void* dest, const void* source,
                   std::size_t count) {
  const std::uint64_t phase = take_phases(g, 2);
  publish(g, phase);
  await_all(g, phase);
  const Vectors v(g, call, dest, source, count * op.element);
  combine_share(g, op, v, share_of(count, op.element, g.local, g.local_size()), 0, g.local_size());
  publish(g, phase + 1);
  await_all(g, phase + 1);
  settle(g, phase + 1);
}

// The vector is divided into stripes, each of which one PE of each node carries between nodes.
// Phase 1: my source is ready.  Phase 2: my share of the node's result is in the dest of the PE of its
// stripe. Phase 3, of the PEs of stripes: there is the result of all nodes.  Phase 4: I have copied it.
void reduce_leading(Group& g, Call call, const Reduction& op, void* dest, const void* source,
                    std::size_t count) {
  const std::uint64_t phase = take_phases(g, 4);
  publish(g, phase);
  await_all(g, phase);
  const int stripes = stripes_for(count * op.element, g.stripes);
  const auto stripe = [&](int i) { return share_of(count, op.element, i, stripes); };
  const Vectors v(g, call, dest, source, count * op.element);
  const Share mine = share_of(count, op.element, g.local, g.local_size());
  for (int i = 0; i < stripes; ++i) {
    combine_share(g, op, v, {std::max(mine.begin, stripe(i).begin), std::min(mine.end, stripe(i).end)}, i,
                  i + 1);
  }
  publish(g, phase + 1);
  if (g.local < stripes) {
    await_all(g, phase + 1);
    const Share own = stripe(g.local);
    internode_reduce(g, phase, op, v.to[g.local] + own.begin * op.element, own.end - own.begin, g.local);
    publish(g, phase + 2);
  }
  for (int i = 0; i < stripes; ++i) {
    await(g, i, phase + 2);
    if (i == g.local) continue;
    const std::size_t offset = stripe(i).begin * op.element;
    copy_bytes(v.to[g.local] + offset, v.to[i] + offset, (stripe(i).end - stripe(i).begin) * op.element);
  }
  publish(g, phase + 3);
  if (g.local < stripes) await_all(g, phase + 3);
  settle(g, phase + 1);
}

}  // namespace

// Phase 1: my vector is inline; on one node everybody combines all.
// Phase 2, on several nodes, of the leaders: the result is inline.
void reduce_inline(Group& g, const Reduction& op, void* dest, const void* source, std::size_t count) {
  const std::size_t n = count * op.element;
  const std::uint64_t phase = take_phases(g, 2);
  publish(g, phase, source, n);
  if (g.one_node()) {
    combine_cells(g, op, phase, dest, count);
  } else if (g.leads()) {
    combine_cells(g, op, phase, dest, count);
    internode_reduce(g, phase, op, dest, count);
    publish(g, phase + 1, dest, n);
  } else {
    std::memcpy(dest, await(g, 0, phase + 1).payload, n);
  }
  settle(g, phase);
}

void reduce(Group& g, Call call, const Reduction& op, void* dest, const void* source, std::size_t count) {
  if (count == 0) return;
  const std::size_t n = count * op.element;
  if (g.size() == 1) {
    if (dest != source) copy_bytes(dest, source, n);
    return;
  }
  if (is_paged(dest, source)) return paged_reduce(g, call, op, dest, source, count);
  switch (choose(Collective::reduce, n, g.size(), g.one_node())) {
    case Algorithm::inlined: return reduce_inline(g, op, dest, source, count);
    case Algorithm::whole: return reduce_whole(g, call, op, dest, source, count);
    case Algorithm::leading: return reduce_leading(g, call, op, dest, source, count);
    default: return reduce_shares(g, call, op, dest, source, count);
  }
}

}  // namespace shm
