// SPDX-License-Identifier: BSD-3-Clause
// Messages: a pool of posted receives, handlers on the polling thread, sends that never wait inside a
// handler.
#include <cstring>
#include <string>

#include "base/fatal.hpp"
#include "ofi/engine.hpp"

namespace shm::ofi {
namespace {

thread_local const Engine* handling = nullptr;  // engine whose handler this thread is running

}  // namespace

Status Engine::post_receives() {
  for (Receive& receive : receives_) {
    receive.op.kind = Kind::receive;
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

void Engine::deliver_one(const std::byte* bytes, std::size_t n) {
  MessageHeader header;
  if (n < sizeof header) fatal("libfabric: a message of %zu bytes did not come from Atoll", n);
  std::memcpy(&header, bytes, sizeof header);
  sink_(header.from_pe, header.id, bytes + sizeof header, n - sizeof header);
}

// With poller_, without lock_.
bool Engine::deliver() {
  const Engine* outer = handling;
  handling = this;
  bool worked = false;
  for (;;) {
    std::vector<Receive*> batch;
    std::deque<std::vector<std::byte>> own;
    lock_.lock();
    batch.swap(arrived_);
    own.swap(to_self_);
    lock_.unlock();
    if (batch.empty() && own.empty()) break;
    worked = true;
    for (const auto& message : own) deliver_one(message.data(), message.size());
    for (Receive* receive : batch) {
      deliver_one(receive->data, receive->length);
      std::scoped_lock guard(lock_);
      if (!post_receive(receive)) backlog(unposted_).push_back(receive);
    }
  }
  handling = outer;
  return worked;
}

// Lock held.  Posts one message if there is credit, a record, a buffer, and room at the provider.
bool Engine::try_send(OfiChannel* channel, int pe, const MessageHeader* header, const void* payload,
                      std::size_t n) {
  const Peer& peer = peers_[static_cast<std::size_t>(pe)];
  if (!has_credit(peer, Kind::message) || ops_.exhausted()) return false;
  const std::size_t head = header != nullptr ? sizeof *header : 0;
  const std::size_t size = head + n;
  Slab& pool = size <= kCopyLimit ? small_ : large_;
  if (size > Op::kInline && pool.exhausted()) return false;

  Op* op = take_op(channel, pe, Kind::message, nullptr);
  std::byte* bytes = size <= Op::kInline ? op->inlined : static_cast<std::byte*>(take_buffer(op, size));
  if (head != 0) std::memcpy(bytes, header, head);
  if (n != 0) std::memcpy(bytes + head, payload, n);
  void* descriptor = memory_.descriptor(bytes, size, &op->temporary);
  const auto code = fi_send(endpoint_->ep(), bytes, size, descriptor, peer.address, op);
  if (code == 0) {
    count(Stat::posts);
    return true;
  }
  if (code != -FI_EAGAIN) fail_post(*op, code);
  release(op);
  return false;
}

void Engine::send(OfiChannel* channel, int pe, std::uint16_t id, const void* message, std::size_t n) {
  const MessageHeader header{me_, id, 0};
  Peer& peer = peers_[static_cast<std::size_t>(pe)];
  std::unique_lock guard(lock_);
  if (pe != me_) {
    for (Stall stall{pe, Kind::message};;) {
      // Behind what a handler could not send, so that messages to one PE stay in order.
      if (peer.deferred == 0 && try_send(channel, pe, &header, message, n)) return;
      if (handling == this) break;
      wait_room(stall);
      if (peer.deferred != 0) post_deferred();
    }
  }
  std::vector<std::byte> bytes(sizeof header + n);
  std::memcpy(bytes.data(), &header, sizeof header);
  if (n != 0) std::memcpy(bytes.data() + sizeof header, message, n);
  if (pe == me_) {
    backlog(to_self_).push_back(std::move(bytes));
    return;
  }
  channel->outstanding.fetch_add(1, std::memory_order_relaxed);
  channel->to[static_cast<std::size_t>(pe)].fetch_add(1, std::memory_order_relaxed);
  ++peer.deferred;
  backlog(deferred_).push_back({channel, pe, std::move(bytes)});
}

// Lock held.  A PE that has no room is passed over, its later messages too.
bool Engine::post_deferred() {
  bool worked = false;
  while (!unposted_.empty() && post_receive(unposted_.back())) {
    unposted_.pop_back();
    worked = true;
  }
  ++round_;
  std::deque<Deferred> waiting;
  waiting.swap(deferred_);
  for (Deferred& message : waiting) {
    Peer& peer = peers_[static_cast<std::size_t>(message.pe)];
    if (peer.round == round_ ||
        !try_send(message.channel, message.pe, nullptr, message.bytes.data(), message.bytes.size())) {
      peer.round = round_;
      deferred_.push_back(std::move(message));
      continue;
    }
    worked = true;
    --peer.deferred;
    message.channel->to[static_cast<std::size_t>(message.pe)].fetch_sub(1, std::memory_order_release);
    message.channel->outstanding.fetch_sub(1, std::memory_order_release);
  }
  return worked;
}

}  // namespace shm::ofi
