// SPDX-License-Identifier: BSD-3-Clause
// alltoall and alltoalls: each member has a block for each other.
#include <deque>
#include <memory>

#include "coll/choose.hpp"
#include "coll/collectives.hpp"
#include "coll/internode.hpp"
#include "coll/paged.hpp"
#include "coll/rendezvous.hpp"
#include "coll/strided.hpp"

namespace shm {
namespace {

// One block between layouts of equal shape.
void copy_block(std::byte* to, std::size_t to_step, const std::byte* from, std::size_t from_step,
                const StridedBlocks& shape) {
  copy_strided(to, to_step, from, from_step, shape.element, shape.count);
}

// Phase 1: my source is inline, all blocks of it.
void alltoall_inline(Group& g, const StridedBlocks& dest, const StridedBlocks& source) {
  const std::uint64_t phase = take_phases(g, 1);
  std::byte packed[Cell::kPayload];
  const std::size_t n = source.bytes();
  for (int i = 0; i < g.size(); ++i) {
    copy_block(packed + static_cast<std::size_t>(i) * n, source.element, source.block(i), source.step,
               source);
  }
  publish(g, phase, packed, n * static_cast<std::size_t>(g.size()));
  for (int i = 0; i < g.size(); ++i) {
    const std::byte* from = await(g, i, phase).payload + static_cast<std::size_t>(g.me()) * n;
    copy_block(dest.block(i), dest.step, from, dest.element, dest);
  }
  settle(g, phase);
}

// Block of a local member's source that is for me, to its place.
void read_block(Group& g, Call call, const StridedBlocks& dest, const StridedBlocks& source, int member) {
  StridedBlocks theirs = source;
  if (member != g.me())
    theirs.base = at_member(g, call, "source", source.base, source.extent(g.size()), member);
  copy_block(dest.block(member), dest.step, theirs.block(g.me()), theirs.step, dest);
}

// The blocks that cross nodes, as one parcel each.
class Crossing {
 public:
  Crossing(Group& g, const StridedBlocks& dest, const StridedBlocks& source, std::uint64_t phase)
      : g_(g), dest_(dest), source_(source), parcel_{g.slot, phase, 0} {
    const auto others = static_cast<std::size_t>(g.size() - g.local_size());
    expected_ = std::make_unique<Expected[]>(others);
    if (!dest.contiguous()) incoming_.resize(others * dest.bytes());
    if (!source.contiguous()) outgoing_.resize(others * source.bytes());
  }

  void start() {
    const std::size_t n = dest_.bytes();
    for_each(
        [&](int from, std::size_t k) {
          void* into = dest_.contiguous() ? dest_.block(from) : incoming_.data() + k * n;
          expected_[k].expect(parcel_, g_.team.world_pe(from), into, n);
        },
        -1);
    for_each(
        [&](int to, std::size_t k) {
          const std::byte* data = source_.block(to);
          if (!source_.contiguous()) {
            copy_block(outgoing_.data() + k * n, source_.element, data, source_.step, source_);
            data = outgoing_.data() + k * n;
          }
          sent_.emplace_back(parcel_, g_.team.world_pe(to), data, n).send();
        },
        1);
  }

  void finish() {
    for_each(
        [&](int from, std::size_t k) {
          expected_[k].wait();
          if (dest_.contiguous()) return;
          copy_block(dest_.block(from), dest_.step, incoming_.data() + k * dest_.bytes(), dest_.element,
                     dest_);
        },
        -1);
    for (Outgoing& outgoing : sent_) outgoing.finish();
  }

 private:
  // Members of other nodes, from this one's number up or down: so in each turn all senders have different
  // receivers.
  template <class F>
  void for_each(F f, int direction) {
    std::size_t k = 0;
    for (int i = 1; i < g_.size(); ++i) {
      const int member = (g_.me() + (direction > 0 ? i : g_.size() - i)) % g_.size();
      if (g_.node_of[static_cast<std::size_t>(member)] != g_.node) f(member, k++);
    }
  }

