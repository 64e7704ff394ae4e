// SPDX-License-Identifier: BSD-3-Clause
#include "coll/internode.hpp"

#include <algorithm>
#include <bit>
#include <deque>
#include <numeric>

#include "coll/choose.hpp"
#include "coll/rendezvous.hpp"

namespace shm {
namespace {

int node_count(const Group& g) { return static_cast<int>(g.nodes.size()); }

// So that no two parcels of a phase between the same PEs have the same name.
constexpr int kStepsOfTurn = 64, kTurns = Parcel::kSteps / kStepsOfTurn;

}  // namespace

// In step k each leader tells the one 2^k nodes on, so that after log2(nodes) steps all know of all.  With a
// power of two the pairs exchange instead: over TCP the answer carries the acknowledgement.  Either way the
// first 2^k nodes know what the first one says after k steps.
void internode_sync(Group& g, std::uint64_t phase, void* said, std::size_t n) {
  const int nodes = node_count(g);
  const bool pairs = (nodes & (nodes - 1)) == 0;
  for (int distance = 1, step = 0; distance < nodes; distance *= 2, ++step) {
    const std::size_t known = g.node < distance ? n : 0;  // by this node
    std::byte out[1 + Cell::kPayload] = {}, in[1 + Cell::kPayload];
    if (known != 0) std::memcpy(out + 1, said, known);
    const Parcel parcel{g.slot, phase, step};
    const int to = pairs ? g.node ^ distance : (g.node + distance) % nodes;
    const int from = pairs ? to : (g.node + nodes - distance) % nodes;
    send_parcel(parcel, stripe_pe(g, to), out, 1 + n);
    receive_parcel(parcel, stripe_pe(g, from), in, 1 + n);
    if (n != 0 && known == 0 && from < distance) std::memcpy(said, in + 1, n);
  }
}

namespace {

/// The nodes of a broadcast, numbered from the root's: who brings the data to whom.
struct BroadcastRoute {
  int parent = -1;
  std::vector<int> children;  // the one with most nodes behind it first
};

// Tree: binomial, each node is at most log2(nodes) steps from the root.  Chain: each node sends once.
BroadcastRoute route_of(Algorithm algorithm, int position, int nodes) {
  BroadcastRoute route;
  if (algorithm == Algorithm::chain) {
    route.parent = position - 1;
    if (position + 1 < nodes) route.children.push_back(position + 1);
    return route;
  }
  int bit = 1;
  while (bit < nodes && (position & bit) == 0) bit *= 2;
  if (position != 0) route.parent = position - bit;
  for (bit /= 2; bit > 0; bit /= 2) {
    if (position + bit < nodes) route.children.push_back(position + bit);
  }
  return route;
}

}  // namespace

// A long vector goes piece by piece: each is passed on while the next one comes.
void internode_broadcast(Group& g, std::uint64_t phase, int root, void* data, std::size_t n) {
  const int nodes = node_count(g);
  const int root_node = g.node_of[static_cast<std::size_t>(root)];
  const auto speaker = [&](int position) {
    return position == 0 ? g.team.world_pe(root) : stripe_pe(g, (position + root_node) % nodes);
  };
  const BroadcastRoute route = route_of(choose(Collective::internode_broadcast, n, nodes, false),
                                        (g.node + nodes - root_node) % nodes, nodes);
  const Parcel parcel{g.slot, phase, 0};
  Expected expected;
  if (route.parent >= 0) expected.expect(parcel, speaker(route.parent), data, n);
  std::deque<Outgoing> outgoing;
  for (const int child : route.children) outgoing.emplace_back(parcel, speaker(child), data, n);
  const std::size_t piece = nodes > 2 ? piece_of(n) : n;  // nobody passes anything on between two
  for (std::size_t part = std::min(piece, n);; part = std::min(part + piece, n)) {
    if (route.parent >= 0) expected.wait(part);
    for (Outgoing& child : outgoing) child.send(part);
    if (part == n) break;
  }
  for (Outgoing& child : outgoing) child.finish();
}

namespace {

/// Brings the blocks of all nodes to each: `start` is where they begin, and the end of the last one.
class Gathering {
 public:
  Gathering(Group& g, std::uint64_t phase, std::byte* blocks, const std::vector<std::size_t>& start, int step)
      : g_(g), phase_(phase), blocks_(blocks), start_(start), step_(step) {}

  // A power of two of nodes: in the step with distance d pairs of neighbouring groups of d nodes exchange
  // what they have.
  void doubling() {
    for (int distance = 1; distance < node_count(g_); distance *= 2, ++step_) {
      const int partner = g_.node ^ distance;
      const int mine = g_.node / distance * distance, theirs = partner / distance * distance;
      exchange(partner, partner, {at(mine), at(mine + distance)}, {at(theirs), at(theirs + distance)});
    }
  }

  // Dissemination (Bruck): before the step with distance d a leader has the blocks of its own and the d - 1
  // following nodes, and gets those of the next min(d, rest) from the leader d nodes on.  Blocks that
  // are next to each other, up to the wrap-around, travel as one parcel.
  void dissemination() {
    const int nodes = node_count(g_);
    for (int distance = 1; distance < nodes; distance *= 2, step_ += 2) {
      const int count = std::min(distance, nodes - distance);
      const int from = (g_.node + distance) % nodes, to = (g_.node + nodes - distance) % nodes;
      exchange(to, from, before_wrap(g_.node, count), before_wrap(from, count), after_wrap(g_.node, count),
               after_wrap(from, count));
    }
  }

 private:
  struct Bytes {
    std::size_t begin, end;
  };

  std::size_t at(int node) const { return start_[static_cast<std::size_t>(node)]; }

  // Blocks first ... first + count - 1, cut in two where they wrap around.
  Bytes before_wrap(int first, int count) const {
    return {at(first), at(std::min(first + count, node_count(g_)))};
  }
  Bytes after_wrap(int first, int count) const {
    return {0, at(std::max(first + count - node_count(g_), 0))};
  }

  void exchange(int to, int from, Bytes out, Bytes in, Bytes more_out = {}, Bytes more_in = {}) {
    const int from_pe = stripe_pe(g_, from), to_pe = stripe_pe(g_, to);
    Expected expected, more_expected;
    expected.expect(parcel(0), from_pe, blocks_ + in.begin, in.end - in.begin);
    more_expected.expect(parcel(1), from_pe, blocks_ + more_in.begin, more_in.end - more_in.begin);
    Outgoing outgoing(parcel(0), to_pe, blocks_ + out.begin, out.end - out.begin);
    Outgoing more(parcel(1), to_pe, blocks_ + more_out.begin, more_out.end - more_out.begin);
    outgoing.send();
    more.send();
    expected.wait();
    more_expected.wait();
    outgoing.finish();
    more.finish();
  }
  Parcel parcel(int part) const { return {g_.slot, phase_, step_ + part}; }

  Group& g_;
  const std::uint64_t phase_;
  std::byte* blocks_;
  const std::vector<std::size_t>& start_;
  int step_;
};

}  // namespace

void internode_gather(Group& g, std::uint64_t phase, std::byte* blocks, const std::vector<std::size_t>& sizes,
                      int turn) {
  std::vector<std::size_t> start(sizes.size() + 1, 0);
  std::partial_sum(sizes.begin(), sizes.end(), start.begin() + 1);
  Gathering gathering(g, phase, blocks, start, turn % kTurns * kStepsOfTurn);
  if (std::has_single_bit(sizes.size())) {
    gathering.doubling();
  } else {
    gathering.dissemination();
  }
}

}  // namespace shm
