// SPDX-License-Identifier: BSD-3-Clause
// The Network over libfabric: a thin front of Lanes and Engine.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ofi/lanes.hpp"
#include "ofi/ops.hpp"

namespace shm::ofi {

/// Contracts: Network.  Set-up is not thread safe, the rest is.  A channel is a set of counters and the
/// number of the lane that carries its data.
class FabricNetwork final : public Network {
 public:
  FabricNetwork(std::unique_ptr<Endpoint> endpoint, const FabricOptions& options)
      : lanes_(std::move(endpoint), options),
        inbox_rings_(options.inbox_rings != 0 ? options.inbox_rings : Inbox::kRings),
        support_(query_atomics(first().endpoint())) {}

  // Before connect().
  std::string describe() const override { return "libfabric " + provider(); }
  Status add_segment(SegmentId id, void* base, std::size_t size) override;
  Result<std::vector<std::byte>> address() override;
  Status connect(int me, int npes, AddressLookup lookup, MessageSink sink) override;

  // After connect().  A channel that closes must be idle: its counters are lowered by completions.
  void join_node(const NodeMap& map) override {
    const auto me = static_cast<std::size_t>(first().me());
    lanes_.first().join_node(map.members[static_cast<std::size_t>(map.peers[me].node)]);
  }
  void watch_room(RoomWatch watch) override { first().watch_room(std::move(watch)); }
  Channel* open_channel(ChannelUse use) override;
  void close_channel(Channel* channel) override;

  // Any thread, any time after connect().
  bool poll() override { return lanes_.poll(); }
  int wait_fd() const override { return lanes_.wait_fd(); }
  bool may_block() override { return lanes_.may_block(); }
  bool needs_poll() const override { return first().needs_poll(); }
  long max_block_us() const override { return lanes_.max_block_us(); }
  Silence silence_of(int pe, double period) override { return first().silence_of(pe, period); }

  /// For tests.
  const Lanes& lanes() const { return lanes_; }

  // Constant.  supports() says no to all where atomics are not the target CPU's.
  std::size_t copy_limit() const override { return Engine::kCopyLimit; }
  bool supports(AtomicOp op, AtomicType type, bool fetching) const override;
  Packed prefers_packed() const override;
  bool reads_alone() const override;
  bool pins_segments() const override { return first().memory().pins(); }

 private:
  Engine& first() { return lanes_.first(); }
  const Engine& first() const { return lanes_.first(); }
  std::string provider() const { return first().endpoint().provider(); }

  Lanes lanes_;  // opened by open_fabric()
  const std::size_t inbox_rings_;
  AtomicSupport support_;  // asked once
};

}  // namespace shm::ofi
