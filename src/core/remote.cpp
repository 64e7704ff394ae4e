// SPDX-License-Identifier: BSD-3-Clause
#include "core/remote.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <memory>

#include "base/copy_bytes.hpp"
#include "core/order.hpp"
#include "core/region.hpp"
#include "core/wait.hpp"

namespace shm {
namespace {

void wait_for_completion(const Completion& completion, Call call, int pe) {
  wait_for([&] { return completion.done(); },
           [&](WaitRecord& record) { describe_wait(record, call.name, pe, "for PE %d to answer", pe); });
}

void wait_for_atomic(const Completion& completion, Call call, const Channel* channel, int pe) {
  const auto describe = [&](WaitRecord& record) {
    const int actor = who_must_act(channel, pe);
    describe_wait(record, call.name, actor,
                  actor == pe ? "for PE %d to answer" : "for PE %d, on which the atomic on PE %d depends",
                  actor, pe);
  };
  wait_for([&] { return completion.done(); }, describe);
}

// Local memory with rules of its own (core/region) may go away at any time, and not every thread may touch
// it: what goes by the network goes by a buffer there.
constexpr std::size_t kBounce = 65536;

// A source of at most this is copied to the stack, and then put as any other that may be used again when the
// call returns: it is packed, and nobody waits.
constexpr std::size_t kShortBounce = 4096;

bool is_short(std::size_t n) { return n <= std::min(kShortBounce, rt.network->copy_limit()); }

struct ShortCopy {
  // May wait for a page.
  ShortCopy(const void* source, std::size_t n) { std::memcpy(bytes.data(), source, n); }
  std::array<std::byte, kShortBounce> bytes;
};

[[gnu::noinline]] void put_short_bounced(Channel* channel, RemoteAddress to, const void* source,
                                         std::size_t n, int pe) {
  const ShortCopy copy(source, n);
  channel->ops->put(channel, pe, to, copy.bytes.data(), n, true, nullptr);
  rt.progress->posted();
}

void put_bounced(Call call, Channel* channel, RemoteAddress to, const void* source, std::size_t n, int pe) {
  const auto buffer = std::make_unique<std::byte[]>(std::min(n, kBounce));
  for (std::size_t done = 0; done < n;) {
    const std::size_t part = std::min(n - done, kBounce);
    copy_bytes(buffer.get(), static_cast<const std::byte*>(source) + done, part);
    Completion completion;
    channel->ops->put(channel, pe, {to.segment, to.offset + done}, buffer.get(), part, false, &completion);
    wait_for_completion(completion, call, pe);
    done += part;
  }
}

void get_bounced(Call call, Channel* channel, void* dest, RemoteAddress from, std::size_t n, int pe) {
  const auto buffer = std::make_unique<std::byte[]>(std::min(n, kBounce));
  for (std::size_t done = 0; done < n;) {
    const std::size_t part = std::min(n - done, kBounce);
    Completion completion;
    channel->ops->get(channel, pe, buffer.get(), {from.segment, from.offset + done}, part, &completion);
    wait_for_completion(completion, call, pe);
    copy_bytes(static_cast<std::byte*>(dest) + done, buffer.get(), part);
    done += part;
  }
}

void put_to_region(Call call, Context& context, Region* region, std::uintptr_t address, const void* source,
                   std::size_t n, int pe, Blocking blocking) {
  enter_region(context, region);
  complete_fenced(context, call);
  region->put(&context, address, source, n, pe, blocking == Blocking::no);
}

void put_to(Call call, Context& context, const Target& to, std::uintptr_t address, const void* source,
            std::size_t n, int pe, Blocking blocking) {
  if (to.region != nullptr) return put_to_region(call, context, to.region, address, source, n, pe, blocking);
  if (to.local != nullptr) {
    copy_bytes(to.local, source, n);
    return;
  }
  Channel* channel = context.channel;
  if (on_pages(source, n)) [[unlikely]]
    return is_short(n) ? put_short_bounced(channel, to.remote, source, n, pe)
                       : put_bounced(call, channel, to.remote, source, n, pe);
  if (blocking == Blocking::no) {
    channel->ops->put(channel, pe, to.remote, source, n, false, nullptr);
  } else if (n <= rt.network->copy_limit()) {
    channel->ops->put(channel, pe, to.remote, source, n, true, nullptr);
  } else {
    Completion completion;
    channel->ops->put(channel, pe, to.remote, source, n, false, &completion);
    return wait_for_completion(completion, call, pe);
  }
  rt.progress->posted();
}

void amo_at(Call call, Context& context, const Target& at, std::uintptr_t address, AtomicOp op,
            AtomicType type, const void* value, const void* compare, void* fetch, int pe, Blocking blocking) {
  if (Region* region = enter_region(context, at.region)) {
    complete_fenced(context, call);
    return region->amo(&context, address, op, type, value, compare, fetch, pe, blocking == Blocking::no);
  }
  if (at.local != nullptr) return atomic_apply(op, type, at.local, value, compare, fetch);
  Channel* channel = context.channel;
  if (fetch != nullptr && on_pages(fetch, atomic_size(type))) [[unlikely]] {
    std::uint64_t old = 0;
    amo_at(call, context, at, address, op, type, value, compare, &old, pe, Blocking::yes);
    std::memcpy(fetch, &old, atomic_size(type));
    return;
  }
  const bool wait = fetch != nullptr && blocking == Blocking::yes;
  Completion completion;
  channel->ops->amo(channel, pe, at.remote, op, type, value, compare, fetch, wait ? &completion : nullptr);
  if (wait) return wait_for_atomic(completion, call, channel, pe);
  rt.progress->posted();
}

// After an operation of a stream, of which the network says whether anything but its packet has changed.  One
// in a few counts as posted all the same: two PEs that send to each other execute what the other has sent
// only if they poll, and the agent would take their core.
[[gnu::always_inline]] inline void note_posted(bool changed) {
  constexpr unsigned kStaysPerPost = 8;
  static std::atomic<unsigned> stays{0};
  const unsigned now = stays.load(std::memory_order_relaxed) + 1;  // what other threads count may be lost
  stays.store(now, std::memory_order_relaxed);
  if (changed || now % kStaysPerPost == 0) [[unlikely]]
    rt.progress->posted();
}

// What streams of small operations move, from or to memory without rules of its own: find_remote() is enough.
bool is_element(std::size_t n, const void* local) {
  return n - 1 < kLargestElement && !rt.regions.holds(local);
}

// The region of a call that has nothing wrong with it: asked first, as a hit there takes no longer than the
// questions of resolve().
Region* region_of(Context& context, const void* address, std::size_t n, int pe) {
  if (n == 0 || static_cast<unsigned>(pe) >= rt.npes) return nullptr;
  return enter_region(context, find_region(address, n));
}

}  // namespace

void remote_put(Call call, Context& context, void* dest, const void* source, std::size_t n, int pe,
                Blocking blocking) {
  if (RemoteAddress to; is_element(n, source) && find_remote(dest, pe, to)) [[likely]] {
    context.channel->ops->put(context.channel, pe, to, source, n, blocking == Blocking::yes, nullptr);
    return rt.progress->posted();
  }
  if (Region* region = region_of(context, dest, n, pe)) {
    const auto to = reinterpret_cast<std::uintptr_t>(dest);
    return put_to_region(call, context, region, to, source, n, pe, blocking);
  }
  if (n == 0) return check_pe(call, pe);
  const Target to = resolve(call, "dest", dest, n, pe);
  put_to(call, context, to, reinterpret_cast<std::uintptr_t>(dest), source, n, pe, blocking);
}

// Each in a function of its own: streams on the default context pay neither for memory that `value` would be
// in nor for registers that are kept across a call.
[[gnu::noinline]] static void put_word_slowly(Call call, int pe, void* dest, Context& context,
                                              std::uint64_t value, std::size_t n) {
  remote_put(call, context, dest, &value, n, pe, Blocking::yes);
}

[[gnu::always_inline]] static inline void put_word_in(Call call, int pe, void* dest, Context& context,
                                                      std::uint64_t value, std::size_t n) {
  static_assert(std::endian::native == std::endian::little);
  RemoteAddress to;
  if (!find_remote(dest, pe, to) || to.offset % 4 != 0) [[unlikely]]
    return put_word_slowly(call, pe, dest, context, value, n);
  Channel* channel = context.channel;  // null on one node, where nothing is remote
  const auto put_word = channel->ops->put_word;
  if (put_word == nullptr) [[unlikely]]
    return put_word_slowly(call, pe, dest, context, value, n);
  if (put_word(channel, pe, to, value, n)) [[unlikely]]
    rt.progress->posted();
}

[[gnu::noinline]] static void put_word_on(Call call, int pe, void* dest, shmem_ctx_t ctx, std::uint64_t value,
                                          std::size_t n) {
  put_word_in(call, pe, dest, find_context(call, ctx), value, n);
}

void remote_put_word(Call call, int pe, void* dest, shmem_ctx_t ctx, std::uint64_t value, std::size_t n) {
  if (ctx != SHMEM_CTX_DEFAULT) [[unlikely]]
    return put_word_on(call, pe, dest, ctx, value, n);
  put_word_in(call, pe, dest, rt.world_context, value, n);
}

template <Blocking kBlocking>
[[gnu::noinline]] static void put_bytes_on(Call call, int pe, void* dest, shmem_ctx_t ctx, const void* source,
                                           std::size_t n) {
  remote_put(call, context_of(call, ctx), dest, source, n, pe, kBlocking);
}

template <Blocking kBlocking>
void remote_put_bytes(Call call, int pe, void* dest, shmem_ctx_t ctx, const void* source, std::size_t n) {
  if (n != 8) [[unlikely]]
    return put_bytes_on<kBlocking>(call, pe, dest, ctx, source, n);
  std::uint64_t word;
  std::memcpy(&word, source, 8);
  remote_put_word(call, pe, dest, ctx, word, 8);
}
template void remote_put_bytes<Blocking::no>(Call, int, void*, shmem_ctx_t, const void*, std::size_t);
template void remote_put_bytes<Blocking::yes>(Call, int, void*, shmem_ctx_t, const void*, std::size_t);

[[gnu::noinline]] static void get_nbi_slowly(Call call, int pe, void* dest, shmem_ctx_t ctx,
                                             const void* source, std::size_t n) {
  remote_get(call, context_of(call, ctx), dest, source, n, pe, Blocking::no);
}

void remote_get_nbi(Call call, int pe, void* dest, shmem_ctx_t ctx, const void* source, std::size_t n) {
  RemoteAddress from;
  if (ctx != SHMEM_CTX_DEFAULT || !is_element(n, dest) || goes_nowhere(dest) ||
      !find_remote(source, pe, from)) [[unlikely]]
    return get_nbi_slowly(call, pe, dest, ctx, source, n);
  Channel* channel = rt.world_context.channel;
  const auto get = channel->ops->get_element;
  if (get == nullptr) [[unlikely]]
    return get_nbi_slowly(call, pe, dest, ctx, source, n);
  note_posted(get(channel, pe, dest, from, n));
}

void remote_get(Call call, Context& context, void* dest, const void* source, std::size_t n, int pe,
                Blocking blocking) {
  if (RemoteAddress from; blocking == Blocking::no && is_element(n, dest) && !goes_nowhere(dest) &&
                          find_remote(source, pe, from)) [[likely]] {
    context.channel->ops->get(context.channel, pe, dest, from, n, nullptr);
    return rt.progress->posted();
  }
  if (Region* region = region_of(context, source, n, pe)) {
    check_dest(dest);
    const auto from = reinterpret_cast<std::uintptr_t>(source);
    return region->get(&context, dest, from, n, pe, blocking == Blocking::no);
  }
  if (n == 0) return check_pe(call, pe);
  const Target from = resolve(call, "source", source, n, pe);
  check_dest(dest);
  if (from.local != nullptr) {
    copy_bytes(dest, from.local, n);
    return;
  }
  Channel* channel = context.channel;
  if (on_pages(dest, n)) [[unlikely]]
    return get_bounced(call, channel, dest, from.remote, n, pe);
  if (blocking == Blocking::no) {
    channel->ops->get(channel, pe, dest, from.remote, n, nullptr);
    return rt.progress->posted();
  }
  Completion completion;
  channel->ops->get(channel, pe, dest, from.remote, n, &completion);
  wait_for_completion(completion, call, pe);
}

void remote_amo(Call call, const char* argument, Context& context, AtomicOp op, AtomicType type, void* at,
                const void* value, const void* compare, void* fetch, int pe, Blocking blocking) {
  const Target target = resolve(call, argument, at, atomic_size(type), pe);
  amo_at(call, context, target, reinterpret_cast<std::uintptr_t>(at), op, type, value, compare, fetch, pe,
         blocking);
}

[[gnu::noinline]] static void update_slowly(Call call, int pe, void* at, shmem_ctx_t ctx, Update update,
                                            std::uint64_t value) {
  const char* argument = update.of_signal ? "sig_addr" : "dest";
  const auto [op, type] = update.kind;
  check_aligned(call, argument, at, atomic_size(type));
  Context& context = context_of(call, ctx);
  RemoteAddress there;
  if (!find_remote(at, pe, there))
    return remote_amo(call, argument, context, op, type, at, &value, nullptr, nullptr, pe, Blocking::no);
  Channel* channel = context.channel;
  if (channel->ops->update == nullptr) {
    channel->ops->amo(channel, pe, there, op, type, &value, nullptr, nullptr, nullptr);
  } else {
    return note_posted(channel->ops->update(channel, pe, there, update.kind, value));
  }
  rt.progress->posted();
}

void remote_update(Call call, int pe, void* at, shmem_ctx_t ctx, Update update, std::uint64_t value) {
  RemoteAddress there;
  const bool aligned = (reinterpret_cast<std::uintptr_t>(at) & update.mask) == 0;
  if (ctx != SHMEM_CTX_DEFAULT || !aligned || !find_remote(at, pe, there)) [[unlikely]]
    return update_slowly(call, pe, at, ctx, update, value);
  Channel* channel = rt.world_context.channel;
  const auto post = channel->ops->update;
  if (post == nullptr) [[unlikely]]
    return update_slowly(call, pe, at, ctx, update, value);
  note_posted(post(channel, pe, there, update.kind, value));
}

// In one packet, if the network can.
static bool put_with_signal(Channel* channel, int pe, RemoteAddress to, const void* source, std::size_t n,
                            RemoteAddress word, AtomicOp op, std::uint64_t value) {
  const Taken taken = channel->ops->put_signal(channel, pe, to, source, n, word, op, value);
  if (taken == Taken::no) return false;
  note_posted(taken == Taken::yes);
  return true;
}

// The same of a source on pages that come and go.
[[gnu::noinline]] static bool put_bounced_with_signal(Channel* channel, int pe, RemoteAddress to,
                                                      const void* source, std::size_t n, RemoteAddress word,
                                                      AtomicOp op, std::uint64_t value) {
  if (!is_short(n)) return false;
  const ShortCopy copy(source, n);
  return put_with_signal(channel, pe, to, copy.bytes.data(), n, word, op, value);
}

void remote_put_signal(Call call, Context& context, void* dest, const void* source, std::size_t n,
                       std::uint64_t* signal, std::uint64_t value, AtomicOp op, int pe, Blocking blocking) {
  Channel* channel = context.channel;  // null on one node
  const bool together = channel != nullptr && channel->ops->put_signal != nullptr;
  if (RemoteAddress to, at; together && is_element(n, source) && find_remote(dest, pe, to) &&
                            find_remote(signal, pe, at) &&
                            put_with_signal(channel, pe, to, source, n, at, op, value)) [[likely]]
    return;
  const Target word = resolve(call, "sig_addr", signal, sizeof *signal, pe);
  if (n > 0) {
    const Target to = resolve(call, "dest", dest, n, pe);
    const auto put_both = on_pages(source, n) ? put_bounced_with_signal : put_with_signal;
    if (together && is_remote(to) && is_remote(word) &&
        put_both(channel, pe, to.remote, source, n, word.remote, op, value))
      return;
    put_to(call, context, to, reinterpret_cast<std::uintptr_t>(dest), source, n, pe, blocking);
    fence(context, call);
  }
  amo_at(call, context, word, reinterpret_cast<std::uintptr_t>(signal), op, AtomicType::u64, &value, nullptr,
         nullptr, pe, Blocking::no);
}

void add_internal(Call call, std::uint64_t* at, std::uint64_t value, int pe) {
  if (std::uint64_t* here =
          reinterpret_cast<std::uint64_t*>(at_peer(rt.heap, reinterpret_cast<std::uintptr_t>(at), pe))) {
    std::atomic_ref(*here).fetch_add(value);
    return;
  }
  Channel* channel = rt.world_context.channel;
  const RemoteAddress to{SegmentId::heap, reinterpret_cast<std::uintptr_t>(at) - rt.heap.origin};
  std::uint64_t old = 0;
  Completion completion;
  channel->ops->amo(channel, pe, to, AtomicOp::add, AtomicType::u64, &value, nullptr, &old, &completion);
  wait_for_completion(completion, call, pe);
}

void get_internal(Call call, void* dest, const void* source, std::size_t n, int pe) {
  Channel* channel = rt.world_context.channel;
  const RemoteAddress from{SegmentId::heap, reinterpret_cast<std::uintptr_t>(source) - rt.heap.origin};
  Completion completion;
  channel->ops->get(channel, pe, dest, from, n, &completion);
  wait_for_completion(completion, call, pe);
}

}  // namespace shm
