// SPDX-License-Identifier: BSD-3-Clause
#include "core/rma.hpp"

#include "base/copy_bytes.hpp"
#include "base/fatal.hpp"
#include "core/order.hpp"
#include "core/region.hpp"
#include "core/wait.hpp"
#include "shmem.h"

namespace shm {
namespace {

void check_strides(Call call, const Strides& strides) {
  const auto least = static_cast<std::ptrdiff_t>(strides.block);
  if (rt.env.checks == Checks::least || (strides.to_step >= least && strides.from_step >= least)) return;
  fatal("%s: the strides dst and sst are %td and %td bytes; allowed is at least one block, %td bytes",
        call.name, strides.to_step, strides.from_step, least);
}

// Bytes from the first byte of the first block to the last of the last; SIZE_MAX if they cannot be counted.
std::size_t extent(const Strides& strides, std::ptrdiff_t step) {
  std::size_t bytes = 0;
  const bool overflow = __builtin_mul_overflow(strides.blocks - 1, static_cast<std::size_t>(step), &bytes) ||
                        __builtin_add_overflow(bytes, strides.block, &bytes);
  return overflow ? SIZE_MAX : bytes;
}

// Whether the network may read or write the blocks here at any time: they are not on pages that come and go.
bool stays_here(const void* local, std::size_t n) { return n != SIZE_MAX && !on_pages(local, n); }

// All blocks in one call of the network, if it can: fewer records than one for each.
bool put_together(const Context& context, const Target& to, const std::byte* source, const Strides& s,
                  int pe) {
  Channel* channel = context.channel;
  return is_remote(to) && channel->ops->put_strided != nullptr &&
         stays_here(source, extent(s, s.from_step)) &&
         channel->ops->put_strided(channel, pe, to.remote, source, s);
}
bool get_together(const Context& context, std::byte* dest, const Target& from, const Strides& s, int pe) {
  Channel* channel = context.channel;
  return is_remote(from) && channel->ops->get_strided != nullptr && stays_here(dest, extent(s, s.to_step)) &&
         channel->ops->get_strided(channel, pe, dest, from.remote, s);
}

}  // namespace

void put_strided(Call call, shmem_ctx_t ctx, void* dest, const void* source, const Strides& s, int pe) {
  pe = to_world(call, ctx, pe);
  check_pe(call, pe);
  if (s.blocks == 0 || s.block == 0) return;
  check_strides(call, s);
  const auto* from = static_cast<const std::byte*>(source);
  if (std::byte* to = mapped(dest, extent(s, s.to_step), pe)) return copy_blocks(to, from, s);
  const Target target = resolve(call, "dest", dest, extent(s, s.to_step), pe);
  Context& context = context_of(call, ctx);
  if (put_together(context, target, from, s, pe)) return rt.progress->posted();
  auto* to = static_cast<std::byte*>(dest);
  for (std::size_t i = 0; i < s.blocks; ++i, to += s.to_step, from += s.from_step) {
    remote_put(call, context, to, from, s.block, pe, Blocking::yes);
  }
}

void get_strided(Call call, shmem_ctx_t ctx, void* dest, const void* source, const Strides& s, int pe) {
  pe = to_world(call, ctx, pe);
  check_pe(call, pe);
  if (s.blocks == 0 || s.block == 0) return;
  check_strides(call, s);
  auto* to = static_cast<std::byte*>(dest);
  if (const std::byte* from = mapped(source, extent(s, s.from_step), pe)) return copy_blocks(to, from, s);
  const Target target = resolve(call, "source", source, extent(s, s.from_step), pe);
  check_dest(to);
  Context& context = context_of(call, ctx);
  const auto* from = static_cast<const std::byte*>(source);
  // All blocks are on their way before the first is waited for.
  if (get_together(context, to, target, s, pe)) {
    rt.progress->posted();
  } else {
    for (std::size_t i = 0; i < s.blocks; ++i, to += s.to_step, from += s.from_step)
      remote_get(call, context, to, from, s.block, pe, Blocking::no);
  }
  quiet_to(context, pe, call);
}

void put_signal(Call call, shmem_ctx_t ctx, void* dest, const void* source, std::size_t n,
                std::uint64_t* signal, std::uint64_t value, int sig_op, int pe, Blocking blocking) {
  if (sig_op != SHMEM_SIGNAL_SET && sig_op != SHMEM_SIGNAL_ADD) {
    fatal("%s: sig_op is %d; allowed are SHMEM_SIGNAL_SET (%d) and SHMEM_SIGNAL_ADD (%d)", call.name, sig_op,
          SHMEM_SIGNAL_SET, SHMEM_SIGNAL_ADD);
  }
  pe = to_world(call, ctx, pe);
  const AtomicOp op = sig_op == SHMEM_SIGNAL_SET ? AtomicOp::set : AtomicOp::add;
  std::byte* to = mapped(dest, n, pe);
  std::uint64_t* word = mapped_word(signal, pe);
  if ((to == nullptr && n > 0) || word == nullptr) {
    check_aligned(call, "sig_addr", signal, sizeof *signal);
    return remote_put_signal(call, context_of(call, ctx), dest, source, n, signal, value, op, pe, blocking);
  }
  if (n > 0) copy_bytes(to, source, n);
  // Both forms release: whoever acquires the signal sees the payload.
  if (op == AtomicOp::set) {
    atomic_apply<AtomicOp::set>(word, value);
  } else {
    atomic_apply<AtomicOp::add>(word, value);
  }
}

}  // namespace shm
