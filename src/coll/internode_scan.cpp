// SPDX-License-Identifier: BSD-3-Clause
#include "coll/internode_scan.hpp"

#include <bit>
#include <cstring>

#include "coll/internode.hpp"

namespace shm {
namespace {

constexpr int kStepsOfPart = 64;

int node_count(const Group& g) { return static_cast<int>(g.nodes.size()); }

// In the step with distance d each node has the sum of itself and the d - 1 nodes before it, gives it to the
// node d on, and adds what it gets from the one d before: to that sum, and to the result.
void exscan_by_doubling(Group& g, std::uint64_t phase, int first_step, const Reduction& op, void* data,
                        std::size_t count, int stripe) {
  const std::size_t n = count * op.element;
  const int nodes = node_count(g);
  Scratch incoming(n), window(n);
  std::memcpy(window.data(), data, n);
  op.clear(data, count);
  for (int distance = 1, step = first_step; distance < nodes; distance *= 2, ++step) {
    const Parcel parcel{g.slot, phase, step};
    const bool gets = g.node >= distance, gives = g.node + distance < nodes;
    Expected expected;
    if (gets) expected.expect(parcel, stripe_pe(g, g.node - distance, stripe), incoming.data(), n);
    if (gives) send_parcel(parcel, stripe_pe(g, g.node + distance, stripe), window.data(), n);
    if (!gets) continue;
    expected.wait();
    op.into(data, incoming.data(), count);
    op.into(window.data(), incoming.data(), count);
  }
}

// Along the nodes a part takes a step for each node, but each node passes on a part only once, and parts
// follow each other at once; by doubling each part takes log2(nodes) steps one after the other.
bool is_chain_quicker(int nodes, std::size_t parts) {
  const auto steps = static_cast<std::size_t>(std::bit_width(static_cast<unsigned>(nodes - 1)));
  return parts > 1 && parts * steps >= parts + static_cast<std::size_t>(nodes) - 2;
}

}  // namespace

void internode_exscan(Group& g, std::uint64_t phase, const Reduction& op, void* data, std::size_t count) {
  exscan_by_doubling(g, phase, 0, op, data, count, 0);
}

InternodeScan::InternodeScan(Group& g, std::uint64_t phase, const Reduction& op, std::size_t count,
                             int stripe)
    : g_(g),
      phase_(phase),
      op_(op),
      count_(count),
      stripe_(stripe),
      parts_((count + most() - 1) / most()),
      chain_(is_chain_quicker(node_count(g), parts_)),
      own_(bytes_of(0) * (parts_ > 1 ? 2 : 1)),
      incoming_(chain_ && gets() ? 2 * bytes_of(0) : 0) {
  if (chain_ && gets()) expect(0);
}

InternodeScan::~InternodeScan() {
  for (std::optional<Outgoing>& outgoing : outgoing_) {
    if (outgoing) outgoing->finish();
  }
}

bool InternodeScan::gives() const { return g_.node + 1 < node_count(g_); }

std::size_t InternodeScan::bytes_of(std::size_t part) const {
  const std::size_t begin = part * most();
  return begin >= count_ ? 0 : std::min(most(), count_ - begin) * op_.element;
}

void InternodeScan::expect(std::size_t part) {
  expected_[part % 2].emplace();
  expected_[part % 2]->expect(parcel(part), stripe_pe(g_, g_.node - 1, stripe_), at(incoming_, part),
                              bytes_of(part));
}

std::byte* InternodeScan::own(std::size_t part) {
  if (std::optional<Outgoing>& before = outgoing_[part % 2]) before->finish();
  return at(own_, part);
}

const std::byte* InternodeScan::sum_before(std::size_t part) {
  std::byte* const own = at(own_, part);
  const std::size_t n = bytes_of(part);
  if (!chain_) {
    exscan_by_doubling(g_, phase_, static_cast<int>(part) * kStepsOfPart, op_, own, n / op_.element, stripe_);
    return own;
  }
  if (gets()) {
    if (part + 1 < parts_) expect(part + 1);
    expected_[part % 2]->wait();
    if (gives()) op_.into(own, at(incoming_, part), n / op_.element);
  }
  if (gives()) {
    outgoing_[part % 2].emplace(parcel(part), stripe_pe(g_, g_.node + 1, stripe_), own, n);
    outgoing_[part % 2]->send();
  }
  return gets() ? at(incoming_, part) : nullptr;
}

}  // namespace shm
