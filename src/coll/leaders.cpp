// SPDX-License-Identifier: BSD-3-Clause
#include "coll/leaders.hpp"

#include <algorithm>
#include <deque>
#include <numeric>

#include "coll/choose.hpp"
#include "coll/mail.hpp"

namespace shm {
namespace {

int node_count(const Group& g) { return static_cast<int>(g.nodes.size()); }

// So that no two parcels of a phase between the same PEs have the same name.
constexpr int kStepsOfTurn = 64, kTurns = Parcel::kSteps / kStepsOfTurn;

}  // namespace

// Dissemination: in step k each leader tells the one 2^k nodes on, so that after log2(nodes) steps all know
// of all.
void leaders_sync(Group& g, std::uint64_t phase) {
  const int nodes = node_count(g);
  for (int distance = 1, step = 0; distance < nodes; distance *= 2, ++step) {
    std::byte token{1};
    const Parcel parcel{g.slot, phase, step};
    send_mail(parcel, lane_pe(g, (g.node + distance) % nodes), &token, sizeof token);
    receive_mail(parcel, lane_pe(g, (g.node + nodes - distance) % nodes), &token, sizeof token);
  }
}

namespace {

/// The nodes of a broadcast, numbered from the root's: who brings the data to whom.
struct Route {
  int parent = -1;
  std::vector<int> children;  // the one with most nodes behind it first
};

// Tree: binomial, each node is at most log2(nodes) steps from the root.  Chain: each node sends once.
Route route_of(Algorithm algorithm, int place, int nodes) {
  Route route;
  if (algorithm == Algorithm::chain) {
    route.parent = place - 1;
    if (place + 1 < nodes) route.children.push_back(place + 1);
    return route;
  }
  int bit = 1;
  while (bit < nodes && (place & bit) == 0) bit *= 2;
  if (place != 0) route.parent = place - bit;
  for (bit /= 2; bit > 0; bit /= 2) {
    if (place + bit < nodes) route.children.push_back(place + bit);
  }
  return route;
}

}  // namespace

// A long vector goes piece by piece: each is passed on while the next one comes.
void leaders_broadcast(Group& g, std::uint64_t phase, int root, void* data, std::size_t n) {
  const int nodes = node_count(g);
  const int root_node = g.node_of[static_cast<std::size_t>(root)];
  const auto speaker = [&](int place) {
    return place == 0 ? g.team.world_pe(root) : lane_pe(g, (place + root_node) % nodes);
  };
  const Route route = route_of(choose(Collective::leaders_broadcast, n, nodes, false),
                               (g.node + nodes - root_node) % nodes, nodes);
  const Parcel parcel{g.slot, phase, 0};
  Expected expected;
  if (route.parent >= 0) expected.expect(parcel, speaker(route.parent), data, n);
  std::deque<Outgoing> outgoing;
  for (const int child : route.children) outgoing.emplace_back(parcel, speaker(child), data, n);
  const std::size_t piece = piece_of(n);
  for (std::size_t part = std::min(piece, n);; part = std::min(part + piece, n)) {
    if (route.parent >= 0) expected.wait(part);
    for (Outgoing& child : outgoing) child.send(part);
    if (part == n) break;
  }
  for (Outgoing& child : outgoing) child.finish();
}

// Dissemination (Bruck): before the step with distance d a leader has the blocks of its own and the d - 1
// following nodes, and gets those of the next min(d, rest) from the leader d nodes on.  Blocks that are next
// to each other, up to the wrap-around, travel as one parcel.
void leaders_gather(Group& g, std::uint64_t phase, std::byte* blocks, const std::vector<std::size_t>& sizes,
                    int turn) {
  const int nodes = node_count(g);
  std::vector<std::size_t> start(sizes.size() + 1, 0);
  std::partial_sum(sizes.begin(), sizes.end(), start.begin() + 1);
  const auto at = [&](int node) { return start[static_cast<std::size_t>(node)]; };
  int step = turn % kTurns * kStepsOfTurn;
  for (int distance = 1; distance < nodes; distance *= 2, step += 2) {
    const int count = std::min(distance, nodes - distance);
    const int from = (g.node + distance) % nodes, to = (g.node + nodes - distance) % nodes;
    // Blocks first .. first + count - 1, cut in two where they wrap around.
    const auto cut = [&](int first, int part) {
      const int before = std::min(count, nodes - first);
      return part == 0 ? std::pair(at(first), at(first + before))
                       : std::pair(std::size_t{0}, at(count - before));
    };
    Expected expected[2];
    for (int part = 0; part < 2; ++part) {
      const auto [begin, end] = cut(from, part);
      expected[part].expect({g.slot, phase, step + part}, lane_pe(g, from), blocks + begin, end - begin);
    }
    for (int part = 0; part < 2; ++part) {
      const auto [begin, end] = cut(g.node, part);
      send_mail({g.slot, phase, step + part}, lane_pe(g, to), blocks + begin, end - begin);
    }
    for (Expected& e : expected) e.wait();
  }
}

}  // namespace shm
