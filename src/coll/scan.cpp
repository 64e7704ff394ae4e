// SPDX-License-Identifier: BSD-3-Clause
// Inclusive and exclusive scans: the vectors of the members before, combined.
#include "base/copy_bytes.hpp"
#include "coll/choose.hpp"
#include "coll/chunks.hpp"
#include "coll/collectives.hpp"
#include "coll/internode.hpp"
#include "coll/internode_scan.hpp"
#include "coll/paged.hpp"

namespace shm {
namespace {

// Phase 1: my vector is inline.  Phase 2, on several nodes, of the leader: the sum of the nodes before.
void scan_inline(Group& g, const Reduction& op, void* dest, const void* source, std::size_t count,
                 bool inclusive) {
  const std::size_t n = count * op.element;
  const std::uint64_t phase = take_phases(g, g.one_node() ? 1 : 2);
  publish(g, phase, source, n);
  if (g.one_node()) {
    op.clear(dest, count);
  } else if (g.leads()) {
    alignas(kCacheLine) std::byte sum[Cell::kPayload];
    op.clear(sum, count);
    for (int i = 0; i < g.local_size(); ++i) op.into(sum, await(g, i, phase).payload, count);
    internode_exscan(g, phase, op, sum, count);
    publish(g, phase + 1, sum, n);
    std::memcpy(dest, sum, n);
  } else {
    std::memcpy(dest, await(g, 0, phase + 1).payload, n);
  }
  const int end = inclusive ? g.local + 1 : g.local;
  for (int i = 0; i < end; ++i) op.into(dest, await(g, i, phase).payload, count);
  await_all(g, phase);
  settle(g, phase);
}

// Adds `source` to the running sum and gives `dest` the sum with or without it.
void scan_step(const Reduction& op, std::byte* sum, std::byte* dest, const std::byte* source,
               std::size_t elements, bool inclusive) {
  const std::size_t n = elements * op.element;
  if (inclusive) {
    op.into(sum, source, elements);
    std::memcpy(dest, sum, n);
    return;
  }
  alignas(kCacheLine) std::byte own[kChunk];  // dest may be source
  std::memcpy(own, source, n);
  std::memcpy(dest, sum, n);
  op.into(sum, own, elements);
}

// One share for all members of this node; `carry` is what the nodes before add to it, or null.
void scan_share(const Group& g, const Reduction& op, const Pointers& to, const Pointers& from, Share share,
                const std::byte* carry, bool inclusive) {
  alignas(kCacheLine) std::byte sum[kChunk];
  for_chunks(share, op.element, [&](std::size_t at, std::size_t part) {
    const std::size_t offset = at * op.element, n = part * op.element;
    if (carry != nullptr) {
      std::memcpy(sum, carry + (at - share.begin) * op.element, n);
    } else {
      op.clear(sum, part);
    }
    for (int i = 0; i < g.local_size(); ++i) {
      scan_step(op, sum, to[i] + offset, from[i] + offset, part, inclusive);
    }
  });
}

// One stripe between nodes: the sums of a node's vectors go to the nodes behind it.
void scan_stripe(Group& g, std::uint64_t phase, const Reduction& op, const Pointers& to, const Pointers& from,
                 Share stripe, bool inclusive) {
  InternodeScan between(g, phase, op, stripe.end - stripe.begin, g.local);
  std::size_t part = 0;
  for (std::size_t at = stripe.begin; at < stripe.end; at += between.most(), ++part) {
    const Share share{at, std::min(stripe.end, at + between.most())};
    const std::size_t elements = share.end - share.begin, offset = at * op.element;
    std::byte* const own = between.own(part);
    copy_bytes(own, from[0] + offset, elements * op.element);
    for (int i = 1; i < g.local_size(); ++i) op.into(own, from[i] + offset, elements);
    scan_share(g, op, to, from, share, between.sum_before(part), inclusive);
  }
}

// Phase 1: my source and dest are ready.  Phase 2: I have done my share for everybody.  Between nodes shares
// are stripes.
void scan_shares(Group& g, Call call, const Reduction& op, void* dest, const void* source, std::size_t count,
                 bool inclusive) {
  const std::size_t n = count * op.element;
  const std::uint64_t phase = take_phases(g, 2);
  publish(g, phase);
  await_all(g, phase);
  const Pointers from(g, call, "source", source, n);
  const Pointers to(g, call, "dest", dest, n);
  const int shares = g.one_node() ? g.size() : stripes_for(n, g.stripes);
  if (g.local < shares) {
    const Share share = share_of(count, op.element, g.local, shares);
    if (g.one_node()) {
      scan_share(g, op, to, from, share, nullptr, inclusive);
    } else {
      scan_stripe(g, phase, op, to, from, share, inclusive);
    }
  }
  publish(g, phase + 1);
  await_all(g, phase + 1);
  settle(g, phase + 1);
}

/// For teams whose order is not node after node.  The leader's part: chunk by chunk all leaders get all
/// vectors, then each sums them up for the members of its node.
class LeadingScan {
 public:
  LeadingScan(Group& g, Call call, const Reduction& op, void* dest, const void* source, std::size_t count)
      : g_(g),
        op_(op),
        count_(count),
        from_(g, call, "source", source, count * op.element),
        to_(g, call, "dest", dest, count * op.element),
        position_(g.position_of) {
    local_.resize(static_cast<std::size_t>(g.size()), -1);
    for (int i = 0; i < g.local_size(); ++i)
      local_[static_cast<std::size_t>(g.locals()[static_cast<std::size_t>(i)])] = i;
  }

