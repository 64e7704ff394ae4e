// SPDX-License-Identifier: BSD-3-Clause
// The network with the software NIC: another network, behind channels that pack small operations
// (combine.hpp), a batch of the node's blocking atomics (node_batch.hpp), and an executor of what
// comes in (executor.hpp).
//
// Thread safety: as Network.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.hpp"
#include "net.hpp"
#include "nic/combine.hpp"
#include "nic/executor.hpp"
#include "nic/issuers.hpp"
#include "nic/nic.hpp"
#include "nic/node_batch.hpp"
#include "nic/shared_slots.hpp"

namespace shm::nic {

class NicNetwork final : public Network {
 public:
  NicNetwork(std::unique_ptr<Network> inner, const NicOptions& options)
      : inner_(std::move(inner)),
        packed_(options.packed),
        may_batch_(options.batch),
        executor_(options.mshrs),
        batch_(*this) {}
  ~NicNetwork() override;

  std::string describe() const override;
  Status add_segment(SegmentId id, void* base, std::size_t size) override {
    executor_.add_segment(id, base, size);
    return inner_->add_segment(id, base, size);
  }
  Result<std::vector<std::byte>> address() override { return inner_->address(); }
  Status connect(int me, int npes, AddressLookup lookup, MessageSink sink) override;
  void join_node(const NodeMap& map) override;
  void watch_room(RoomWatch watch) override { inner_->watch_room(std::move(watch)); }
  Channel* open_channel(ChannelUse use) override;
  void close_channel(Channel* channel) override;

  bool poll() override {
    bool worked = inner_->poll();
    if (batch_.active()) worked |= batch_.advance();
    return (held_.load(std::memory_order_relaxed) != 0 && send_held()) || worked;
  }
  int wait_fd() const override { return inner_->wait_fd(); }
  bool may_block() override {
    if (held_.load(std::memory_order_relaxed) != 0 && earliest() <= clock_now()) return false;
    return inner_->may_block();
  }
  bool needs_poll() const override { return wake_.load(std::memory_order_relaxed) || inner_->needs_poll(); }
  void will_be_polled() override {
    wake_.store(false, std::memory_order_relaxed);
    inner_->will_be_polled();
  }
  long max_block_us() const override;
  Silence silence_of(int pe, double period) override { return inner_->silence_of(pe, period); }
  void begin_sleep() override {
    if (own_slots_ == nullptr) return;
    own_slots_->sleepers.fetch_add(1, std::memory_order_relaxed);
    own_slots_->nudged.store(0, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with the one in nudge_sleepers()
  }
  void end_sleep() override {
    if (own_slots_ != nullptr) own_slots_->sleepers.fetch_sub(1, std::memory_order_relaxed);
  }
  void flush_all() override {
    if (held_.load(std::memory_order_relaxed) == 0) return;
    hurry_.store(true, std::memory_order_relaxed);
    send_held();
  }
  bool reads_alone() const override { return inner_->reads_alone(); }
  bool pins_segments() const override { return inner_->pins_segments(); }
  std::size_t copy_limit() const override { return inner_->copy_limit(); }
  bool supports(AtomicOp op, AtomicType type, bool) const override { return is_defined(op, type); }

  // For its channels and the node's batch.

  /// Sends a packet; may poll the inner network while there is no room.
  void carry(int pe, const std::byte* packet, std::size_t n) {
    wire_->ops->send(wire_, pe, kPacketId, packet, n);
  }
  /// A packet that leaves at `deadline` at the latest is held, or is not to be watched any more.
  void holds(std::int64_t deadline);
  void forgotten() { held_.fetch_sub(1, std::memory_order_relaxed); }
  Issuers& issuers() { return issuers_; }
  int me() const { return me_; }
  int npes() const { return npes_; }
  /// By PE; the array stays where it is.
  const Route* routes() const { return routes_.data(); }
  /// How many flows a channel has.
  std::size_t flows() const { return flows_; }
  /// The PE of this node rank on the node of `executor`; kReceiver: the executor.
  int at_node_rank(int executor, unsigned node_rank) const {
    if (node_rank == kReceiver) return executor;
    return map_
        .members[static_cast<std::size_t>(map_.peers[static_cast<std::size_t>(executor)].node)][node_rank];
  }

  // For the table.
  bool shares() const { return batch_.active(); }
  NodeBatch& batch() { return batch_; }
  Packed packed() const { return packed_; }
  Packing packing() const {
    if (packed_ < Packed::atomics) return Packing::nothing;
    return packed_ == Packed::all ? Packing::all : Packing::atomics;
  }
  int waits_for(const Combiner& channel, int pe) const {
    if (!channel.fresh(pe)) return channel.waits_for(pe);
    const bool direct = !channel.inner()->ops->idle_to(channel.inner(), pe);
    return !direct && batch_.active() && batch_.waits_for_node_of(pe) ? batch_.actor_for(pe) : pe;
  }
  const Network& inner() const { return *inner_; }

 private:
  void receive(int from_pe, std::uint16_t id, const std::byte* message, std::size_t n);
  void nudge_sleepers();
  bool send_held();
  std::int64_t earliest() const;

  std::unique_ptr<Network> inner_;
  const Packed packed_;
  const bool may_batch_;
  Executor executor_;
  Issuers issuers_;
  NodeBatch batch_;
  NodeMap map_;
  std::vector<Route> routes_;  // by PE
  std::size_t flows_ = 0;
  AllSharedSlots all_slots_;  // of this node; empty before join_node()
  SharedSlots* own_slots_ = nullptr;
  const int* peers_here_ = nullptr;  // PEs of this node, by node rank
  MessageSink sink_;
  Channel* wire_ = nullptr;  // packets and replies of all channels
  int me_ = -1;
  int npes_ = 0;
  mutable Mutex channels_mutex_;  // held while held packets are sent, so that their channels stay
  std::vector<Combiner*> channels_ GUARDED_BY(channels_mutex_);
  std::atomic<bool> hurry_{false};  // a thread waits: send_held() sends all

  // When the agent must look again: see holds() and max_block_us().
  std::atomic<std::int64_t> held_{0};           // packets that some channel watches
  mutable std::atomic<std::int64_t> alarm_{0};  // the agent will be awake by then; 0: who knows
  mutable std::atomic<bool> wake_{false};       // it would come too late for a packet
};

}  // namespace shm::nic
