// SPDX-License-Identifier: BSD-3-Clause
// Atomics, the hot half: one CPU instruction on the peer's memory.
#pragma once

#include <cstring>

#include "core/progress.hpp"
#include "core/remote.hpp"

namespace shm {

/// A thread has found this in a word that is mapped here.  If it finds the same there again and again, it
/// spins, and makes progress now and then.  REQUIRES: there is a network.
void note_look(const void* word, std::uint64_t found);

namespace detail {

template <AtomicOp op>
constexpr const char* target_name() {
  return op == AtomicOp::fetch ? "source" : "dest";
}

template <class T>
[[gnu::always_inline]] inline void note_value(const T* here, T value) {
  std::uint64_t found = 0;
  std::memcpy(&found, &value, sizeof value);
  note_look(here, found);
}

// Starts what needs no waiting.  A stream of packed atomics shall not pay for looking for what is rare.
[[gnu::always_inline]] inline void start_amo(Context& context, RemoteAddress at, AtomicOp op, AtomicType type,
                                             const void* value, const void* compare, void* fetch, int pe) {
  context.channel->ops->amo(context.channel, pe, at, op, type, value, compare, fetch, nullptr);
  rt.progress->posted();
}

// Out of line, so that operands live in memory only when they must.
template <AtomicOp op, class T>
[[gnu::cold, gnu::noinline]] T fetch_remotely(Call call, shmem_ctx_t ctx, const T* at, T value, T compare,
                                              int pe) {
  T old{};
  check_aligned(call, target_name<op>(), at, sizeof(T));
  remote_amo(call, target_name<op>(), context_of(call, ctx), op, atomic_type<T>(), const_cast<T*>(at), &value,
             &compare, &old, pe, Blocking::yes);
  return old;
}

template <AtomicOp op, class T>
[[gnu::cold, gnu::noinline]] void update_remotely(Call call, shmem_ctx_t ctx, T* at, T value, int pe,
                                                  bool of_signal) {
  std::uint64_t word = 0;
  std::memcpy(&word, &value, sizeof value);
  remote_update(call, pe, at, ctx, update_of<T>(op, of_signal), word);
}

template <AtomicOp op, class T>
[[gnu::cold, gnu::noinline]] void start_remotely(Call call, shmem_ctx_t ctx, T* fetch, const T* at, T value,
                                                 T compare, int pe) {
  check_aligned(call, target_name<op>(), at, sizeof(T));
  check_result(call, "fetch", fetch);
  check_dest(fetch);
  Context& context = context_of(call, ctx);
  // The network must not store where a page may have to come first.
  if (RemoteAddress there; !rt.regions.holds(fetch) && find_remote(at, pe, there)) [[likely]]
    return start_amo(context, there, op, atomic_type<T>(), &value, &compare, fetch, pe);
  remote_amo(call, target_name<op>(), context, op, atomic_type<T>(), const_cast<T*>(at), &value, &compare,
             fetch, pe, Blocking::no);
}

}  // namespace detail

/// Returns the old value.
template <AtomicOp op, class T>
[[gnu::always_inline]] inline T amo_fetch(Call call, shmem_ctx_t ctx, const T* at, T value, T compare,
                                          int pe) {
  pe = to_world(call, ctx, pe);
  if (T* here = const_cast<T*>(mapped_word(at, pe))) [[likely]] {
    const T old = atomic_apply<op>(here, value, compare);
    if constexpr (op == AtomicOp::fetch || op == AtomicOp::compare_swap || op == AtomicOp::swap) {
      if (rt.progress != nullptr) [[unlikely]]
        detail::note_value(here, old);
    }
    return old;
  }
  return detail::fetch_remotely<op>(call, ctx, at, value, compare, pe);
}

/// Returns nothing and waits for nothing.  `of_signal`: the user knows `at` as sig_addr, else as dest.
template <AtomicOp op, class T>
[[gnu::always_inline]] inline void amo_update(Call call, shmem_ctx_t ctx, T* at, T value, int pe,
                                              bool of_signal = false) {
  pe = to_world(call, ctx, pe);
  if (T* here = mapped_word(at, pe)) [[likely]] {
    atomic_apply<op>(here, value);
  } else {
    detail::update_remotely<op>(call, ctx, at, value, pe, of_signal);
  }
}

/// The old value is in *fetch after the next quiet.
template <AtomicOp op, class T>
[[gnu::always_inline]] inline void amo_start(Call call, shmem_ctx_t ctx, T* fetch, const T* at, T value,
                                             T compare, int pe) {
  pe = to_world(call, ctx, pe);
  if (T* here = const_cast<T*>(mapped_word(at, pe)); here != nullptr && fetch != nullptr) [[likely]] {
    *fetch = atomic_apply<op>(here, value, compare);
  } else {
    detail::start_remotely<op>(call, ctx, fetch, at, value, compare, pe);
  }
}

}  // namespace shm
