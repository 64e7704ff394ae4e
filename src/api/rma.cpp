// SPDX-License-Identifier: BSD-3-Clause
// Remote memory access (OpenSHMEM 1.6, section 9.6), typed and sized, and puts with a signal (9.8).
#include "core/rma.hpp"

#include <limits>
#include <type_traits>

#include "api/define.hpp"

namespace shm::api {
namespace {

// A product that cannot be counted is more than any range holds, and is refused as such.
template <class Count>
ATOLL_INLINE Count bytes(Count n, std::type_identity_t<Count> element) {
  Count product;
  return __builtin_mul_overflow(n, element, &product) ? std::numeric_limits<Count>::max() : product;
}

// ---- By type

template <class T>
ATOLL_INLINE void _p(Call call, shmem_ctx_t ctx, T* dest, T value, int pe) {
  put_element(call, ctx, dest, value, pe);
}

template <class T>
ATOLL_INLINE T _g(Call call, shmem_ctx_t ctx, const T* source, int pe) {
  return get_element(call, ctx, source, pe);
}

template <class T>
ATOLL_INLINE void _put(Call call, shmem_ctx_t ctx, T* dest, const T* source, size_t n, int pe) {
  put_bytes<Blocking::yes>(call, ctx, dest, source, bytes(n, sizeof(T)), pe);
}

template <class T>
ATOLL_INLINE void _get(Call call, shmem_ctx_t ctx, T* dest, const T* source, size_t n, int pe) {
  get_bytes(call, ctx, dest, source, bytes(n, sizeof(T)), pe, Blocking::yes);
}

template <class T>
ATOLL_INLINE void _put_nbi(Call call, shmem_ctx_t ctx, T* dest, const T* source, size_t n, int pe) {
  put_bytes<Blocking::no>(call, ctx, dest, source, bytes(n, sizeof(T)), pe);
}

template <class T>
ATOLL_INLINE void _get_nbi(Call call, shmem_ctx_t ctx, T* dest, const T* source, size_t n, int pe) {
  get_bytes(call, ctx, dest, source, bytes(n, sizeof(T)), pe, Blocking::no);
}

// Strides count elements, and blocks of bsize elements start that far apart.
Strides strides_of(size_t element, size_t bsize, size_t blocks, ptrdiff_t dst, ptrdiff_t sst) {
  const auto step = static_cast<ptrdiff_t>(element);
  return {blocks, bytes(bsize, element), bytes(dst, step), bytes(sst, step)};
}

template <class T>
ATOLL_INLINE void _iput(Call call, shmem_ctx_t ctx, T* dest, const T* source, ptrdiff_t dst, ptrdiff_t sst,
                        size_t n, int pe) {
  put_strided(call, ctx, dest, source, strides_of(sizeof(T), 1, n, dst, sst), pe);
}

template <class T>
ATOLL_INLINE void _iget(Call call, shmem_ctx_t ctx, T* dest, const T* source, ptrdiff_t dst, ptrdiff_t sst,
                        size_t n, int pe) {
  get_strided(call, ctx, dest, source, strides_of(sizeof(T), 1, n, dst, sst), pe);
}

template <class T>
ATOLL_INLINE void _ibput(Call call, shmem_ctx_t ctx, T* dest, const T* source, ptrdiff_t dst, ptrdiff_t sst,
                         size_t bsize, size_t blocks, int pe) {
  put_strided(call, ctx, dest, source, strides_of(sizeof(T), bsize, blocks, dst, sst), pe);
}

template <class T>
ATOLL_INLINE void _ibget(Call call, shmem_ctx_t ctx, T* dest, const T* source, ptrdiff_t dst, ptrdiff_t sst,
                         size_t bsize, size_t blocks, int pe) {
  get_strided(call, ctx, dest, source, strides_of(sizeof(T), bsize, blocks, dst, sst), pe);
}

template <class T>
ATOLL_INLINE void _put_signal(Call call, shmem_ctx_t ctx, T* dest, const T* source, size_t n,
                              uint64_t* signal, uint64_t value, int sig_op, int pe) {
  put_signal(call, ctx, dest, source, bytes(n, sizeof(T)), signal, value, sig_op, pe, Blocking::yes);
}

template <class T>
ATOLL_INLINE void _put_signal_nbi(Call call, shmem_ctx_t ctx, T* dest, const T* source, size_t n,
                                  uint64_t* signal, uint64_t value, int sig_op, int pe) {
  put_signal(call, ctx, dest, source, bytes(n, sizeof(T)), signal, value, sig_op, pe, Blocking::no);
}

// ---- By element size

template <size_t kBytes>
ATOLL_INLINE void sized_put(Call call, shmem_ctx_t ctx, void* dest, const void* source, size_t n, int pe) {
  put_bytes<Blocking::yes>(call, ctx, dest, source, bytes(n, kBytes), pe);
}

template <size_t kBytes>
ATOLL_INLINE void sized_get(Call call, shmem_ctx_t ctx, void* dest, const void* source, size_t n, int pe) {
  get_bytes(call, ctx, dest, source, bytes(n, kBytes), pe, Blocking::yes);
}

template <size_t kBytes>
ATOLL_INLINE void sized_put_nbi(Call call, shmem_ctx_t ctx, void* dest, const void* source, size_t n,
                                int pe) {
  put_bytes<Blocking::no>(call, ctx, dest, source, bytes(n, kBytes), pe);
}

template <size_t kBytes>
ATOLL_INLINE void sized_get_nbi(Call call, shmem_ctx_t ctx, void* dest, const void* source, size_t n,
                                int pe) {
  get_bytes(call, ctx, dest, source, bytes(n, kBytes), pe, Blocking::no);
}

template <size_t kBytes>
ATOLL_INLINE void sized_iput(Call call, shmem_ctx_t ctx, void* dest, const void* source, ptrdiff_t dst,
                             ptrdiff_t sst, size_t n, int pe) {
  put_strided(call, ctx, dest, source, strides_of(kBytes, 1, n, dst, sst), pe);
}

template <size_t kBytes>
ATOLL_INLINE void sized_iget(Call call, shmem_ctx_t ctx, void* dest, const void* source, ptrdiff_t dst,
                             ptrdiff_t sst, size_t n, int pe) {
  get_strided(call, ctx, dest, source, strides_of(kBytes, 1, n, dst, sst), pe);
}

template <size_t kBytes>
ATOLL_INLINE void sized_ibput(Call call, shmem_ctx_t ctx, void* dest, const void* source, ptrdiff_t dst,
                              ptrdiff_t sst, size_t bsize, size_t blocks, int pe) {
  put_strided(call, ctx, dest, source, strides_of(kBytes, bsize, blocks, dst, sst), pe);
}

template <size_t kBytes>
ATOLL_INLINE void sized_ibget(Call call, shmem_ctx_t ctx, void* dest, const void* source, ptrdiff_t dst,
                              ptrdiff_t sst, size_t bsize, size_t blocks, int pe) {
  get_strided(call, ctx, dest, source, strides_of(kBytes, bsize, blocks, dst, sst), pe);
}

template <size_t kBytes>
ATOLL_INLINE void sized_put_signal(Call call, shmem_ctx_t ctx, void* dest, const void* source, size_t n,
                                   uint64_t* signal, uint64_t value, int sig_op, int pe) {
  put_signal(call, ctx, dest, source, bytes(n, kBytes), signal, value, sig_op, pe, Blocking::yes);
}

template <size_t kBytes>
ATOLL_INLINE void sized_put_signal_nbi(Call call, shmem_ctx_t ctx, void* dest, const void* source, size_t n,
                                       uint64_t* signal, uint64_t value, int sig_op, int pe) {
  put_signal(call, ctx, dest, source, bytes(n, kBytes), signal, value, sig_op, pe, Blocking::no);
}

}  // namespace
}  // namespace shm::api

extern "C" {
ATOLL_OPS_RMA(ATOLL_CTX_ROW)
ATOLL_OPS_SIGNAL(ATOLL_CTX_ROW)
ATOLL_SIZED_RMA(ATOLL_SIZED_CTX_ROW)
ATOLL_SIZED_SIGNAL(ATOLL_SIZED_CTX_ROW)
}
