// SPDX-License-Identifier: BSD-3-Clause
#include "coll/choose.hpp"
#include "coll/chunks.hpp"
#include "coll/collectives.hpp"
#include "coll/leaders.hpp"

namespace shm {
namespace {

// Phase 1: my vector rides along.
void scan_riding(Group& g, const Reduction& op, void* dest, const void* source, std::size_t count,
                 bool inclusive) {
  const std::size_t n = count * op.element;
  const std::uint64_t phase = take_phases(g, 1);
  publish(g, phase, source, n);
  std::memset(dest, 0, n);
  const int end = inclusive ? g.me() + 1 : g.me();
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

// Phase 1: my source and dest are ready.  Phase 2: I have done my share for everybody.
void scan_shares(Group& g, Call call, const Reduction& op, void* dest, const void* source, std::size_t count,
                 bool inclusive) {
  const std::uint64_t phase = take_phases(g, 2);
  publish(g, phase);
  await_all(g, phase);
  const Pointers from(g, call, "source", source, count * op.element);
  const Pointers to(g, call, "dest", dest, count * op.element);
  alignas(kCacheLine) std::byte sum[kChunk];
  for_chunks(share_of(count, op.element, g.local, g.local_size()), op.element,
             [&](std::size_t at, std::size_t part) {
               std::memset(sum, 0, part * op.element);
               const std::size_t offset = at * op.element;
               for (int i = 0; i < g.size(); ++i)
                 scan_step(op, sum, to[i] + offset, from[i] + offset, part, inclusive);
             });
  publish(g, phase + 1);
  await_all(g, phase + 1);
  settle(g, phase + 1);
}

/// The leader's part: chunk by chunk all leaders get all vectors, then each sums them up for the members of
/// its node.
class LeadingScan {
 public:
  LeadingScan(Group& g, Call call, const Reduction& op, void* dest, const void* source, std::size_t count)
      : g_(g),
        op_(op),
        count_(count),
        from_(g, call, "source", source, count * op.element),
        to_(g, call, "dest", dest, count * op.element),
        place_(g.place_of) {
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
    blocks_.resize(place_.size() * n);
    for (int i = 0; i < g_.local_size(); ++i) {
      const auto member = static_cast<std::size_t>(g_.locals()[static_cast<std::size_t>(i)]);
      std::memcpy(blocks_.data() + place_[member] * n, from_[i] + at * op_.element, n);
    }
    std::vector<std::size_t> sizes;
    for (const NodePart& node : g_.nodes) sizes.push_back(node.members.size() * n);
    leaders_gather(g_, phase, blocks_.data(), sizes, turn);
  }

  void sum_up(std::size_t at, std::size_t part, bool inclusive) {
    const std::size_t n = part * op_.element;
    alignas(kCacheLine) std::byte sum[kChunk];
    std::memset(sum, 0, n);
    for (std::size_t member = 0; member < place_.size(); ++member) {
      const std::byte* own = blocks_.data() + place_[member] * n;
      if (!inclusive && local_[member] >= 0) std::memcpy(to_[local_[member]] + at * op_.element, sum, n);
      op_.into(sum, own, part);
      if (inclusive && local_[member] >= 0) std::memcpy(to_[local_[member]] + at * op_.element, sum, n);
    }
  }

  Group& g_;
  const Reduction& op_;
  const std::size_t count_;
  const Pointers from_, to_;
  const std::vector<std::size_t>& place_;
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

}  // namespace

void scan(Group& g, Call call, const Reduction& op, void* dest, const void* source, std::size_t count,
          bool inclusive) {
  if (count == 0) return;
  switch (g.size() == 1 ? Algorithm::riding
                        : choose(Collective::scan, count * op.element, g.size(), g.one_node())) {
    case Algorithm::leading: return scan_leading(g, call, op, dest, source, count, inclusive);
    case Algorithm::shares: return scan_shares(g, call, op, dest, source, count, inclusive);
    default: break;
  }
  if (g.size() > 1) return scan_riding(g, op, dest, source, count, inclusive);
  if (!inclusive) {
    std::memset(dest, 0, count * op.element);
  } else if (dest != source) {
    std::memcpy(dest, source, count * op.element);
  }
}

}  // namespace shm
