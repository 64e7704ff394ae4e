// SPDX-License-Identifier: BSD-3-Clause
// Atomics (OpenSHMEM 1.6, section 9.7), their names from before 1.4, and those of shmemx.h.
#include "core/amo.hpp"

#include "api/define.hpp"

namespace shm::api {
namespace {

using enum AtomicOp;

// ---- Blocking

template <class T>
ATOLL_INLINE T _atomic_fetch(Call call, shmem_ctx_t ctx, const T* source, int pe) {
  return amo_fetch<fetch>(call, ctx, source, T{}, T{}, pe);
}

template <class T>
ATOLL_INLINE void _atomic_set(Call call, shmem_ctx_t ctx, T* dest, T value, int pe) {
  amo_update<set>(call, ctx, dest, value, pe);
}

template <class T>
ATOLL_INLINE T _atomic_swap(Call call, shmem_ctx_t ctx, T* dest, T value, int pe) {
  return amo_fetch<swap>(call, ctx, dest, value, T{}, pe);
}

template <class T>
ATOLL_INLINE T _atomic_compare_swap(Call call, shmem_ctx_t ctx, T* dest, T cond, T value, int pe) {
  return amo_fetch<compare_swap>(call, ctx, dest, value, cond, pe);
}

// Each operation that has a fetching and a non-fetching form, with an operand.
#define ATOLL_AMO_PAIR(NAME, OP)                                                              \
  template <class T>                                                                          \
  ATOLL_INLINE T _atomic_fetch_##NAME(Call call, shmem_ctx_t ctx, T* dest, T value, int pe) { \
    return amo_fetch<OP>(call, ctx, dest, value, T{}, pe);                                    \
  }                                                                                           \
  template <class T>                                                                          \
  ATOLL_INLINE void _atomic_##NAME(Call call, shmem_ctx_t ctx, T* dest, T value, int pe) {    \
    amo_update<OP>(call, ctx, dest, value, pe);                                               \
  }
ATOLL_AMO_PAIR(add, add)
ATOLL_AMO_PAIR(and, bit_and)
ATOLL_AMO_PAIR(or, bit_or)
ATOLL_AMO_PAIR(xor, bit_xor)
ATOLL_AMO_PAIR(max, max)
ATOLL_AMO_PAIR(min, min)
#undef ATOLL_AMO_PAIR

template <class T>
ATOLL_INLINE T _atomic_fetch_inc(Call call, shmem_ctx_t ctx, T* dest, int pe) {
  return amo_fetch<add>(call, ctx, dest, T{1}, T{}, pe);
}

template <class T>
ATOLL_INLINE void _atomic_inc(Call call, shmem_ctx_t ctx, T* dest, int pe) {
  amo_update<add>(call, ctx, dest, T{1}, pe);
}

// ---- Nonblocking

template <class T>
ATOLL_INLINE void _atomic_fetch_nbi(Call call, shmem_ctx_t ctx, T* result, const T* source, int pe) {
  amo_start<fetch>(call, ctx, result, source, T{}, T{}, pe);
}

template <class T>
ATOLL_INLINE void _atomic_compare_swap_nbi(Call call, shmem_ctx_t ctx, T* result, T* dest, T cond, T value,
                                           int pe) {
  amo_start<compare_swap>(call, ctx, result, dest, value, cond, pe);
}

template <class T>
ATOLL_INLINE void _atomic_fetch_inc_nbi(Call call, shmem_ctx_t ctx, T* result, T* dest, int pe) {
  amo_start<add>(call, ctx, result, dest, T{1}, T{}, pe);
}

#define ATOLL_AMO_NBI(NAME, OP)                                                                             \
  template <class T>                                                                                        \
  ATOLL_INLINE void _atomic_##NAME##_nbi(Call call, shmem_ctx_t ctx, T* result, T* dest, T value, int pe) { \
    amo_start<OP>(call, ctx, result, dest, value, T{}, pe);                                                 \
  }
ATOLL_AMO_NBI(swap, swap)
ATOLL_AMO_NBI(fetch_add, add)
ATOLL_AMO_NBI(fetch_and, bit_and)
ATOLL_AMO_NBI(fetch_or, bit_or)
ATOLL_AMO_NBI(fetch_xor, bit_xor)
ATOLL_AMO_NBI(fetch_max, max)
ATOLL_AMO_NBI(fetch_min, min)
#undef ATOLL_AMO_NBI

// ---- Names from before 1.4

template <class T>
ATOLL_INLINE T _fetch(Call call, const T* source, int pe) {
  return _atomic_fetch(call, SHMEM_CTX_DEFAULT, source, pe);
}

template <class T>
ATOLL_INLINE void _set(Call call, T* dest, T value, int pe) {
  _atomic_set(call, SHMEM_CTX_DEFAULT, dest, value, pe);
}

template <class T>
ATOLL_INLINE T _swap(Call call, T* dest, T value, int pe) {
  return _atomic_swap(call, SHMEM_CTX_DEFAULT, dest, value, pe);
}

template <class T>
ATOLL_INLINE T _cswap(Call call, T* dest, T cond, T value, int pe) {
  return _atomic_compare_swap(call, SHMEM_CTX_DEFAULT, dest, cond, value, pe);
}

template <class T>
ATOLL_INLINE T _finc(Call call, T* dest, int pe) {
  return _atomic_fetch_inc(call, SHMEM_CTX_DEFAULT, dest, pe);
}

template <class T>
ATOLL_INLINE void _inc(Call call, T* dest, int pe) {
  _atomic_inc(call, SHMEM_CTX_DEFAULT, dest, pe);
}

template <class T>
ATOLL_INLINE T _fadd(Call call, T* dest, T value, int pe) {
  return _atomic_fetch_add(call, SHMEM_CTX_DEFAULT, dest, value, pe);
}

template <class T>
ATOLL_INLINE void _add(Call call, T* dest, T value, int pe) {
  _atomic_add(call, SHMEM_CTX_DEFAULT, dest, value, pe);
}

}  // namespace
}  // namespace shm::api

extern "C" {
ATOLL_OPS_AMO(ATOLL_CTX_ROW)
ATOLL_OPS_AMO_NBI(ATOLL_CTX_ROW)
ATOLL_OPS_OLD_AMO(ATOLL_ROW)
ATOLL_OPS_EXTRA_AMO(ATOLL_ROW)
ATOLL_OPS_EXTRA_BITWISE(ATOLL_CTX_ROW)
SHMEMX_OPS(ATOLL_X_CTX_ROW)
}
