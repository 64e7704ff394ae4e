// SPDX-License-Identifier: BSD-3-Clause
#include "coll/leaders.hpp"

#include <algorithm>
#include <numeric>

#include "coll/choose.hpp"
#include "coll/mail.hpp"

namespace shm {
namespace {

int leader_pe(const Group& g, int node) { return g.nodes[static_cast<std::size_t>(node)].leader; }
int node_count(const Group& g) { return static_cast<int>(g.nodes.size()); }

// Steps of the parts of an algorithm, so that no two parcels of a phase between the same PEs have the same
// name.
constexpr int kFoldStep = 100, kUnfoldStep = 101, kHalveStep = 200, kDoubleStep = 300;
constexpr int kStepsOfTurn = 64, kTurns = Parcel::kSteps / kStepsOfTurn;

}  // namespace

// Dissemination: in step k each leader tells the one 2^k nodes on, so that after log2(nodes) steps all know
// of all.
void leaders_sync(Group& g, std::uint64_t phase) {
  const int nodes = node_count(g);
  for (int distance = 1, step = 0; distance < nodes; distance *= 2, ++step) {
    std::byte token{1};
    const Parcel parcel{g.slot, phase, step};
    send_mail(parcel, leader_pe(g, (g.node + distance) % nodes), &token, sizeof token);
    receive_mail(parcel, leader_pe(g, (g.node + nodes - distance) % nodes), &token, sizeof token);
  }
}

// Binomial tree over the nodes, numbered from the root's.
void leaders_broadcast(Group& g, std::uint64_t phase, int root, void* data, std::size_t n) {
  const int nodes = node_count(g);
  const int root_node = g.node_of[static_cast<std::size_t>(root)];
  const auto speaker = [&](int place) {
    return place == 0 ? g.team.world_pe(root) : leader_pe(g, (place + root_node) % nodes);
  };
  const int place = (g.node + nodes - root_node) % nodes;
  const Parcel parcel{g.slot, phase, 0};
  int bit = 1;
  while (bit < nodes && (place & bit) == 0) bit *= 2;
  if (place != 0) receive_mail(parcel, speaker(place - bit), data, n);
  for (bit /= 2; bit > 0; bit /= 2) {
    if (place + bit < nodes) send_mail(parcel, speaker(place + bit), data, n);
  }
}

namespace {

/// Reduction between 2^k leaders.  The nodes beyond the largest power of two hand their vectors to a partner
/// first and get the result back last.
class LeaderReduction {
 public:
  LeaderReduction(Group& g, std::uint64_t phase, const Reduction& op, void* data, std::size_t count)
      : g_(g), phase_(phase), op_(op), data_(static_cast<std::byte*>(data)), count_(count) {
    while (core_ * 2 <= node_count(g)) core_ *= 2;
    incoming_.resize(count * op.element);
  }

  void run() {
    const int extra = node_count(g_) - core_;
    const std::size_t bytes = count_ * op_.element;
    if (g_.node >= core_) {
      send_mail(parcel(kFoldStep), leader_pe(g_, g_.node - core_), data_, bytes);
      receive_mail(parcel(kUnfoldStep), leader_pe(g_, g_.node - core_), data_, bytes);
      return;
    }
    if (g_.node < extra) {
      receive_mail(parcel(kFoldStep), leader_pe(g_, g_.node + core_), incoming_.data(), bytes);
      op_.into(data_, incoming_.data(), count_);
    }
    if (choose(Collective::leaders_reduce, bytes, core_, false) == Algorithm::halving) {
      halve_and_double();
    } else {
      exchange_whole();
    }
    if (g_.node < extra) send_mail(parcel(kUnfoldStep), leader_pe(g_, g_.node + core_), data_, bytes);
  }

 private:
  struct Range {
    std::size_t begin, end;  // elements
  };

  Parcel parcel(int step) const { return {g_.slot, phase_, step}; }

  // Sends `out` of data and receives `in` into `to`.
  void exchange(int step, int partner, Range out, Range in, std::byte* to) {
    const int pe = leader_pe(g_, partner);
    Expected expected;
    expected.expect(parcel(step), pe, to + in.begin * op_.element, (in.end - in.begin) * op_.element);
    send_mail(parcel(step), pe, data_ + out.begin * op_.element, (out.end - out.begin) * op_.element);
    expected.wait();
  }

  // Recursive doubling: log2(nodes) exchanges of the whole vector; least latency.
  void exchange_whole() {
    for (int bit = 1, step = 0; bit < core_; bit *= 2, ++step) {
      exchange(step, g_.node ^ bit, {0, count_}, {0, count_}, incoming_.data());
      op_.into(data_, incoming_.data(), count_);
    }
  }

  // Recursive halving, after which each leader has one part of the result, then doubling: twice the
  // exchanges, but each byte travels only twice.
  void halve_and_double() {
    std::vector<Range> mine{{0, count_}};
    int step = 0;
    for (int bit = core_ / 2; bit > 0; bit /= 2, ++step) {
      const Range all = mine.back();
      const std::size_t middle = all.begin + (all.end - all.begin) / 2;
      const bool upper = (g_.node & bit) != 0;
      const Range keep = upper ? Range{middle, all.end} : Range{all.begin, middle};
      const Range give = upper ? Range{all.begin, middle} : Range{middle, all.end};
      exchange(kHalveStep + step, g_.node ^ bit, give, keep, incoming_.data());
      op_.into(data_ + keep.begin * op_.element, incoming_.data() + keep.begin * op_.element,
               keep.end - keep.begin);
      mine.push_back(keep);
    }
    for (int bit = 1; bit < core_; bit *= 2, --step) {
      const Range have = mine.back();
      mine.pop_back();
      const Range whole = mine.back();
      const Range missing =
          have.begin == whole.begin ? Range{have.end, whole.end} : Range{whole.begin, have.begin};
      exchange(kDoubleStep + step, g_.node ^ bit, have, missing, data_);
    }
  }

  Group& g_;
  const std::uint64_t phase_;
  const Reduction& op_;
  std::byte* data_;
  const std::size_t count_;
  int core_ = 1;
  std::vector<std::byte> incoming_;
};

}  // namespace

void leaders_reduce(Group& g, std::uint64_t phase, const Reduction& op, void* data, std::size_t count) {
  LeaderReduction(g, phase, op, data, count).run();
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
      expected[part].expect({g.slot, phase, step + part}, leader_pe(g, from), blocks + begin, end - begin);
    }
    for (int part = 0; part < 2; ++part) {
      const auto [begin, end] = cut(g.node, part);
      send_mail({g.slot, phase, step + part}, leader_pe(g, to), blocks + begin, end - begin);
    }
    for (Expected& e : expected) e.wait();
  }
}

}  // namespace shm
