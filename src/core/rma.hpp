// SPDX-License-Identifier: BSD-3-Clause
// Remote memory access, the hot half: peers whose memory is mapped here are reached by loads and stores.
#pragma once

#include <cstring>

#include "base/copy_bytes.hpp"
#include "base/strides.hpp"
#include "core/remote.hpp"

namespace shm {

/// One element of T, in one store where the CPU has one: a waiting PE never sees half of it.
template <class T>
[[gnu::always_inline]] inline void store_element(T* to, T value) {
  if constexpr (sizeof(T) <= 8) {
    __atomic_store(to, &value, __ATOMIC_RELAXED);
  } else {
    *to = value;
  }
}

namespace detail {

// Out of line, so that elements live in registers on the hot path.
template <class T>
[[gnu::cold, gnu::noinline]] void put_remotely(Call call, shmem_ctx_t ctx, T* dest, T value, int pe) {
  if constexpr (sizeof value == 8 || sizeof value == 4) {
    std::uint64_t word = 0;
    std::memcpy(&word, &value, sizeof value);
    return remote_put_word(call, pe, dest, ctx, word, sizeof value);
  }
  remote_put(call, context_of(call, ctx), dest, &value, sizeof value, pe, Blocking::yes);
}

template <class T>
[[gnu::cold, gnu::noinline]] T get_remotely(Call call, shmem_ctx_t ctx, const T* source, int pe) {
  T value;
  remote_get(call, context_of(call, ctx), &value, source, sizeof value, pe, Blocking::yes);
  return value;
}

}  // namespace detail

template <class T>
[[gnu::always_inline]] inline void put_element(Call call, shmem_ctx_t ctx, T* dest, T value, int pe) {
  pe = to_world(call, ctx, pe);
  if (T* at = mapped(dest, pe)) [[likely]]
    return store_element(at, value);
  detail::put_remotely(call, ctx, dest, value, pe);
}

template <class T>
[[gnu::always_inline]] inline T get_element(Call call, shmem_ctx_t ctx, const T* source, int pe) {
  pe = to_world(call, ctx, pe);
  const T* at = mapped(source, pe);
  if (at == nullptr) [[unlikely]]
    return detail::get_remotely(call, ctx, source, pe);
  if constexpr (sizeof(T) > 8) return *at;
  T value;
  __atomic_load(at, &value, __ATOMIC_RELAXED);
  return value;
}

/// n bytes; where they are one aligned word it is written as one, so that wait_until may watch it.
template <Blocking kBlocking>
[[gnu::always_inline]] inline void put_bytes(Call call, shmem_ctx_t ctx, void* dest, const void* source,
                                             std::size_t n, int pe) {
  pe = to_world(call, ctx, pe);
  std::byte* to = mapped(dest, n, pe);
  if (to == nullptr) [[unlikely]] {
    remote_put_bytes<kBlocking>(call, pe, dest, ctx, source, n);
  } else if (n == 8 && reinterpret_cast<std::uintptr_t>(to) % 8 == 0) {
    std::uint64_t word;
    std::memcpy(&word, source, 8);
    store_element(reinterpret_cast<std::uint64_t*>(to), word);
  } else {
    copy_bytes(to, source, n);
  }
}

[[gnu::always_inline]] inline void get_bytes(Call call, shmem_ctx_t ctx, void* dest, const void* source,
                                             std::size_t n, int pe, Blocking blocking) {
  pe = to_world(call, ctx, pe);
  if (const std::byte* from = mapped(source, n, pe)) [[likely]] {
    copy_bytes(dest, from, n);
  } else {
    if (blocking == Blocking::no) return remote_get_nbi(call, pe, dest, ctx, source, n);
    remote_get(call, context_of(call, ctx), dest, source, n, pe, blocking);
  }
}

void put_strided(Call call, shmem_ctx_t ctx, void* dest, const void* source, const Strides& strides, int pe);
void get_strided(Call call, shmem_ctx_t ctx, void* dest, const void* source, const Strides& strides, int pe);

/// Puts n bytes and then updates the signal word; the update is seen only after the payload.
void put_signal(Call call, shmem_ctx_t ctx, void* dest, const void* source, std::size_t n,
                std::uint64_t* signal, std::uint64_t value, int sig_op, int pe, Blocking blocking);

}  // namespace shm
