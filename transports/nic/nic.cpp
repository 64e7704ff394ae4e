// SPDX-License-Identifier: BSD-3-Clause
#include "nic/nic.hpp"

#include <algorithm>
#include <atomic>

#include "base/mutex.hpp"
#include "base/stats.hpp"
#include "nic/agent.hpp"
#include "nic/combine.hpp"
#include "nic/share.hpp"

namespace shm {
namespace nic {
namespace {

class NicNetwork final : public Network, public Carrier {
 public:
  NicNetwork(std::unique_ptr<Network> inner, const NicOptions& options)
      : inner_(std::move(inner)),
        mode_(options.mode),
        may_share_(options.share),
        agent_(options.mshrs),
        share_(*this) {}
  ~NicNetwork() override;

  std::string describe() const override;
  Status add_segment(SegmentId id, void* base, std::size_t size) override {
    agent_.add_segment(id, base, size);
    return inner_->add_segment(id, base, size);
  }
  Result<std::vector<std::byte>> address() override { return inner_->address(); }
  Status connect(int me, int npes, AddressLookup lookup, MessageSink sink) override;
  void join_node(const NodeMap& map) override;
  Channel* open_channel(ChannelUse use) override;
  void close_channel(Channel* channel) override;

  bool poll() override {
    bool worked = inner_->poll();
    if (share_.active()) worked |= share_.advance();
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
  void begin_sleep() override {
    if (own_board_ == nullptr) return;
    own_board_->sleepers.fetch_add(1, std::memory_order_relaxed);
    own_board_->nudged.store(0, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with the one in nudge_sleepers()
  }
  void end_sleep() override {
    if (own_board_ != nullptr) own_board_->sleepers.fetch_sub(1, std::memory_order_relaxed);
  }
  void flush_all() override {
    if (held_.load(std::memory_order_relaxed) == 0) return;
    hurry_.store(true, std::memory_order_relaxed);
    send_held();
  }
  std::size_t copy_limit() const override { return inner_->copy_limit(); }
  bool supports(AtomicOp op, AtomicType type, bool) const override { return is_defined(op, type); }

  void carry(int pe, const std::byte* packet, std::size_t n) override {
    wire_->ops->send(wire_, pe, kPacketId, packet, n);
  }
  bool progress() override { return poll(); }
  void holds(std::int64_t deadline) override;
  void forgotten() override { held_.fetch_sub(1, std::memory_order_relaxed); }
  int me() const override { return me_; }
  int npes() const override { return npes_; }
  const Route* routes() const override { return routes_.data(); }
  std::size_t lanes() const override { return lanes_; }
  int at_place(int executor, unsigned place) const override {
    if (place == kReceiver) return executor;
    return map_.members[static_cast<std::size_t>(map_.peers[static_cast<std::size_t>(executor)].node)][place];
  }

  // For the table.
  bool shares() const { return share_.active(); }
  Share& share() { return share_; }
  AmoMode mode() const { return mode_; }
  Packing packing() const { return mode_ == AmoMode::offload ? Packing::atomics : Packing::nothing; }
  int waits_for(const Combiner& channel, int pe) const {
    if (!channel.fresh(pe)) return channel.waits_for(pe);
    const bool direct = !channel.inner()->ops->idle_to(channel.inner(), pe);
    return !direct && share_.active() && share_.waits_for_node_of(pe) ? share_.actor_for(pe) : pe;
  }
  const Network& inner() const { return *inner_; }

 private:
  void receive(int from_pe, std::uint16_t id, const std::byte* message, std::size_t n);
  void nudge_sleepers();
  bool send_held();
  std::int64_t earliest() const;

  std::unique_ptr<Network> inner_;
  const AmoMode mode_;
  const bool may_share_;
  Agent agent_;
  Share share_;
  NodeMap map_;
  std::vector<Route> routes_;  // by PE
  std::size_t lanes_ = 0;
  Boards boards_;  // of this node; empty before join_node()
  Board* own_board_ = nullptr;
  const int* peers_here_ = nullptr;  // PEs of this node, by place
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

NicNetwork::~NicNetwork() {
  if (wire_ == nullptr) return;
  while (!wire_->ops->idle(wire_)) inner_->poll();
  inner_->close_channel(wire_);
}

std::string NicNetwork::describe() const {
  return inner_->describe() + (mode_ == AmoMode::offload ? ", atomics offloaded" : ", native atomics");
}

Status NicNetwork::connect(int me, int npes, AddressLookup lookup, MessageSink sink) {
  me_ = me;
  npes_ = npes;
  lanes_ = static_cast<std::size_t>(npes);
  for (int pe = 0; pe < npes; ++pe) routes_.push_back({pe, kReceiver, static_cast<unsigned>(pe)});
  sink_ = std::move(sink);
  Status status = inner_->connect(
      me, npes, lookup, [this](int from_pe, std::uint16_t id, const std::byte* message, std::size_t n) {
        receive(from_pe, id, message, n);
      });
  if (status.ok()) wire_ = inner_->open_channel(ChannelUse::common);
  return status;
}

// PEs of one place serve each other: so each PE's streams need one connection to a node, and each PE executes
// its share.
void NicNetwork::join_node(const NodeMap& map) {
  map_ = map;
  const auto& [my_node, place] = map_.peers[static_cast<std::size_t>(me_)];
  // Where a node has more PEs than a record can tell apart, each PE executes what is for itself.
  const bool fit = std::ranges::all_of(map.members, [](const auto& node) { return node.size() < kReceiver; });
  for (int pe = 0; pe < npes_ && fit; ++pe) {
    const NodeMap::Peer& peer = map.peers[static_cast<std::size_t>(pe)];
    const std::vector<int>& members = map.members[static_cast<std::size_t>(peer.node)];
    const int executor = members[place % members.size()];
    routes_[static_cast<std::size_t>(pe)] = {executor, executor == pe ? kReceiver : peer.place,
                                             static_cast<unsigned>(peer.node)};
  }
  if (fit) lanes_ = map.members.size();
  agent_.add_node(map.segments);
  for (std::byte* board : map.boards) boards_.push_back(reinterpret_cast<Board*>(board));
  own_board_ = boards_[place];
  peers_here_ = map_.members[static_cast<std::size_t>(my_node)].data();
  if (fit && may_share_ && mode_ == AmoMode::offload && boards_.size() > 1) share_.join_node(map_, boards_);
}

void NicNetwork::receive(int from_pe, std::uint16_t id, const std::byte* message, std::size_t n) {
  if (id == kPacketId) {
    const std::span<const std::byte> reply = agent_.execute(from_pe, message, n);
    wire_->ops->send(wire_, from_pe, kReplyId, reply.data(), reply.size());
    nudge_sleepers();
  } else if (id == kReplyId) {
    ReplyHead head;
    std::memcpy(&head, message, sizeof head);
    reinterpret_cast<Issuer*>(head.issuer)->acknowledge(from_pe, message + sizeof head, n - sizeof head);
  } else if (id != kNudgeId) {
    sink_(from_pe, id, message, n);
  }
}

// Wakes PEs of this node that sleep and may wait for what has been stored in their memory here.
void NicNetwork::nudge_sleepers() {
  if (agent_.touched().empty()) return;
  // Pairs with the one in begin_sleep(): either this sees that the PE sleeps, or it sees what was stored.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  for (const unsigned place : agent_.touched()) {
    Board& board = *boards_[place];
    // Once for each sleep: a PE that is stopped would be sent one for each packet.
    if (&board != own_board_ && board.sleepers.load(std::memory_order_relaxed) != 0 &&
        board.nudged.exchange(1, std::memory_order_relaxed) == 0)
      wire_->ops->send(wire_, peers_here_[place], kNudgeId, nullptr, 0);
  }
}

// Sends what has become too old, or all that is held if a thread waits.
bool NicNetwork::send_held() {
  const std::int64_t now = clock_now();
  if (!hurry_.load(std::memory_order_relaxed) && alarm_.load(std::memory_order_relaxed) > now) return false;
  if (!channels_mutex_.try_lock()) return false;  // another thread is at it; who waits comes again
  const LockGuard guard(channels_mutex_, std::adopt_lock);
  const bool all = hurry_.exchange(false, std::memory_order_relaxed);
  bool worked = false;
  for (Combiner* channel : channels_) {
    if (channel->next_deadline() > (all ? kNever - 1 : now)) continue;
    channel->flush(all ? now : now - kLongestHold);
    worked = true;
  }
  return worked;
}

std::int64_t NicNetwork::earliest() const {
  if (!channels_mutex_.try_lock()) return 0;  // somebody is sending: look again
  const LockGuard guard(channels_mutex_, std::adopt_lock);
  std::int64_t time = kNever;
  for (const Combiner* channel : channels_) time = std::min(time, channel->next_deadline());
  return time;
}

// A program may compute from now on, and the agent be asleep: does it wake in time?  Sequentially consistent:
// either this sees that the agent sets its alarm anew, or the agent sees the packet.
void NicNetwork::holds(std::int64_t deadline) {
  held_.fetch_add(1, std::memory_order_seq_cst);
  if (alarm_.load(std::memory_order_seq_cst) < deadline - kLongestHold)
    wake_.store(true, std::memory_order_release);
}

long NicNetwork::max_block_us() const {
  const long limit = inner_->max_block_us();
  alarm_.store(0, std::memory_order_seq_cst);
  wake_.exchange(false, std::memory_order_acq_rel);
  if (held_.load(std::memory_order_seq_cst) == 0) return limit;
  const std::int64_t deadline = earliest();
  if (deadline == kNever) return limit;
  alarm_.store(deadline, std::memory_order_seq_cst);
  const long left = static_cast<long>(std::max<std::int64_t>(deadline - clock_now(), 0) / 1000) + 1;
  return limit < 0 ? left : std::min(limit, left);
}

// The table.

// One for each context of the core.
class NicChannel final : public Combiner {
 public:
  NicChannel(NicNetwork& nic, const NetOps* table, Channel* inner)
      : Combiner(nic, table, inner, nic.packing()), nic_(nic) {}
  NicNetwork& nic() const { return nic_; }

 private:
  NicNetwork& nic_;
};

NicChannel* own(Channel* channel) { return &static_cast<NicChannel&>(*channel); }
const NicChannel* own(const Channel* channel) { return &static_cast<const NicChannel&>(*channel); }

void put(Channel* base, int pe, RemoteAddress to, const void* source, std::size_t n, bool copy,
         Completion* completion) {
  NicChannel* channel = own(base);
  if (n <= kLargestPut && n > 0 && completion == nullptr && channel->packs_puts(pe))
    return channel->put(pe, to, source, n);
  count(Stat::puts);
  count(Stat::put_bytes, n);
  channel->before_direct(pe);
  channel->inner()->ops->put(channel->inner(), pe, to, source, n, copy, completion);
}

// A fence does not order gets; but a program that waits for its data may mean to read what it has put.
void get(Channel* base, int pe, void* dest, RemoteAddress from, std::size_t n, Completion* completion) {
  NicChannel* channel = own(base);
  count(Stat::gets);
  count(Stat::get_bytes, n);
  if (completion != nullptr) channel->flush_to(pe);
  channel->inner()->ops->get(channel->inner(), pe, dest, from, n, completion);
}

std::uint64_t bits(const void* operand, AtomicType type) {
  std::uint64_t value = 0;
  std::memcpy(&value, operand, 4);
  if (atomic_size(type) == 8) std::memcpy(&value, operand, 8);
  return value;
}

// As many as the operation has, others 0.
struct Operands {
  std::uint64_t value, compare;
  Operands(AtomicOp op, AtomicType type, const void* v, const void* c)
      : value(operands_of(op) > 0 ? bits(v, type) : 0), compare(operands_of(op) > 1 ? bits(c, type) : 0) {}
};

// An atomic that is not to be packed.  Returns false if it must be: the inner network does not support it.
[[gnu::noinline]] bool go_direct(NicChannel* channel, int pe, RemoteAddress at, AtomicOp op, AtomicType type,
                                 const void* value, const void* compare, void* fetch,
                                 Completion* completion) {
  if (!channel->nic().inner().supports(op, type, fetch != nullptr) && pe != channel->nic().me()) {
    channel->wait_for_direct();
    return false;
  }
  count(Stat::atomics);
  channel->before_direct(pe);
  channel->inner()->ops->amo(channel->inner(), pe, at, op, type, value, compare, fetch, completion);
  return true;
}

[[gnu::noinline]] void update(NicChannel* channel, int pe, RemoteAddress at, AtomicOp op, AtomicType type,
                              const void* value) {
  channel->update(pe, at, op, type, bits(value, type));
}

[[gnu::noinline]] void fetch_and_wait(NicChannel* channel, int pe, RemoteAddress at, AtomicOp op,
                                      AtomicType type, const void* value, const void* compare,
                                      const Awaited& result) {
  const Operands given(op, type, value, compare);
  if (channel->nic().shares() && channel->fresh(pe) &&
      channel->nic().share().request(*channel, pe, at, op, type, given.value, given.compare, result))
    return;
  channel->fetch(pe, at, op, type, given.value, given.compare, result);
  channel->flush_to(pe);
}

[[gnu::noinline]] void start_fetch(NicChannel* channel, int pe, RemoteAddress at, AtomicOp op,
                                   AtomicType type, const void* value, const void* compare, void* fetch) {
  const Operands given(op, type, value, compare);
  channel->fetch(pe, at, op, type, given.value, given.compare, {fetch, nullptr, atomic_size(type)});
}

// What is not to be packed, or is waited for.
[[gnu::noinline]] void other_amo(NicChannel* channel, int pe, RemoteAddress at, AtomicOp op, AtomicType type,
                                 const void* value, const void* compare, void* fetch,
                                 Completion* completion) {
  if (!channel->packs_atomics(pe) && go_direct(channel, pe, at, op, type, value, compare, fetch, completion))
    return;
  if (completion == nullptr) return start_fetch(channel, pe, at, op, type, value, compare, fetch);
  fetch_and_wait(channel, pe, at, op, type, value, compare, {fetch, completion, atomic_size(type)});
}

// Streams come through here: each kind has a function of its own, and pays for no other's registers.
void amo(Channel* base, int pe, RemoteAddress at, AtomicOp op, AtomicType type, const void* value,
         const void* compare, void* fetch, Completion* completion) {
  NicChannel* channel = own(base);
  if (completion != nullptr || !channel->packs_atomics(pe)) [[unlikely]]
    return other_amo(channel, pe, at, op, type, value, compare, fetch, completion);
  if (fetch == nullptr && operands_of(op) == 1) return update(channel, pe, at, op, type, value);
  start_fetch(channel, pe, at, op, type, value, compare, fetch);
}

void send(Channel* base, int pe, std::uint16_t id, const void* message, std::size_t n) {
  Channel* inner = own(base)->inner();
  inner->ops->send(inner, pe, id, message, n);
}

void flush(Channel* base) {
  own(base)->flush(kNever);
  Channel* inner = own(base)->inner();
  inner->ops->flush(inner);
}

bool idle(const Channel* channel) { return own(channel)->idle(); }
bool idle_to(const Channel* channel, int pe) { return own(channel)->idle_to(pe); }
bool fence(Channel* channel) { return own(channel)->fence(); }

void hint(Channel* base, const BatchHint& hint) {
  NicChannel* channel = own(base);
  Channel* inner = channel->inner();
  const bool all = channel->nic().mode() != AmoMode::native && hint.batch && hint.total_ops > 1;
  channel->set_packing(all ? Packing::all : channel->nic().packing(), hint.total_ops);
  if (inner->ops->hint != nullptr) inner->ops->hint(inner, hint);
}

int waits_for(const Channel* channel, int pe) { return own(channel)->nic().waits_for(*own(channel), pe); }

constexpr NetOps kOps = {put, get, amo, send, flush, idle, idle_to, fence, hint, waits_for};

Channel* NicNetwork::open_channel(ChannelUse use) {
  auto* channel = new NicChannel(*this, &kOps, inner_->open_channel(use));
  const LockGuard guard(channels_mutex_);
  channels_.push_back(channel);
  return channel;
}

void NicNetwork::close_channel(Channel* base) {
  NicChannel* channel = own(base);
  {
    const LockGuard guard(channels_mutex_);
    std::erase(channels_, channel);
  }
  inner_->close_channel(channel->inner());
  delete channel;
}

}  // namespace
}  // namespace nic

std::unique_ptr<Network> make_nic(std::unique_ptr<Network> inner, const NicOptions& options) {
  return std::make_unique<nic::NicNetwork>(std::move(inner), options);
}

}  // namespace shm
