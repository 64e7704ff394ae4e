// SPDX-License-Identifier: BSD-3-Clause
// Collectives over active sets, deprecated in 1.5 (OpenSHMEM 1.6, section 9.10 and annex F).
#include "coll/active.hpp"

#include "api/coll_arguments.hpp"
#include "api/define.hpp"
#include "coll/barrier.hpp"
#include "core/order.hpp"

namespace shm::api {
namespace {

// ---- By element size

template <std::size_t kBytes>
void sized_alltoalls(Call call, void* dest, const void* source, std::ptrdiff_t dst, std::ptrdiff_t sst,
                     std::size_t n, int start, int log_stride, int size, long* psync) {
  ActiveSet set(call, {start, log_stride, size}, psync);
  const StridedBlocks to = blocks_of(call, kDestSide, dest, dst, kBytes, n, size);
  const StridedBlocks from = blocks_of(call, kSourceSide, source, sst, kBytes, n, size);
  alltoall(set.group(), call, to, from);
}

template <std::size_t kBytes>
void sized_alltoall(Call call, void* dest, const void* source, std::size_t n, int start, int log_stride,
                    int size, long* psync) {
  sized_alltoalls<kBytes>(call, dest, source, 1, 1, n, start, log_stride, size, psync);
}

// The root's own dest is left alone.
template <std::size_t kBytes>
void sized_broadcast(Call call, void* dest, const void* source, std::size_t n, int root, int start,
                     int log_stride, int size, long* psync) {
  ActiveSet set(call, {start, log_stride, size}, psync);
  const std::size_t bytes = bytes_of(call, n, kBytes);
  check_both(call, dest, bytes, source, bytes);
  checked_root(call, size, root);
  broadcast(set.group(), call, dest, source, bytes, root, false);
}

template <std::size_t kBytes>
void sized_collect(Call call, void* dest, const void* source, std::size_t n, int start, int log_stride,
                   int size, long* psync) {
  ActiveSet set(call, {start, log_stride, size}, psync);
  const std::size_t bytes = bytes_of(call, n, kBytes);
  check_both(call, dest, bytes, source, bytes);
  collect(set.group(), call, dest, source, bytes);
}

template <std::size_t kBytes>
void sized_fcollect(Call call, void* dest, const void* source, std::size_t n, int start, int log_stride,
                    int size, long* psync) {
  ActiveSet set(call, {start, log_stride, size}, psync);
  const std::size_t all = bytes_of(call, n, kBytes, static_cast<std::size_t>(size));
  check_both(call, dest, all, source, n * kBytes);
  fcollect(set.group(), call, dest, source, n * kBytes);
}

// ---- Reductions; the library has work arrays of its own

template <ReduceOp op, class T>
void to_all(Call call, T* dest, const T* source, int n, const Triplet& triplet, long* psync) {
  if (n < 0) fatal("%s: nreduce is %d; allowed is 0 and more", call.name, n);
  ActiveSet set(call, triplet, psync);
  const std::size_t bytes = bytes_of(call, static_cast<std::size_t>(n), sizeof(T));
  check_both(call, dest, bytes, source, bytes);
  reduce(set.group(), call, kReduction<op, T>, dest, source, static_cast<std::size_t>(n));
}

#define ATOLL_TO_ALL(NAME, OP)                                                                               \
  template <class T>                                                                                         \
  void _##NAME##_to_all(Call call, T* dest, const T* source, int n, int start, int log_stride, int size, T*, \
                        long* psync) {                                                                       \
    to_all<ReduceOp::OP>(call, dest, source, n, {start, log_stride, size}, psync);                           \
  }
ATOLL_TO_ALL(and, bit_and)
ATOLL_TO_ALL(or, bit_or)
ATOLL_TO_ALL(xor, bit_xor)
ATOLL_TO_ALL(max, max)
ATOLL_TO_ALL(min, min)
ATOLL_TO_ALL(sum, sum)
ATOLL_TO_ALL(prod, prod)
#undef ATOLL_TO_ALL

}  // namespace
}  // namespace shm::api

extern "C" {

void pshmem_sync(int start, int log_stride, int size, long* psync) {
  shm::ActiveSet set({"shmem_sync"}, {start, log_stride, size}, psync);
  shm::sync_group(set.group());
}

void pshmem_barrier(int start, int log_stride, int size, long* psync) {
  shm::ActiveSet set({"shmem_barrier"}, {start, log_stride, size}, psync);
  shm::quiet(shm::rt.world_context, {"shmem_barrier"});
  shm::sync_group(set.group());
}

ATOLL_ALIAS_(void, shmem_sync, (int start, int log_stride, int size, long* psync))
ATOLL_ALIAS_(void, shmem_barrier, (int start, int log_stride, int size, long* psync))

ATOLL_SIZED_ACTIVE(ATOLL_SIZED_ROW)
ATOLL_OPS_ACTIVE_REDUCE(ATOLL_ROW)

}  // extern "C"
