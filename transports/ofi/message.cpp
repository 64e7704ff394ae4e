// SPDX-License-Identifier: BSD-3-Clause
// Messages: a pool of posted receives, handlers on the polling thread, sends that never wait inside a
// handler.
#include <rdma/fi_rma.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "base/fatal.hpp"
#include "ofi/engine.hpp"

namespace shm::ofi {
namespace {

thread_local const Engine* handling = nullptr;  // engine whose handler this thread is running

bool breaks_a_connection(int error) {
  return error == EPIPE || error == ECONNRESET || error == ECONNABORTED || error == ENOTCONN ||
         error == ETIMEDOUT || error == EHOSTUNREACH || error == ENETUNREACH;
}

}  // namespace

Status Engine::post_receives() {
  for (Receive& receive : receives_) {
    receive.op.kind = OpKind::receive;
    receive.op.temporary = nullptr;
    receive.op.pe = -1;
    receive.data = static_cast<std::byte*>(incoming_.take());
    void* descriptor = memory_.descriptor(receive.data, kMessageBuffer, &receive.op.temporary);
    const auto code =
        fi_recv(endpoint_->ep(), receive.data, kMessageBuffer, descriptor, FI_ADDR_UNSPEC, &receive.op);
    if (code != 0)
      return Status::error(std::string("libfabric: fi_recv: ") + endpoint_->library().error(code));
  }
  return {};
}

bool Engine::post_receive(Receive* receive) {
  void* descriptor = memory_.descriptor(receive->data, kMessageBuffer, &receive->op.temporary);
  const auto code =
      fi_recv(endpoint_->ep(), receive->data, kMessageBuffer, descriptor, FI_ADDR_UNSPEC, &receive->op);
  if (code != 0 && code != -FI_EAGAIN) fatal("libfabric: fi_recv: %s", endpoint_->library().error(code));
  return code == 0;
}

void Engine::run_handler(const MessageHeader& header, const std::byte* payload, std::size_t n) {
  if (header.id >= kFirstOfEngine) [[unlikely]]
    return serve(header.from_pe, header.id);
  sink_(header.from_pe, header.id, payload, n);
}

// A message of the peer's engine.
void Engine::serve(int pe, std::uint16_t id) {
  {
    LockGuard guard(lock_);
    std::uint8_t& answers = peers_[static_cast<std::size_t>(pe)].answers;
    if (id == kAnswer && answers < kMostAnswers) ++answers;
    if (id == kReturned) inbox_.returned(pe);
    if (id == kRecall) {
      // Nobody writes to the ring any more when the lock is free again.
      if (inbox_.is_open()) inbox_.forget(pe);
      peers_[static_cast<std::size_t>(pe)].ring = {};
    }
  }
  if (id == kRecall) send(own_.get(), pe, kReturned, nullptr, 0);
  if (id == kAsk) send(own_.get(), pe, kAnswer, nullptr, 0);
}

// What does not come from a PE of the job is nobody's: see docs/security.md.
void Engine::refuse(Receive* receive) {
  count(Stat::refused_messages);
  {
    const LockGuard guard(lock_);
    post_again(receive);
  }
  if (!std::exchange(refused_, true))
    warn(
        "a message that no PE of this job can have sent was dropped, as all such are: another program "
        "reaches this process's %s port",
        endpoint_->provider().c_str());
}

// What the connection had under way when it broke is lost.  Or nothing broke, and the user has made rxm's
// buffers so small that short messages overtake long ones.
void Engine::messages_are_missing(const MessageHeader& header, std::uint16_t expected) const {
  const std::string from = process_name(header.from_pe);
  const char* buffers = std::getenv("FI_OFI_RXM_BUFFER_SIZE");
  if (buffers != nullptr && std::strtoul(buffers, nullptr, 10) < kMessageBuffer)
    fatal("libfabric: message %d from %s came before message %d: FI_OFI_RXM_BUFFER_SIZE must be at least %zu",
          header.sequence, from.c_str(), expected, kMessageBuffer);
  lost_peer("messages from %s were lost (libfabric %s: number %d came before %d): the connection to it broke",
            from.c_str(), endpoint_->provider().c_str(), header.sequence, expected);
}

void Engine::deliver_ordinary(Receive* receive) {
  const std::optional<MessageHeader> taken = reception_.take(
      receive->data, receive->length,
      [this](const MessageHeader& header, const std::byte* payload, std::size_t n) {
        run_handler(header, payload, n);
      },
      [this](const MessageHeader& header, std::uint16_t expected) {
        messages_are_missing(header, expected);
      });
  if (!taken.has_value()) [[unlikely]]
    return refuse(receive);
  const MessageHeader& header = *taken;
  int to_ask = Inbox::kNobody;
  {
    LockGuard guard(lock_);
    post_again(receive);
    ++peers_[static_cast<std::size_t>(header.from_pe)].life;
    // What its engine says of itself is no reason to give a PE a ring.
    if (inbox_.is_open() && static_cast<std::size_t>(me_) < Inbox::kMostPes && header.id < kFirstOfEngine)
      to_ask = inbox_.welcome(header.from_pe);
  }
  if (to_ask != Inbox::kNobody) send(own_.get(), to_ask, kRecall, nullptr, 0);
}

bool Engine::deliver() {
  const Engine* outer = handling;
  handling = this;
  bool worked = false;
  for (;;) {
    std::vector<Receive*> batch;
    std::deque<Deferred> own;
    lock_.lock();
    batch.swap(arrived_);
    own.swap(to_self_);
    inbox_.take();
    lock_.unlock();
    for (const Deferred& message : own)
      sink_(me_, message.id, message.payload.data(), message.payload.size());
    for (Receive* receive : batch) deliver_ordinary(receive);
    const bool written = reception_.take_written([this](const MessageHeader& header, const std::byte* payload,
                                                        std::size_t n) { run_handler(header, payload, n); });
    if (batch.empty() && own.empty() && !written) break;
    worked = true;
    if (!inbox_.is_open()) continue;
    LockGuard guard(lock_);
    tell_grants();
  }
  handling = outer;
  return worked;
}

// Writes to the peer's inbox without a completion.  rxm does not expect that to fail: from the error entry of
// an injected write, which names no operation, it reads the operation's state, at address 0x20, in the next
// fi_cq_read (1.17 to 2.x).  But tcp sends at once, and what the system says of that is still in errno: so a
// broken connection comes to light here, before anybody reads the queue.
long Engine::inject_write(int pe, const void* bytes, std::size_t n, std::uint64_t to) {
  Peer& peer = peers_[static_cast<std::size_t>(pe)];
  peer.injected = true;
  errno = 0;
  const auto code = fi_inject_write(endpoint_->ep(), bytes, n, peer.address, to, peer.inbox.key);
  if (code == 0 && breaks_a_connection(errno)) [[unlikely]]
    lost_peer("message to %s failed: libfabric %s: %s: %s", process_name(pe).c_str(),
              endpoint_->provider().c_str(), std::strerror(errno), kLost);
  return code;
}

// What there is no room for goes with a later poll; the sender has the ordinary way until
// then.
void Engine::tell_grants() {
  grants_owed_ = !inbox_.tell([this](int pe, const Grant& grant) {
    const Peer& peer = peers_[static_cast<std::size_t>(pe)];
    if (peer.inbox.size == 0) return true;
    const auto code = inject_write(pe, &grant, sizeof grant, peer.inbox.base + Inbox::grant_offset(me_));
    if (code == 0) count(Stat::posts);
    if (code != 0 && code != -FI_EAGAIN)
      lost_peer("message to PE %d failed: libfabric %s: %s", pe, endpoint_->provider().c_str(),
                endpoint_->library().error(code));
    return code == 0;
  });
}

// Whether the message was written into the PE's inbox: it is short, and the PE has granted the
// room.
bool Engine::write_inbox(int pe, const MessageHeader& header, const void* payload, std::size_t n) {
  if (!inbox_.is_open() || sizeof header + n > InboxEntry::kLargestMessage) return false;
  const std::size_t size = InboxEntry::size(sizeof header + n);
  Peer& peer = peers_[static_cast<std::size_t>(pe)];
  const Grant grant = inbox_.granted_by(pe);
  if (grant.ring - 1 >= Inbox::kRings || !peer.ring.has_room(size, grant.cleared)) return false;
  alignas(8) std::byte entry[RingCursor::kLargestEntry];
  InboxEntry::write(entry, header, payload, n);
  const std::uint64_t to = peer.inbox.base + Inbox::ring_offset(grant.ring) + peer.ring.offset();
  const auto code = inject_write(pe, entry, size, to);
  if (code != 0) {
    // What hinders it will be reported, if it lasts, by an operation with a record.  The provider has looked
    // for room, and may have stored what peers wrote: the descriptor does not tell of that any more.
    backlog_.store(true, std::memory_order_relaxed);
    return false;
  }
  peer.ring.advance(size);
  return true;
}

// Posts one message if there is credit, a record, a buffer, and room at the provider.
bool Engine::try_send(OfiChannel* channel, int pe, std::uint16_t id, const void* payload, std::size_t n) {
  Peer& peer = peers_[static_cast<std::size_t>(pe)];
  const MessageHeader header{me_, id, peer.sequence};
  if (id < kFirstOfEngine && write_inbox(pe, header, payload, n)) {
    ++peer.sequence;
    count(Stat::posts);
    count(Stat::written_messages);
    return true;
  }
  if (!has_credit(peer, OpKind::message) || ops_.exhausted()) return false;
  const Envelope envelope{peer.cookie, header};
  const std::size_t size = sizeof envelope + n;
  Slab& pool = size <= kCopyLimit ? small_ : large_;
  if (size > Op::kInline && pool.exhausted()) return false;

  Op* op = take_op(channel, pe, OpKind::message, nullptr);
  std::byte* bytes = size <= Op::kInline ? op->inlined : static_cast<std::byte*>(take_buffer(op, size));
  std::memcpy(bytes, &envelope, sizeof envelope);
  if (n != 0) std::memcpy(bytes + sizeof envelope, payload, n);
  void* descriptor = memory_.descriptor(bytes, size, &op->temporary);
  const auto code = fi_send(endpoint_->ep(), bytes, size, descriptor, peer.address, op);
  if (code == 0) {
    ++peer.sequence;
    count(Stat::posts);
    if (channel->defers) peer.overtaken = peer.answers = 0;
    return true;
  }
  if (code != -FI_EAGAIN) fail_post(*op, code);
  release(op);
  return false;
}

void Engine::send(OfiChannel* channel, int pe, std::uint16_t id, const void* message, std::size_t n) {
  Peer& peer = peers_[static_cast<std::size_t>(pe)];
  LockGuard guard(lock_);
  Stall stall{pe, OpKind::message};
  const bool waits = handling != this && !channel->defers;
  if (pe != me_) {
    // Behind what others could not send, so that messages to one PE stay in order.
    while (peer.deferred == 0) {
      if (try_send(channel, pe, id, message, n)) return;
      if (!waits) break;
      wait_room(stall);
    }
  }
  const auto* bytes = static_cast<const std::byte*>(message);
  Deferred later{channel, pe, id, {bytes, bytes + n}, std::nullopt};
  if (pe == me_) {
    backlog(to_self_).push_back(std::move(later));
    return;
  }
  const std::uint32_t before = peer.undeferred + peer.deferred;
  defer(std::move(later));
  if (!waits) return;
  while (static_cast<std::int32_t>(peer.undeferred - before) <= 0) {
    wait_room(stall);
    if (may_post_deferred()) post_deferred();
  }
}

void Engine::defer(Deferred later) {
  const auto pe = static_cast<std::size_t>(later.pe);
  later.epoch = later.channel->outstanding.begin();
  later.since = std::chrono::steady_clock::now();
  later.life = peers_[pe].life;
  later.channel->to[pe].fetch_add(1, std::memory_order_relaxed);
  ++peers_[pe].deferred;
  deferred_may_go_ = true;
  backlog(deferred_).push_back(std::move(later));
}

// Credit, a record or a buffer, which come back when something completes: the provider has not been asked.
bool Engine::lacks_own_room(const Deferred& it) const {
  const Peer& peer = peers_[static_cast<std::size_t>(it.pe)];
  if (!has_credit(peer, it.kind()) || ops_.exhausted()) return true;
  const std::size_t size = sizeof(Envelope) + it.payload.size();
  return !it.transfer && size > Op::kInline && (size <= kCopyLimit ? small_ : large_).exhausted();
}

// Ends the job if there will never be room.
void Engine::look_at(Deferred& it) const {
  const std::uint32_t life = peers_[static_cast<std::size_t>(it.pe)].life;
  if (std::exchange(it.life, life) != life) it.since = std::chrono::steady_clock::now();
  check_connection(it.pe, it.kind(), it.since);
}

// A PE that has no room is passed over, with all that goes there.
bool Engine::post_deferred() {
  bool worked = false;
  while (!unposted_.empty() && post_receive(unposted_.back())) {
    unposted_.pop_back();
    worked = true;
  }
  ++round_;
  deferred_may_go_ = false;
  std::deque<Deferred> waiting;
  waiting.swap(deferred_);
  const auto try_post = [this](const Deferred& it) REQUIRES(lock_) {
    return it.transfer ? try_transfer(*it.transfer)
                       : try_send(it.channel, it.pe, it.id, it.payload.data(), it.payload.size());
  };
  for (Deferred& it : waiting) {
    Peer& peer = peers_[static_cast<std::size_t>(it.pe)];
    if (peer.round == round_) {
      deferred_.push_back(std::move(it));
      continue;
    }
    if (!try_post(it)) {
      peer.round = round_;
      if (!lacks_own_room(it)) {
        deferred_may_go_ = true;
        if (round_ % 1024 == 0) look_at(it);
      }
      deferred_.push_back(std::move(it));
      continue;
    }
    worked = true;
    --peer.deferred;
    ++peer.undeferred;
    it.channel->to[static_cast<std::size_t>(it.pe)].fetch_sub(1, std::memory_order_release);
    it.channel->outstanding.end(it.epoch);
  }
  return worked;
}

}  // namespace shm::ofi