  Group& g_;
  const StridedBlocks& dest_;
  const StridedBlocks& source_;
  const Parcel parcel_;
  std::unique_ptr<Expected[]> expected_;
  std::deque<Outgoing> sent_;
  std::vector<std::byte> incoming_, outgoing_;
};

/// The blocks between this node and the others that this PE sees to, as one parcel for each node.
/// Blocks lie in it by sender, then by receiver.
class Combined {
 public:
  Combined(Group& g, Call call, const StridedBlocks& dest, const StridedBlocks& source, std::uint64_t phase)
      : g_(g), call_(call), dest_(dest), source_(source), parcel_{g.slot, phase, 0} {
    for (int i = 1; i < node_count(); ++i) {
      const int to = (g.node + i) % node_count();
      if (to % g.local_size() == g.local) others_.emplace_back().node = to;
    }
  }

  // REQUIRES: all members of this node are inside.
  void start() {
    for (Other& other : others_) {
      other.incoming.resize(bytes_with(other.node));
      other.expected.expect(parcel_, pe_of(other.node), other.incoming.data(), other.incoming.size());
    }
    for (Other& other : others_) {
      other.outgoing.resize(bytes_with(other.node));
      pack(other);
      send_parcel(parcel_, pe_of(other.node), other.outgoing.data(), other.outgoing.size());
    }
  }

  void finish() {
    for (Other& other : others_) {
      other.expected.wait();
      unpack(other);
    }
  }

 private:
  struct Other {
    int node = 0;
    std::vector<std::byte> incoming, outgoing;
    Expected expected;
  };

  int node_count() const { return static_cast<int>(g_.nodes.size()); }
  const std::vector<int>& members(int node) const { return g_.nodes[static_cast<std::size_t>(node)].members; }
  std::size_t bytes_with(int node) const {
    return members(node).size() * g_.locals().size() * source_.bytes();
  }
  // The one over there that sees to this node.
  int pe_of(int node) const { return stripe_pe(g_, node, g_.node % static_cast<int>(members(node).size())); }

  void pack(Other& other) {
    std::byte* to = other.outgoing.data();
    for (const int member : g_.locals()) {
      StridedBlocks theirs = source_;
      theirs.base = at_member(g_, call_, "source", source_.base, source_.extent(g_.size()), member);
      for (const int receiver : members(other.node)) {
        copy_block(to, source_.element, theirs.block(receiver), source_.step, source_);
        to += source_.bytes();
      }
    }
  }

  void unpack(const Other& other) {
    const std::byte* from = other.incoming.data();
    const std::size_t sender_step = g_.locals().size() * dest_.bytes();
    for (const int member : g_.locals()) {
      StridedBlocks theirs = dest_;
      theirs.base = at_member(g_, call_, "dest", dest_.base, dest_.extent(g_.size()), member);
      const std::byte* block = from;
      for (const int sender : members(other.node)) {
        copy_block(theirs.block(sender), dest_.step, block, dest_.element, dest_);
        block += sender_step;
      }
      from += dest_.bytes();
    }
  }

