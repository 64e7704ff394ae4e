// SPDX-License-Identifier: BSD-3-Clause
// Puts and gets.  A put completes when its data are in the target's memory: every one asks for
// FI_DELIVERY_COMPLETE, because a plain write over tcp is complete when the socket has it, and
// fi_inject_write never asks for an answer.
#include <cstring>

#include "base/copy_bytes.hpp"
#include "ofi/lanes.hpp"
#include "ofi/ops.hpp"
#include "ofi/request.hpp"

namespace shm::ofi {
namespace {

void post_part(Engine& engine, const Transfer& transfer, bool copy) {
  if (transfer.channel->defers && !copy) [[unlikely]]
    return engine.transfer(transfer);
  Op* op = engine.begin(transfer.channel, transfer.pe, transfer.kind, transfer.completion);
  op->split = transfer.split;
  void* local = transfer.local;
  if (copy) {
    local = transfer.n <= Op::kInline ? op->inlined : engine.wait_buffer(op, transfer.n);
    copy_bytes(local, transfer.local, transfer.n);
  }
  const Request request(engine, transfer, local, op);
  engine.post(op, [&request] { return request.post(); });
}

[[gnu::cold]] void post_split(Engine& engine, Transfer transfer) {
  const std::size_t part = engine.max_transfer();
  transfer.split = new Split{(transfer.n + part - 1) / part, transfer.completion};
  for (std::size_t left = transfer.n; left != 0; left -= transfer.n) {
    transfer.n = left < part ? left : part;
    post_part(engine, transfer, false);
    transfer.at.offset += transfer.n;
    transfer.local += transfer.n;
  }
}

}  // namespace

void put(Channel* base, int pe, RemoteAddress to, const void* source, std::size_t n, bool copy,
         Completion* completion) {
  auto* channel = static_cast<OfiChannel*>(base);
  Engine& engine = channel->lanes->engine_of(*channel);
  engine.check(pe, to, n, "put to");
  if (pe == engine.me() || n == 0) [[unlikely]] {
    if (n != 0) std::memmove(engine.memory().local(to), source, n);
    if (completion != nullptr) completion->set_done();
    return;
  }
  auto* local = static_cast<std::byte*>(const_cast<void*>(source));
  const Transfer transfer{channel, pe, OpKind::put, to, local, n, completion, nullptr};
  if (n > engine.max_transfer()) [[unlikely]]
    return post_split(engine, transfer);
  post_part(engine, transfer, copy);
}

void get(Channel* base, int pe, void* dest, RemoteAddress from, std::size_t n, Completion* completion) {
  auto* channel = static_cast<OfiChannel*>(base);
  Engine& engine = channel->lanes->engine_of(*channel);
  engine.check(pe, from, n, "get from");
  if (pe == engine.me() || n == 0) [[unlikely]] {
    if (n != 0) std::memmove(dest, engine.memory().local(from), n);
    if (completion != nullptr) completion->set_done();
    return;
  }
  const Transfer transfer{channel, pe,         OpKind::get, from, static_cast<std::byte*>(dest),
                          n,       completion, nullptr};
  if (n > engine.max_transfer()) [[unlikely]]
    return post_split(engine, transfer);
  post_part(engine, transfer, false);
}

// In the order of the channel's messages, which tell of its puts.
void Engine::transfer(const Transfer& transfer) {
  LockGuard guard(lock_);
  if (peer(transfer.pe).deferred == 0 && try_transfer(transfer)) return;
  defer({transfer.channel, transfer.pe, 0, {}, transfer});
}

// Posts it if there is credit, a record, and room at the provider.
bool Engine::try_transfer(const Transfer& transfer) {
  if (!has_credit(peer(transfer.pe), transfer.kind) || ops_.exhausted()) return false;
  Op* op = take_op(transfer.channel, transfer.pe, transfer.kind, nullptr);
  const auto code = Request(*this, transfer, transfer.local, op).post();
  if (code == -FI_EAGAIN) {
    release(op);
    return false;
  }
  op->completion = transfer.completion;
  op->split = transfer.split;
  Peer& to = peers_[static_cast<std::size_t>(transfer.pe)];
  to.overtaken = to.answers = 0;
  count(Stat::posts);
  if (code != 0) [[unlikely]]
    fail_post(*op, code);
  return true;
}

}  // namespace shm::ofi