  void run(std::uint64_t phase, bool inclusive) {
    int turn = 0;
    for_chunks({0, count_}, op_.element, [&](std::size_t at, std::size_t part) {
      gather(phase, turn++, at, part);
      sum_up(at, part, inclusive);
    });
  }

 private:
  void gather(std::uint64_t phase, int turn, std::size_t at, std::size_t part) {
    const std::size_t n = part * op_.element;
    blocks_.resize(position_.size() * n);
    for (int i = 0; i < g_.local_size(); ++i) {
      const auto member = static_cast<std::size_t>(g_.locals()[static_cast<std::size_t>(i)]);
      copy_bytes(blocks_.data() + position_[member] * n, from_[i] + at * op_.element, n);
    }
    std::vector<std::size_t> sizes;
    for (const NodePart& node : g_.nodes) sizes.push_back(node.members.size() * n);
    internode_gather(g_, phase, blocks_.data(), sizes, turn);
  }

  void sum_up(std::size_t at, std::size_t part, bool inclusive) {
    const std::size_t n = part * op_.element;
    alignas(kCacheLine) std::byte sum[kChunk];
    op_.clear(sum, part);
    for (std::size_t member = 0; member < position_.size(); ++member) {
      const std::byte* own = blocks_.data() + position_[member] * n;
      if (!inclusive && local_[member] >= 0) copy_bytes(to_[local_[member]] + at * op_.element, sum, n);
      op_.into(sum, own, part);
      if (inclusive && local_[member] >= 0) copy_bytes(to_[local_[member]] + at * op_.element, sum, n);
    }
  }

  Group& g_;
  const Reduction& op_;
  const std::size_t count_;
  const Pointers from_, to_;
  const std::vector<std::size_t>& position_;
  std::vector<int> local_;  // [member]: place on this node, -1: elsewhere
  std::vector<std::byte> blocks_;
};

// Phase 1: my source and dest are ready.  Phase 2, of the leader: the result is in your dest.
void scan_leading(Group& g, Call call, const Reduction& op, void* dest, const void* source, std::size_t count,
                  bool inclusive) {
  const std::uint64_t phase = take_phases(g, 2);
  publish(g, phase);
  if (g.leads()) {
    await_all(g, phase);
    LeadingScan(g, call, op, dest, source, count).run(phase, inclusive);
    publish(g, phase + 1);
  } else {
    await(g, 0, phase + 1);
  }
  settle(g, phase);
}

void scan_among(Group& g, Call call, const Reduction& op, void* dest, const void* source, std::size_t count,
                bool inclusive) {
  if (!g.in_order) return scan_leading(g, call, op, dest, source, count, inclusive);
  const std::size_t n = count * op.element;
  if (choose(Collective::scan, n, g.size(), g.one_node()) == Algorithm::inlined)
    return scan_inline(g, op, dest, source, count, inclusive);
  scan_shares(g, call, op, dest, source, count, inclusive);
}

}  // namespace

void scan(Group& g, Call call, const Reduction& op, void* dest, const void* source, std::size_t count,
          bool inclusive) {
  if (count == 0) return;
  if (g.size() > 1 && is_paged(dest, source)) return paged_scan(g, call, op, dest, source, count, inclusive);
  const std::size_t n = count * op.element;
  if (g.size() > 1) scan_among(g, call, op, dest, source, count, inclusive);
  if (g.size() == 1 && inclusive && dest != source) copy_bytes(dest, source, n);
  // The sum of nobody is 0, and not what sums begin with.
  if (g.me() == 0 && !inclusive) std::memset(dest, 0, n);
}

}  // namespace shm
