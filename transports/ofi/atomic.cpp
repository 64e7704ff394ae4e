// SPDX-License-Identifier: BSD-3-Clause
// Atomics that the provider executes at the target.  Operands and results pass through the operation's
// record: eight bytes, and already registered where that is wanted.
#include <rdma/fi_atomic.h>

#include <cstring>
#include <iterator>

#include "ofi/lanes.hpp"
#include "ofi/ops.hpp"

namespace shm::ofi {
namespace {

struct Mapping {
  fi_op op;
  bool bits;  // moves or compares bits, as base/atomic_op.hpp does: floating-point types travel as integers
};

constexpr Mapping kOps[] = {
    {FI_ATOMIC_READ, true},   // fetch
    {FI_ATOMIC_WRITE, true},  // set
    {FI_ATOMIC_WRITE, true},  // swap: the fetching form
    {FI_CSWAP, true},         // compare_swap
    {FI_SUM, false},          // add
    {FI_BAND, true},          // bit_and
    {FI_BOR, true},           // bit_or
    {FI_BXOR, true},          // bit_xor
    {FI_MIN, false},          // min
    {FI_MAX, false},          // max
};
static_assert(std::size(kOps) == kAtomicOps, "an operation of base/atomic_op.hpp has no row here");

constexpr fi_datatype kTypes[kAtomicTypes] = {FI_INT32, FI_INT64, FI_UINT32, FI_UINT64, FI_FLOAT, FI_DOUBLE};

fi_datatype wire_type(AtomicOp op, AtomicType type) {
  if (kOps[static_cast<std::size_t>(op)].bits) return atomic_size(type) == 4 ? FI_UINT32 : FI_UINT64;
  return kTypes[static_cast<std::size_t>(type)];
}

// Fills in what all three forms need, posts, drops the lock.
void post_atomic(Engine& engine, Op* record, std::uint64_t address, std::uint64_t key, AtomicOp op,
                 AtomicType type) RELEASE(engine.lock()) {
  fi_ioc operand{record->value(), 1};
  fi_ioc compare{record->compare(), 1};
  fi_ioc result{record->result(), 1};
  fi_rma_ioc there{address, 1, key};
  void* descriptor = engine.memory().descriptor(record, sizeof(Op), &record->temporary);
  fi_msg_atomic message{};
  message.msg_iov = &operand;
  message.desc = &descriptor;
  message.iov_count = 1;
  message.addr = engine.peer(record->pe).address;
  message.rma_iov = &there;
  message.rma_iov_count = 1;
  message.datatype = wire_type(op, type);
  message.op = kOps[static_cast<std::size_t>(op)].op;
  message.context = record;
  fid_ep* ep = engine.endpoint().ep();
  if (op == AtomicOp::compare_swap) {
    engine.post(record, [&] {
      return fi_compare_atomicmsg(ep, &message, &compare, &descriptor, 1, &result, &descriptor, 1,
                                  FI_COMPLETION);
    });
  } else if (record->fetch != nullptr || !has_non_fetching_form(op)) {
    engine.post(record,
                [&] { return fi_fetch_atomicmsg(ep, &message, &result, &descriptor, 1, FI_COMPLETION); });
  } else {
    engine.post(record, [&] { return fi_atomicmsg(ep, &message, FI_COMPLETION | FI_DELIVERY_COMPLETE); });
  }
}

}  // namespace

void amo(Channel* base, int pe, RemoteAddress at, AtomicOp op, AtomicType type, const void* value,
         const void* compare, void* fetch, Completion* completion) {
  auto* channel = static_cast<OfiChannel*>(base);
  Engine& engine = channel->lanes->engine_of(*channel);
  const std::size_t width = atomic_size(type);
  const RemoteSegment& segment = engine.check(pe, at, width, "atomic on");
  if (pe == engine.me()) [[unlikely]] {
    atomic_apply(op, type, engine.memory().local(at), value, compare, fetch);
    if (completion != nullptr) completion->set_done();
    return;
  }
  Op* record = engine.begin(channel, pe, OpKind::atomic, completion);
  record->width = static_cast<std::uint8_t>(width);
  record->fetch = fetch;
  if (value != nullptr) std::memcpy(record->value(), value, width);
  if (compare != nullptr) std::memcpy(record->compare(), compare, width);
  post_atomic(engine, record, segment.base + at.offset, segment.key, op, type);
}

AtomicSupport query_atomics(const Endpoint& endpoint) {
  AtomicSupport support;
  if (endpoint.quirk().atomics != Atomics::cpu) return support;
  for (std::size_t o = 0; o < kAtomicOps; ++o) {
    for (std::size_t t = 0; t < kAtomicTypes; ++t) {
      const auto op = static_cast<AtomicOp>(o);
      const auto type = static_cast<AtomicType>(t);
      if (!is_defined(op, type)) continue;
      const fi_datatype wire = wire_type(op, type);
      std::size_t count = 0;
      bool fetching = false;
      if (op == AtomicOp::compare_swap) {
        fetching = fi_compare_atomicvalid(endpoint.ep(), wire, kOps[o].op, &count) == 0 && count > 0;
      } else {
        fetching = fi_fetch_atomicvalid(endpoint.ep(), wire, kOps[o].op, &count) == 0 && count > 0;
      }
      support.fetching[o][t] = fetching;
      support.plain[o][t] = has_non_fetching_form(op)
                                ? fi_atomicvalid(endpoint.ep(), wire, kOps[o].op, &count) == 0 && count > 0
                                : fetching;
    }
  }
  return support;
}

}  // namespace shm::ofi
