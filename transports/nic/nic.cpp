// SPDX-License-Identifier: BSD-3-Clause
#include "nic/nic.hpp"

#include <algorithm>
#include <atomic>

#include "base/fatal.hpp"
#include "base/stats.hpp"
#include "nic/nic_network.hpp"

namespace shm {
namespace nic {

NicNetwork::~NicNetwork() {
  if (wire_ == nullptr) return;
  while (!wire_->ops->idle(wire_)) inner_->poll();
  inner_->close_channel(wire_);
}

std::string NicNetwork::describe() const {
  const char* packed = packed_ < Packed::atomics ? ", native atomics"
                       : packed_ == Packed::all  ? ", small operations packed"
                                                 : ", atomics offloaded";
  return inner_->describe() + packed;
}

Status NicNetwork::connect(int me, int npes, AddressLookup lookup, MessageSink sink) {
  me_ = me;
  npes_ = npes;
  flows_ = static_cast<std::size_t>(npes);
  for (int pe = 0; pe < npes; ++pe) routes_.push_back({pe, kReceiver, static_cast<unsigned>(pe)});
  sink_ = std::move(sink);
  Status status = inner_->connect(
      me, npes, lookup, [this](int from_pe, std::uint16_t id, const std::byte* message, std::size_t n) {
        receive(from_pe, id, message, n);
      });
  if (status.ok()) wire_ = inner_->open_channel(ChannelUse::common);
  return status;
}

// PEs of one node rank serve each other: so each PE's streams need one connection to a node, and each PE
// executes its share.
void NicNetwork::join_node(const NodeMap& map) {
  map_ = map;
  const auto& [my_node, node_rank] = map_.peers[static_cast<std::size_t>(me_)];
  // Where a node has more PEs than a record can tell apart, each PE executes what is for itself.
  const bool fit = std::ranges::all_of(map.members, [](const auto& node) { return node.size() < kReceiver; });
  for (int pe = 0; pe < npes_ && fit; ++pe) {
    const NodeMap::Peer& peer = map.peers[static_cast<std::size_t>(pe)];
    const std::vector<int>& members = map.members[static_cast<std::size_t>(peer.node)];
    const int executor = members[node_rank % members.size()];
    routes_[static_cast<std::size_t>(pe)] = {executor, executor == pe ? kReceiver : peer.node_rank,
                                             static_cast<unsigned>(peer.node)};
  }
  if (fit) flows_ = map.members.size();
  executor_.add_node(map.segments);
  for (std::byte* shared : map.shared_slots) all_slots_.push_back(reinterpret_cast<SharedSlots*>(shared));
  inner_->join_node(map);
  own_slots_ = all_slots_[node_rank];
  peers_here_ = map_.members[static_cast<std::size_t>(my_node)].data();
  if (fit && may_batch_ && packed_ >= Packed::atomics && all_slots_.size() > 1)
    batch_.join_node(map_, all_slots_);
}

void NicNetwork::receive(int from_pe, std::uint16_t id, const std::byte* message, std::size_t n) {
  if (id == kPacketId) {
    const std::span<const std::byte> reply = executor_.execute(from_pe, message, n);
    wire_->ops->send(wire_, from_pe, kReplyId, reply.data(), reply.size());
    nudge_sleepers();
  } else if (id == kReplyId) {
    ReplyHead head{};
    if (n >= sizeof head) std::memcpy(&head, message, sizeof head);
    Issuer* issuer = n >= sizeof head ? issuers_.find(head.issuer) : nullptr;
    if (issuer == nullptr) [[unlikely]]
      fatal("internal error: PE %d answered a packet of nobody", from_pe);
    issuer->acknowledge(from_pe, message + sizeof head, n - sizeof head);
  } else if (id != kNudgeId) {
    sink_(from_pe, id, message, n);
  }
}

// Wakes PEs of this node that sleep and may wait for what has been stored in their memory here.
void NicNetwork::nudge_sleepers() {
  if (executor_.touched().empty()) return;
  // Pairs with the one in begin_sleep(): either this sees that the PE sleeps, or it sees what was stored.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  for (const unsigned node_rank : executor_.touched()) {
    SharedSlots& shared = *all_slots_[node_rank];
    // Once for each sleep: a PE that is stopped would be sent one for each packet.
    if (&shared != own_slots_ && shared.sleepers.load(std::memory_order_relaxed) != 0 &&
        shared.nudged.exchange(1, std::memory_order_relaxed) == 0)
      wire_->ops->send(wire_, peers_here_[node_rank], kNudgeId, nullptr, 0);
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
    channel->flush(all ? now : now - kLongestHold, all ? Leaves::wanted : Leaves::old);
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

namespace {

// The table.

Combiner* own(Channel* channel) { return &static_cast<Combiner&>(*channel); }
const Combiner* own(const Channel* channel) { return &static_cast<const Combiner&>(*channel); }

void put(Channel* base, int pe, RemoteAddress to, const void* source, std::size_t n, bool copy,
         Completion* completion) {
  Combiner* channel = own(base);
  const bool small = n <= kLargestPacked && n > 0 && completion == nullptr;
  if (small && channel->packs_puts(pe)) {
    if (!is_put_word(to.offset, n)) return channel->put(pe, to, source, n);
    channel->put_word(pe, to, bits(source, put_word_type(n)), n);
    return;
  }
  count(Stat::puts);
  count(Stat::put_bytes, n);
  channel->before_direct(pe, small && channel->packs_all());
  channel->inner()->ops->put(channel->inner(), pe, to, source, n, copy, completion);
}

[[gnu::noinline]] bool put_word_slowly(Channel* base, int pe, RemoteAddress to, std::uint64_t value,
                                       std::size_t n) {
  Combiner* channel = own(base);
  if (channel->packs_puts(pe)) return channel->put_word(pe, to, value, n);
  put(base, pe, to, &value, n, true, nullptr);
  return true;
}

bool put_word(Channel* base, int pe, RemoteAddress to, std::uint64_t value, std::size_t n) {
  if (own(base)->put_word_quickly(pe, to, value, n)) [[likely]]
    return false;
  return put_word_slowly(base, pe, to, value, n);
}

// A fence does not order gets.  One that is waited for has packets before it leave, but does not wait for
// them.  If there are none, and it is short, it is a packet of its own, whose answer needs no completion of
// the provider's.
void get(Channel* base, int pe, void* dest, RemoteAddress from, std::size_t n, Completion* completion) {
  Combiner* channel = own(base);
  if (n <= kLargestPacked && n > 0 && completion == nullptr && channel->packs_gets(pe)) {
    channel->get(pe, dest, from, n);
    return;
  }
  if (completion != nullptr && n <= kLargestAwaited && n > 0 && channel->packs_gets(pe) &&
      channel->fresh(pe)) {
    channel->get(pe, dest, from, n, completion);
    return channel->flush_to(pe);
  }
  count(Stat::gets);
  count(Stat::get_bytes, n);
  if (completion != nullptr) channel->flush_to(pe);
  channel->inner()->ops->get(channel->inner(), pe, dest, from, n, completion);
}

[[gnu::noinline]] bool get_element_slowly(Channel* base, int pe, void* dest, RemoteAddress from,
                                          std::size_t n) {
  Combiner* channel = own(base);
  if (channel->packs_gets(pe)) return channel->get(pe, dest, from, n);
  get(base, pe, dest, from, n, nullptr);
  return true;
}

bool get_element(Channel* base, int pe, void* dest, RemoteAddress from, std::size_t n) {
  static_assert(is_short_get(16));
  if (own(base)->get_quickly(pe, dest, from, n)) [[likely]]
    return false;
  return get_element_slowly(base, pe, dest, from, n);
}

bool put_strided(Channel* base, int pe, RemoteAddress to, const std::byte* source, const Strides& strides) {
  Combiner* channel = own(base);
  if (!is_better_strided(strides) || !channel->packs_puts(pe)) return false;
  channel->put_strided(pe, to, source, strides);
  return true;
}

bool get_strided(Channel* base, int pe, std::byte* dest, RemoteAddress from, const Strides& strides) {
  Combiner* channel = own(base);
  if (!is_better_strided(strides) || !channel->packs_gets(pe)) return false;
  channel->get_strided(pe, dest, from, strides);
  return true;
}

[[gnu::noinline]] Taken put_signal_slowly(Combiner* channel, int pe, RemoteAddress to, const void* source,
                                          std::size_t n, RemoteAddress word, AtomicOp op,
                                          std::uint64_t value) {
  if (n > kLargestPacked || !channel->packs_puts(pe)) return Taken::no;
  return channel->put_signal(pe, to, source, n, word, op, value) ? Taken::yes : Taken::stays;
}

Taken put_signal(Channel* base, int pe, RemoteAddress to, const void* source, std::size_t n,
                 RemoteAddress word, AtomicOp op, std::uint64_t value) {
  Combiner* channel = own(base);
  if (is_put_word(to.offset, n) && channel->put_signal_quickly(pe, to, source, n, word, op, value)) [[likely]]
    return Taken::stays;
  return put_signal_slowly(channel, pe, to, source, n, word, op, value);
}

// As many as the operation has, others 0.
struct Operands {
  std::uint64_t value, compare;
  Operands(AtomicOp op, AtomicType type, const void* v, const void* c)
      : value(operands_of(op) > 0 ? bits(v, type) : 0), compare(operands_of(op) > 1 ? bits(c, type) : 0) {}
};

// An atomic that is not to be packed.  Returns false if it must be: the inner network does not support it.
[[gnu::noinline]] bool go_direct(Combiner* channel, int pe, RemoteAddress at, AtomicOp op, AtomicType type,
                                 const void* value, const void* compare, void* fetch,
                                 Completion* completion) {
  if (!channel->nic().inner().supports(op, type, fetch != nullptr) && pe != channel->nic().me()) {
    channel->wait_for_direct();
    return false;
  }
  count(Stat::atomics);
  channel->before_direct(pe, channel->packs_any());
  channel->inner()->ops->amo(channel->inner(), pe, at, op, type, value, compare, fetch, completion);
  return true;
}

[[gnu::noinline]] void start_update(Combiner* channel, int pe, RemoteAddress at, AtomicOp op, AtomicType type,
                                    const void* value) {
  channel->update(pe, at, op, type, bits(value, type));
}

[[gnu::noinline]] void fetch_and_wait(Combiner* channel, int pe, RemoteAddress at, AtomicOp op,
                                      AtomicType type, const void* value, const void* compare,
                                      const Awaited& result) {
  const Operands given(op, type, value, compare);
  if (channel->nic().shares() && channel->fresh(pe) &&
      channel->nic().batch().request(*channel, pe, at, op, type, given.value, given.compare, result))
    return;
  channel->fetch(pe, at, op, type, given.value, given.compare, result);
  channel->flush_to(pe);
}

[[gnu::noinline]] void start_fetch(Combiner* channel, int pe, RemoteAddress at, AtomicOp op, AtomicType type,
                                   const void* value, const void* compare, void* fetch) {
  const Operands given(op, type, value, compare);
  channel->fetch(pe, at, op, type, given.value, given.compare, {fetch, nullptr, atomic_size(type)});
}

// What is not to be packed, or is waited for.
[[gnu::noinline]] void other_amo(Combiner* channel, int pe, RemoteAddress at, AtomicOp op, AtomicType type,
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
  Combiner* channel = own(base);
  if (completion != nullptr || !channel->packs_atomics(pe)) [[unlikely]]
    return other_amo(channel, pe, at, op, type, value, compare, fetch, completion);
  if (fetch == nullptr && operands_of(op) == 1) return start_update(channel, pe, at, op, type, value);
  start_fetch(channel, pe, at, op, type, value, compare, fetch);
}

[[gnu::noinline]] bool update_slowly(Channel* base, int pe, RemoteAddress at, AtomicKind kind,
                                     std::uint64_t value) {
  Combiner* channel = own(base);
  if (channel->packs_atomics(pe)) return channel->update(pe, at, kind.op, kind.type, value);
  amo(base, pe, at, kind.op, kind.type, &value, nullptr, nullptr, nullptr);
  return true;
}

bool update(Channel* base, int pe, RemoteAddress at, AtomicKind kind, std::uint64_t value) {
  if (own(base)->update_quickly(pe, at, kind.op, kind.type, value)) [[likely]]
    return false;
  return update_slowly(base, pe, at, kind, value);
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

void flush_to(Channel* base, int pe) {
  own(base)->flush_to(pe);
  shm::flush_to(own(base)->inner(), pe);
}

bool idle(const Channel* channel) { return own(channel)->idle(); }
bool idle_to(const Channel* channel, int pe) { return own(channel)->idle_to(pe); }
bool is_drained(Channel* channel, Drain& wait) { return own(channel)->drained(wait); }
bool fence(Channel* channel) { return own(channel)->fence(); }

void hint(Channel* base, const BatchHint& hint) {
  Combiner* channel = own(base);
  Channel* inner = channel->inner();
  const bool batches = channel->nic().packed() != Packed::nothing && hint.batch && hint.total_ops > 1;
  channel->set_packing(batches ? Packing::batches : channel->nic().packing(), hint.total_ops);
  if (inner->ops->hint != nullptr) inner->ops->hint(inner, hint);
}

// Puts that are packed go by messages, and are stored by who executes them.
bool messages_follow_puts(const Channel* channel) {
  const Channel* inner = own(channel)->inner();
  return !own(channel)->packs_all() && inner->ops->messages_follow_puts != nullptr &&
         inner->ops->messages_follow_puts(inner);
}

int waits_for(const Channel* channel, int pe) { return own(channel)->nic().waits_for(*own(channel), pe); }

constexpr NetOps kOps = {put,        get,         amo,      send,        flush,
                         idle,       idle_to,     fence,    hint,        messages_follow_puts,
                         waits_for,  is_drained,  put_word, put_strided, get_strided,
                         put_signal, get_element, update,   flush_to};

}  // namespace

Channel* NicNetwork::open_channel(ChannelUse use) {
  const bool packs_some = use == ChannelUse::common || use == ChannelUse::parallel;
  const Packing packs = packs_some ? packing() : Packing::nothing;
  auto* channel = new Combiner(*this, &kOps, inner_->open_channel(use), packs);
  const LockGuard guard(channels_mutex_);
  channels_.push_back(channel);
  return channel;
}

void NicNetwork::close_channel(Channel* base) {
  Combiner* channel = own(base);
  {
    const LockGuard guard(channels_mutex_);
    std::erase(channels_, channel);
  }
  inner_->close_channel(channel->inner());
  delete channel;
}

}  // namespace nic

std::unique_ptr<Network> make_nic(std::unique_ptr<Network> inner, const NicOptions& options) {
  return std::make_unique<nic::NicNetwork>(std::move(inner), options);
}

}  // namespace shm
