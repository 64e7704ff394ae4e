// SPDX-License-Identifier: BSD-3-Clause
// Scans of long vectors between nodes, part by part: memory does not grow with the vector, and a node works
// on one part while others are on their way.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/reduce_op.hpp"
#include "coll/group.hpp"
#include "coll/rendezvous.hpp"
#include "coll/scratch.hpp"

namespace shm {

/// One PE's stripe of `count` elements, of which each node has a sum.  For one part after the other the
/// caller writes this node's sum to own(part), then has sum_before(part).  `op` is a sum; `phase` as in
/// internode.hpp.
class InternodeScan {
 public:
  static constexpr std::size_t kPartBytes = std::size_t{256} << 10;

  InternodeScan(Group& g, std::uint64_t phase, const Reduction& op, std::size_t count, int stripe);
  ~InternodeScan();
  InternodeScan(const InternodeScan&) = delete;
  InternodeScan& operator=(const InternodeScan&) = delete;

  /// Elements of each part but the last.
  std::size_t most() const { return kPartBytes / op_.element; }

  /// Room for one part, until sum_before() of it.
  std::byte* own(std::size_t part);
  /// The sum of the nodes before this one, until own() of the next part; null for what sums begin with.
  const std::byte* sum_before(std::size_t part);

 private:
  bool gets() const { return g_.node > 0; }
  bool gives() const;
  std::size_t bytes_of(std::size_t part) const;
  std::byte* at(Scratch& two, std::size_t part) const { return two.data() + part % 2 * most() * op_.element; }
  Parcel parcel(std::size_t part) const { return {g_.slot, phase_, static_cast<int>(part)}; }
  void expect(std::size_t part);

  Group& g_;
  const std::uint64_t phase_;
  const Reduction& op_;
  const std::size_t count_;
  const int stripe_;
  const std::size_t parts_;
  const bool chain_;
  // Two parts of each, used in turn.
  Scratch own_, incoming_;
  std::optional<Expected> expected_[2];
  std::optional<Outgoing> outgoing_[2];
};

}  // namespace shm
