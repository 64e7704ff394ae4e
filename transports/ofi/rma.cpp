// SPDX-License-Identifier: BSD-3-Clause
// Puts and gets.  A put completes when its data are in the target's memory: every one asks for
// FI_DELIVERY_COMPLETE, because a plain write over tcp is complete when the socket has it, and
// fi_inject_write never asks for an answer.
#include <rdma/fi_rma.h>

#include <cstring>

#include "ofi/lanes.hpp"
#include "ofi/ops.hpp"

namespace shm::ofi {
namespace {

struct RmaTransfer {
  Engine& engine;
  OfiChannel* channel;
  int pe;
  RemoteAddress at;
  std::byte* local;
  std::size_t n;
  Completion* completion;
};

void post_part(const RmaTransfer& transfer, OpKind kind, bool copy, Split* split) {
  const auto& [engine, channel, pe, at, local, n, completion] = transfer;
  const RemoteSegment& segment = engine.peer(pe).segments[static_cast<std::size_t>(at.segment)];
  Op* op = engine.begin(channel, pe, kind, completion);
  op->split = split;
  void* buffer = local;
  if (copy) {
    buffer = n <= Op::kInline ? op->inlined : engine.wait_buffer(op, n);
    std::memcpy(buffer, local, n);
  }
  iovec here{buffer, n};
  fi_rma_iov there{segment.base + at.offset, n, segment.key};
  void* descriptor = engine.memory().descriptor(buffer, n, &op->temporary);
  fi_msg_rma message{};
  message.msg_iov = &here;
  message.desc = &descriptor;
  message.iov_count = 1;
  message.addr = engine.peer(pe).address;
  message.rma_iov = &there;
  message.rma_iov_count = 1;
  message.context = op;
  fid_ep* ep = engine.endpoint().ep();
  if (kind == OpKind::put) {
    engine.post(op, [&] { return fi_writemsg(ep, &message, FI_COMPLETION | FI_DELIVERY_COMPLETE); });
  } else {
    engine.post(op, [&] { return fi_readmsg(ep, &message, FI_COMPLETION); });
  }
}

[[gnu::cold]] void post_split(RmaTransfer transfer, OpKind kind) {
  const std::size_t part = transfer.engine.max_transfer();
  auto* split = new Split{(transfer.n + part - 1) / part, transfer.completion};
  std::size_t left = transfer.n;
  while (left != 0) {
    transfer.n = left < part ? left : part;
    left -= transfer.n;
    post_part(transfer, kind, false, split);
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
  const RmaTransfer transfer{engine, channel,   pe, to, static_cast<std::byte*>(const_cast<void*>(source)),
                             n,      completion};
  if (n > engine.max_transfer()) [[unlikely]]
    return post_split(transfer, OpKind::put);
  post_part(transfer, OpKind::put, copy, nullptr);
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
  const RmaTransfer transfer{engine, channel, pe, from, static_cast<std::byte*>(dest), n, completion};
  if (n > engine.max_transfer()) [[unlikely]]
    return post_split(transfer, OpKind::get);
  post_part(transfer, OpKind::get, false, nullptr);
}

}  // namespace shm::ofi