  Group& g_;
  const Call call_;
  const StridedBlocks& dest_;
  const StridedBlocks& source_;
  const Parcel parcel_;
  std::deque<Other> others_;
};

void read_local_blocks(Group& g, Call call, std::uint64_t phase, const StridedBlocks& dest,
                       const StridedBlocks& source) {
  for (int k = 0; k < g.local_size(); ++k) {
    const int i = (g.local + k) % g.local_size();  // not all at the same peer
    await(g, i, phase);
    read_block(g, call, dest, source, g.locals()[static_cast<std::size_t>(i)]);
  }
}

// Phase 1: my source is ready.  Phase 2: I have copied all that I need of this node.
void alltoall_reading(Group& g, Call call, const StridedBlocks& dest, const StridedBlocks& source) {
  const std::uint64_t phase = take_phases(g, 2);
  publish(g, phase);
  std::unique_ptr<Crossing> crossing;
  if (!g.one_node()) {
    crossing = std::make_unique<Crossing>(g, dest, source, phase);
    crossing->start();
  }
  read_local_blocks(g, call, phase, dest, source);
  publish(g, phase + 1);
  if (crossing != nullptr) crossing->finish();
  await_all(g, phase + 1);
  settle(g, phase + 1);
}

// Phase 1: my source and dest are ready.  Phase 2: so are the blocks of all nodes that I see to.
void alltoall_combined(Group& g, Call call, const StridedBlocks& dest, const StridedBlocks& source) {
  const std::uint64_t phase = take_phases(g, 2);
  publish(g, phase);
  await_all(g, phase);
  Combined combined(g, call, dest, source, phase);
  combined.start();
  read_local_blocks(g, call, phase, dest, source);
  combined.finish();
  publish(g, phase + 1);
  await_all(g, phase + 1);
  settle(g, phase + 1);
}

// All sources of this node, packed, to their place among those of all nodes.
void pack_sources(const Group& g, Call call, const StridedBlocks& source, std::byte* packed) {
  const std::size_t n = source.bytes();
  for (const int member : g.locals()) {
    StridedBlocks theirs = source;
    theirs.base = at_member(g, call, "source", source.base, source.extent(g.size()), member);
    std::byte* to =
        packed + g.position_of[static_cast<std::size_t>(member)] * n * static_cast<std::size_t>(g.size());
    for (int i = 0; i < g.size(); ++i, to += n)
      copy_block(to, source.element, theirs.block(i), source.step, source);
  }
}

// Phase 1: my source and dest are ready.  Phase 2, of the leader: your dest is complete.  The leaders
// exchange all that there is, in few parcels.
void alltoall_leading(Group& g, Call call, const StridedBlocks& dest, const StridedBlocks& source) {
  const std::uint64_t phase = take_phases(g, 2);
  publish(g, phase);
  settle(g, phase);
  if (!g.leads()) {
    await(g, 0, phase + 1);
    return;
  }
  await_all(g, phase);
  const std::size_t n = source.bytes(), each = n * static_cast<std::size_t>(g.size());
  std::vector<std::byte> packed(each * static_cast<std::size_t>(g.size()));
  pack_sources(g, call, source, packed.data());
  std::vector<std::size_t> sizes;
  for (const NodePart& node : g.nodes) sizes.push_back(node.members.size() * each);
  internode_gather(g, phase, packed.data(), sizes);
  for (const int member : g.locals()) {
    StridedBlocks theirs = dest;
    theirs.base = at_member(g, call, "dest", dest.base, dest.extent(g.size()), member);
    for (int from = 0; from < g.size(); ++from) {
      const std::byte* block = packed.data() + g.position_of[static_cast<std::size_t>(from)] * each;
      copy_block(theirs.block(from), dest.step, block + static_cast<std::size_t>(member) * n, dest.element,
                 dest);
    }
  }
  publish(g, phase + 1);
}

}  // namespace

void alltoall(Group& g, Call call, const StridedBlocks& dest, const StridedBlocks& source) {
  if (source.count == 0) return;
  if (g.size() == 1) return copy_block(dest.base, dest.step, source.base, source.step, source);
  if (is_paged(dest.base, source.base)) return paged_alltoall(g, call, dest, source);
  const std::size_t bytes = source.bytes() * static_cast<std::size_t>(g.size());
  switch (choose(Collective::alltoall, bytes, g.size(), g.one_node())) {
    case Algorithm::inlined: return alltoall_inline(g, dest, source);
    case Algorithm::leading: return alltoall_leading(g, call, dest, source);
    case Algorithm::combined: return alltoall_combined(g, call, dest, source);
    default: return alltoall_reading(g, call, dest, source);
  }
}

}  // namespace shm
