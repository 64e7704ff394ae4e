// SPDX-License-Identifier: BSD-3-Clause
#include <memory>

#include "coll/choose.hpp"
#include "coll/collectives.hpp"
#include "coll/leaders.hpp"
#include "coll/mail.hpp"

namespace shm {
namespace {

template <std::size_t kElement>
void copy_elements(std::byte* to, std::size_t to_step, const std::byte* from, std::size_t from_step,
                   std::size_t n) {
  for (; n > 0; --n, to += to_step, from += from_step) std::memcpy(to, from, kElement);
}

// One block between layouts of equal shape.
void copy_block(std::byte* to, std::size_t to_step, const std::byte* from, std::size_t from_step,
                const Blocks& shape) {
  if (to_step == shape.element && from_step == shape.element) {
    std::memcpy(to, from, shape.bytes());
    return;
  }
  switch (shape.element) {  // constant sizes become single moves
    case 1: return copy_elements<1>(to, to_step, from, from_step, shape.count);
    case 2: return copy_elements<2>(to, to_step, from, from_step, shape.count);
    case 4: return copy_elements<4>(to, to_step, from, from_step, shape.count);
    case 8: return copy_elements<8>(to, to_step, from, from_step, shape.count);
    default: return copy_elements<16>(to, to_step, from, from_step, shape.count);
  }
}

// Phase 1: my source rides along, all blocks of it.
void alltoall_riding(Group& g, const Blocks& dest, const Blocks& source) {
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
void read_block(Group& g, Call call, const Blocks& dest, const Blocks& source, int member) {
  Blocks theirs = source;
  if (member != g.me())
    theirs.base = at_member(g, call, "source", source.base, source.extent(g.size()), member);
  copy_block(dest.block(member), dest.step, theirs.block(g.me()), theirs.step, dest);
}

// The blocks that cross nodes, as one parcel each.
class Crossing {
 public:
  Crossing(Group& g, const Blocks& dest, const Blocks& source, std::uint64_t phase)
      : g_(g), dest_(dest), source_(source), parcel_{g.slot, phase, 0} {
    const auto others = static_cast<std::size_t>(g.size() - g.local_size());
    expected_ = std::make_unique<Expected[]>(others);
    if (!dest.contiguous()) incoming_.resize(others * dest.bytes());
    if (!source.contiguous()) outgoing_.resize(source.bytes());
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
        [&](int to, std::size_t) {
          const std::byte* data = source_.block(to);
          if (!source_.contiguous()) {
            copy_block(outgoing_.data(), source_.element, data, source_.step, source_);
            data = outgoing_.data();
          }
          send_mail(parcel_, g_.team.world_pe(to), data, n);
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
  }

 private:
  // Members of other nodes, from this one's number up or down: so in each turn all senders have different
  // receivers.
  template <class F>
  void for_each(F f, int direction) {
    std::size_t k = 0;
    for (int distance = 1; distance < g_.size(); ++distance) {
      const int member = (g_.me() + direction * distance + g_.size()) % g_.size();
      if (g_.node_of[static_cast<std::size_t>(member)] != g_.node) f(member, k++);
    }
  }

  Group& g_;
  const Blocks& dest_;
  const Blocks& source_;
  const Parcel parcel_;
  std::unique_ptr<Expected[]> expected_;
  std::vector<std::byte> incoming_, outgoing_;
};

// Phase 1: my source is ready.  Phase 2: I have copied all that I need of this node.
void alltoall_reading(Group& g, Call call, const Blocks& dest, const Blocks& source) {
  const std::uint64_t phase = take_phases(g, 2);
  publish(g, phase);
  std::unique_ptr<Crossing> crossing;
  if (!g.one_node()) {
    crossing = std::make_unique<Crossing>(g, dest, source, phase);
    crossing->start();
  }
  for (int k = 0; k < g.local_size(); ++k) {
    const int i = (g.local + k) % g.local_size();  // not all at the same peer
    await(g, i, phase);
    read_block(g, call, dest, source, g.locals()[static_cast<std::size_t>(i)]);
  }
  publish(g, phase + 1);
  if (crossing != nullptr) crossing->finish();
  await_all(g, phase + 1);
  settle(g, phase + 1);
}

// All sources of this node, packed, to their place among those of all nodes.
void pack_sources(const Group& g, Call call, const Blocks& source, std::byte* packed) {
  const std::size_t n = source.bytes();
  for (const int member : g.locals()) {
    Blocks theirs = source;
    theirs.base = at_member(g, call, "source", source.base, source.extent(g.size()), member);
    std::byte* to =
        packed + g.place_of[static_cast<std::size_t>(member)] * n * static_cast<std::size_t>(g.size());
    for (int i = 0; i < g.size(); ++i, to += n)
      copy_block(to, source.element, theirs.block(i), source.step, source);
  }
}

// Phase 1: my source and dest are ready.  Phase 2, of the leader: your dest is complete.  The leaders
// exchange all that there is, in few parcels.
void alltoall_leading(Group& g, Call call, const Blocks& dest, const Blocks& source) {
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
  leaders_gather(g, phase, packed.data(), sizes);
  for (const int member : g.locals()) {
    Blocks theirs = dest;
    theirs.base = at_member(g, call, "dest", dest.base, dest.extent(g.size()), member);
    for (int from = 0; from < g.size(); ++from) {
      const std::byte* block = packed.data() + g.place_of[static_cast<std::size_t>(from)] * each;
      copy_block(theirs.block(from), dest.step, block + static_cast<std::size_t>(member) * n, dest.element,
                 dest);
    }
  }
  publish(g, phase + 1);
}

}  // namespace

void alltoall(Group& g, Call call, const Blocks& dest, const Blocks& source) {
  if (source.count == 0) return;
  if (g.size() == 1) return copy_block(dest.base, dest.step, source.base, source.step, source);
  const std::size_t bytes = source.bytes() * static_cast<std::size_t>(g.size());
  switch (choose(Collective::alltoall, bytes, g.size(), g.one_node())) {
    case Algorithm::riding: return alltoall_riding(g, dest, source);
    case Algorithm::leading: return alltoall_leading(g, call, dest, source);
    default: return alltoall_reading(g, call, dest, source);
  }
}

}  // namespace shm
