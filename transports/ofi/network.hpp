// SPDX-License-Identifier: BSD-3-Clause
// The Network over libfabric: a thin front of Engine.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ofi/engine.hpp"
#include "ofi/ops.hpp"

namespace shm::ofi {

/// Contracts: Network.  Set-up is not thread safe, the rest is.  All channels share one endpoint; a channel
/// is a set of counters.
class FabricNetwork final : public Network {
 public:
  FabricNetwork(std::unique_ptr<Endpoint> endpoint, std::size_t max_transfer)
      : engine_(std::move(endpoint), max_transfer), support_(query_atomics(engine_.endpoint())) {}

  // Before connect().
  std::string describe() const override { return "libfabric " + provider(); }
  Status add_segment(SegmentId id, void* base, std::size_t size) override;
  Result<std::vector<std::byte>> address() override;
  Status connect(int me, int npes, AddressLookup lookup, MessageSink sink) override;

  // After connect().  A channel that closes must be idle: its counters are lowered by completions.
  Channel* open_channel() override;
  void close_channel(Channel* channel) override;

  // Any thread, any time after connect().
  bool poll() override { return engine_.poll(); }
  int wait_fd() const override { return const_cast<Engine&>(engine_).endpoint().wait_fd(); }
  bool may_block() override { return engine_.may_block(); }
  bool needs_poll() const override { return engine_.needs_poll(); }
  long max_block_us() const override { return engine_.max_block_us(); }

  // Constant.  supports() says no to all where atomics are not the target CPU's.
  std::size_t copy_limit() const override { return Engine::kCopyLimit; }
  bool supports(AtomicOp op, AtomicType type, bool fetching) const override;

 private:
  std::string provider() const { return const_cast<Engine&>(engine_).endpoint().provider(); }

  Engine engine_;          // opened by open_fabric()
  AtomicSupport support_;  // asked once
};

}  // namespace shm::ofi
