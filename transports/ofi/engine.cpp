// SPDX-License-Identifier: BSD-3-Clause
#include "ofi/engine.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <new>
#include <string>

#include "base/fatal.hpp"
#include "ofi/broken_inject.hpp"

namespace shm::ofi {
namespace {

constexpr std::size_t kOps = 16384;
constexpr std::size_t kSmallBuffers = 4096;
constexpr std::size_t kLargeBuffers = 256;
constexpr long kWatchUs =
    100'000;  // with operations in flight, a sleeper looks for lost connections this often
// So that a slow network completes one within a second or two, which is a sign of life.
constexpr std::size_t kLargestTransfer = std::size_t{256} << 20;

// Those with an inbox: that of the PEs, and that of the memory servers.
constinit std::array<std::atomic<const Engine*>, 4> guarded{};

// Which peer it was libfabric does not say: one of those that something was written to.
[[noreturn]] void inject_broke() {
  std::string names;
  for (const auto& slot : guarded) {
    if (const Engine* engine = slot.load(std::memory_order_acquire)) engine->name_injected(names);
  }
  lost_peer("the connection to %s broke while messages were under way (libfabric): it has probably died",
            names.empty() ? "a PE" : names.c_str());
}

void guard(const Library& library, const Engine* engine) {
  for (auto& slot : guarded) {
    const Engine* none = nullptr;
    if (slot.compare_exchange_strong(none, engine)) break;
  }
  guard_injects(library, inject_broke);
}

void end_guard(const Engine* engine) {
  for (auto& slot : guarded) {
    const Engine* own = engine;
    slot.compare_exchange_strong(own, nullptr);
  }
}

}  // namespace

Engine::Engine(std::unique_ptr<Endpoint> endpoint, std::size_t max_transfer, Engine* first)
    : first_(first),
      endpoint_(std::move(endpoint)),
      memory_(*endpoint_),
      credits_(endpoint_->quirk().credits),
      fence_is_free_(puts_stay_in_order(endpoint_->quirk().order)),
      max_transfer_(std::min(kLargestTransfer, endpoint_->info().ep_attr->max_msg_size)),
      ops_(sizeof(Op), kOps),
      small_(kCopyLimit, kSmallBuffers),
      large_(kMessageBuffer, kLargeBuffers),
      incoming_(kMessageBuffer, kReceives),
      receives_(kReceives) {
  if (max_transfer != 0) max_transfer_ = std::min(max_transfer_, max_transfer);
}

// Members go in reverse order: buffers, registrations, the rest of libfabric's objects.
Engine::~Engine() {
  end_guard(this);
  endpoint_->stop();
}

Result<RemoteSegment> Engine::open_inbox(std::size_t rings) {
  // The user's settings of the provider may take away what quirks.def promises of it.
  const fi_info& info = endpoint_->info();
  const bool usable = endpoint_->quirk().inbox && info.domain_attr->data_progress == FI_PROGRESS_MANUAL &&
                      info.tx_attr->inject_size >= RingCursor::kLargestEntry;
  if (!usable || !inbox_.open(rings)) return RemoteSegment{};
  guard(endpoint_->library(), this);
  return memory_.expose(inbox_.base(), Inbox::bytes());
}

Status Engine::connect(int me, int npes, Network::AddressLookup lookup, MessageSink sink) {
  me_ = me;
  sink_ = sink;
  own_ = std::make_unique<OfiChannel>(nullptr, 0, false, nullptr, npes);
  peers_.resize(static_cast<std::size_t>(npes));
  reception_.open(me, npes);
  for (int pe = 0; pe < npes; ++pe) {
    const std::span<const std::byte> told = lookup(pe);
    if (told.empty()) continue;
    Result<PeerAddress> address = decode_address(told);
    if (!address.ok()) return Status::error("PE " + std::to_string(pe) + ": " + address.status().text());
    Peer& peer = peers_[static_cast<std::size_t>(pe)];
    peer.segments = address.value().segments;
    peer.inbox = address.value().inbox;
    peer.cookie = address.value().cookie;
    if (pe == me) continue;  // nothing goes there by wire
    // All at once, here: 1 us each, and the connection itself is made by the first operation anyway.
    if (Status status = endpoint_->insert(address.value().endpoint, &peer.address); !status.ok())
      return Status::error("libfabric: the address of PE " + std::to_string(pe) + " " + status.text());
  }
  for (Slab* pool : {&ops_, &small_, &large_, &incoming_}) {
    if (Status status = memory_.add_pool(pool->base(), pool->bytes()); !status.ok()) return status;
  }
  return sink != nullptr ? post_receives() : Status();
}

// REQUIRES: credit, and a free record.
Op* Engine::take_op(OfiChannel* channel, int pe, OpKind kind, Completion* completion) {
  Peer& peer = peers_[static_cast<std::size_t>(pe)];
  if (peer.outstanding++ == 0) peer.completed_then = ~peer.completed;  // watch() counts its time from now
  if (kind == OpKind::message) ++peer.messages;
  if (kind == OpKind::atomic) ++peer.atomics;
  // What has been answered so far says nothing of this one, if the provider takes it.
  if (channel != own_.get() && !channel->defers) peer.overtaken = peer.answers = 0;
  const unsigned epoch = channel->outstanding.begin();
  // Relaxed: whoever must see these is this thread, or was told by it.
  channel->to[static_cast<std::size_t>(pe)].fetch_add(1, std::memory_order_relaxed);
  if (kind == OpKind::atomic) channel->atomics.fetch_add(1, std::memory_order_relaxed);
  Op* op = static_cast<Op*>(ops_.take());
  op->channel = channel;
  op->completion = completion;
  op->split = nullptr;
  op->fetch = nullptr;
  op->buffer = nullptr;
  op->temporary = nullptr;
  op->pe = pe;
  op->kind = kind;
  op->epoch = static_cast<std::uint8_t>(epoch);
  return op;
}

Op* Engine::begin(OfiChannel* channel, int pe, OpKind kind, Completion* completion) {
  lock_.lock();
  const Peer& peer = peers_[static_cast<std::size_t>(pe)];
  for (Stall stall{pe, kind}; !has_credit(peer, kind) || ops_.exhausted();) wait_room(stall);
  return take_op(channel, pe, kind, completion);
}

void* Engine::take_buffer(Op* op, std::size_t n) {
  Slab& pool = n <= kCopyLimit ? small_ : large_;
  op->buffer = pool.take();
  op->pool = &pool;
  return op->buffer;
}

void* Engine::wait_buffer(Op* op, std::size_t n) {
  for (Stall stall{op->pe, op->kind}; take_buffer(op, n) == nullptr;) wait_room(stall);
  return op->buffer;
}

bool Engine::poll() {
  if (!poller_.try_lock()) return false;
  polls_.store(polls() + 1, std::memory_order_relaxed);
  lock_.lock();
  bool worked = reap();
  if (may_post_deferred()) worked |= post_deferred();
  if (grants_owed_) tell_grants();
  backlog_.store(may_post_deferred() || !to_self_.empty(), std::memory_order_relaxed);
  const bool messages = inbox_.survey() || !arrived_.empty() || !to_self_.empty();
  // Also where there is always something to do: what others complete says nothing of a peer that owes us.
  if (polls() % 16 == 0 && ops_.in_use() != 0) watch();
  lock_.unlock();
  if (messages) worked |= deliver();
  poller_.unlock();
  return worked;
}

bool Engine::may_block() {
  // Another thread that polls will take what there is, and the descriptor tells of what comes later.
  LockGuard guard(lock_);
  if (ops_.in_use() != 0) watch();
  block_limit_us_.store(ops_.in_use() != 0 ? kWatchUs : -1, std::memory_order_relaxed);
  // What waits for completions goes with these, of which the descriptor tells.
  const bool idle = arrived_.empty() && to_self_.empty() && !may_post_deferred();
  return idle && endpoint_->may_sleep() &&
         !inbox_.survey();  // in this order: the second may store what the third sees
}

}  // namespace shm::ofi
