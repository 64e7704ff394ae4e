/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives over every active set of the job (semantics 111, 114-118, 126-129). */
#include <limits.h>

#include "coll_check.h"

enum { kWords = 600, kSets = 4 };

static long sync_[kSets][SHMEM_REDUCE_SYNC_SIZE]; /* Semantics 127: in turn */
static int used;
static long *source, *dest;
static int me, np;

static long* next_sync(void) { return sync_[used++ % kSets]; }

static void check_restored(void) {
  for (int s = 0; s < kSets; ++s)
    for (int i = 0; i < SHMEM_REDUCE_SYNC_SIZE; ++i) CHECK_AT(sync_[s], i, SHMEM_SYNC_VALUE);
}

/* A barrier on a pSync of its own before buffers are used again. */
static long barrier_sync[SHMEM_BARRIER_SYNC_SIZE];
static void settle(int start, int log, int size) { shmem_barrier(start, log, size, barrier_sync); }

static void test_set(int start, int log, int size, size_t n) {
  const int mine = (me - start) >> log;
  if (n == 0) return;
  for (int root = 0; root < size; ++root) { /* Semantics 116, 126 */
    for (size_t i = 0; i < n; ++i) source[i] = mine * 100 + (long)i, dest[i] = -1;
    settle(start, log, size);
    shmem_broadcast64(dest, source, n, root, start, log, size, next_sync());
    for (size_t i = 0; i < n; ++i) CHECK_AT(dest, i, mine == root ? -1 : root * 100 + (long)i);
  }
  int *source32 = (int*)source, *dest32 = (int*)dest;
  settle(start, log, size);
  for (size_t i = 0; i < n * (size_t)size; ++i) source32[i] = mine * 100 + (int)i, dest32[i] = -1;
  settle(start, log, size);
  shmem_alltoall32(dest32, source32, n, start, log, size, next_sync());
  for (int k = 0; k < size; ++k)
    for (size_t i = 0; i < n; ++i) CHECK_AT(dest32, (size_t)k * n + i, k * 100 + (int)((size_t)mine * n + i));
  settle(start, log, size);
  shmem_fcollect32(dest32, source32, n, start, log, size, next_sync());
  for (int k = 0; k < size; ++k)
    for (size_t i = 0; i < n; ++i) CHECK_AT(dest32, (size_t)k * n + i, k * 100 + (int)i);
  settle(start, log, size);
  for (size_t i = 0; i < n + (size_t)mine; ++i) source[i] = mine * 100 + (long)i;
  shmem_collect64(dest, source, n + (size_t)mine, start, log, size, next_sync());
  size_t at = 0;
  for (int k = 0; k < size; ++k)
    for (size_t i = 0; i < n + (size_t)k; ++i, ++at) CHECK_AT(dest, at, k * 100 + (long)i);
  settle(start, log, size);
  for (size_t i = 0; i < n * 2 * (size_t)size; ++i) source[i] = mine * 100 + (long)i, dest[i] = -1;
  settle(start, log, size);
  shmem_alltoalls64(dest, source, 2, 1, n, start, log, size, next_sync());
  for (size_t i = 0; i < n * (size_t)size; ++i) {
    CHECK_AT(dest, 2 * i, (long)(i / n) * 100 + (long)((size_t)mine * n + i % n));
    CHECK_AT(dest, 2 * i + 1, -1);
  }
  settle(start, log, size);
}

/* The other element size of each. */
static void test_other_sizes(int start, int log, int size, size_t n) {
  const int mine = (me - start) >> log;
  int *source32 = (int*)source, *dest32 = (int*)dest;
  for (size_t i = 0; i < n; ++i) source32[i] = mine * 100 + (int)i, dest32[i] = -1;
  settle(start, log, size);
  shmem_broadcast32(dest32, source32, n, size - 1, start, log, size, next_sync());
  for (size_t i = 0; i < n; ++i) CHECK_AT(dest32, i, mine == size - 1 ? -1 : (size - 1) * 100 + (int)i);
  settle(start, log, size);
  const size_t own = n + (size_t)mine; /* Semantics 117: not the same for all */
  for (size_t i = 0; i < own; ++i) source32[i] = mine * 100 + (int)i;
  settle(start, log, size);
  shmem_collect32(dest32, source32, own, start, log, size, next_sync());
  size_t at = 0;
  for (int k = 0; k < size; ++k)
    for (size_t i = 0; i < n + (size_t)k; ++i, ++at) CHECK_AT(dest32, at, k * 100 + (int)i);
  settle(start, log, size);
  for (size_t i = 0; i < 2 * n * (size_t)size; ++i) source32[i] = mine * 1000 + (int)i, dest32[i] = -1;
  settle(start, log, size);
  shmem_alltoalls32(dest32, source32, 1, 2, n, start, log, size, next_sync());
  for (size_t i = 0; i < n * (size_t)size; ++i)
    CHECK_AT(dest32, i, (int)(i / n) * 1000 + 2 * (int)((size_t)mine * n + i % n));
  settle(start, log, size);
  for (size_t i = 0; i < n * (size_t)size; ++i) source[i] = mine * 1000 + (long)i;
  settle(start, log, size);
  shmem_fcollect64(dest, source, n, start, log, size, next_sync());
  for (size_t i = 0; i < n * (size_t)size; ++i) CHECK_AT(dest, i, (long)(i / n) * 1000 + (long)(i % n));
  settle(start, log, size);
  shmem_alltoall64(dest, source, n, start, log, size, next_sync());
  for (size_t i = 0; i < n * (size_t)size; ++i)
    CHECK_AT(dest, i, (long)(i / n) * 1000 + (long)((size_t)mine * n + i % n));
  settle(start, log, size);
}

#define REDUCE(T, NAME, OP, WANT)                                                  \
  do {                                                                             \
    static T in[7], out[7], work[SHMEM_REDUCE_MIN_WRKDATA_SIZE];                   \
    for (int i = 0; i < 7; ++i) in[i] = (T)(mine + i + 1);                         \
    settle(start, log, size);                                                      \
    shmem_##NAME##_##OP##_to_all(out, in, 7, start, log, size, work, next_sync()); \
    shmem_##NAME##_##OP##_to_all(in, in, 7, start, log, size, work, next_sync());  \
    for (int i = 0; i < 7; ++i) {                                                  \
      const T first = (T)(i + 1), last = (T)(size + i);                            \
      (void)first, (void)last;                                                     \
      CHECK_AT(out, i, (T)(WANT));                                                 \
      CHECK_AT(in, i, (T)(WANT));                                                  \
    }                                                                              \
    settle(start, log, size);                                                      \
  } while (0)

static long bits(int op, int i, int size) {
  long want = i + 1;
  for (int k = 1; k < size; ++k)
    want = op == 0 ? want & (k + i + 1) : op == 1 ? want | (k + i + 1) : want ^ (k + i + 1);
  return want;
}

static long product(int i, int size) {
  long want = 1;
  for (int k = 0; k < size; ++k) want *= k + i + 1;
  return want;
}

#define ORDER(T, NAME)                             \
  REDUCE(T, NAME, max, last);                      \
  REDUCE(T, NAME, min, first);                     \
  REDUCE(T, NAME, sum, (first + last) * size / 2); \
  if (size <= 4) REDUCE(T, NAME, prod, product(i, size))
#define BITS(T, NAME)                     \
  REDUCE(T, NAME, and, bits(0, i, size)); \
  REDUCE(T, NAME, or, bits(1, i, size));  \
  REDUCE(T, NAME, xor, bits(2, i, size))

/* Semantics 128, 129 */
static void test_reductions(int start, int log, int size) {
  const int mine = (me - start) >> log;
  BITS(short, short);
  BITS(int, int);
  BITS(long, long);
  BITS(long long, longlong);
  ORDER(short, short);
  ORDER(int, int);
  ORDER(long, long);
  ORDER(long long, longlong);
  ORDER(float, float);
  ORDER(double, double);
  ORDER(long double, longdouble);
  REDUCE(float _Complex, complexf, sum, (first + last) * size / 2);
  REDUCE(double _Complex, complexd, sum, (first + last) * size / 2);
  if (size <= 4) REDUCE(float _Complex, complexf, prod, product(i, size));
  if (size <= 4) REDUCE(double _Complex, complexd, prod, product(i, size));
}

/* Semantics 110, 111: barrier completes puts, and consecutive barriers may use one pSync. */
static void test_barrier(int start, int log, int size) {
  const int mine = (me - start) >> log, to = start + ((mine + 1) % size << log);
  static long word;
  for (long turn = 1; turn < 20; ++turn) {
    shmem_long_p(&word, turn, to);
    shmem_barrier(start, log, size, barrier_sync);
    CHECK_EQ(word, turn);
    shmem_sync(start, log, size, barrier_sync);
  }
}

/* A set of one has no use for its stride, whatever it is. */
static void test_longest_stride(void) {
  shmem_sync(me, 30, 1, barrier_sync);
  shmem_barrier(me, 31, 1, barrier_sync);
  shmem_sync(me, INT_MAX, 1, barrier_sync);
}

int main(void) {
  bound_time(120);
  shmem_init();
  me = shmem_my_pe();
  np = shmem_n_pes();
  if (np > 8) bound_time(480); /* nearly four times as many sets as 8 PEs have, and more PEs for each core */
  test_longest_stride();
  source = shmem_malloc(sizeof(long) * 2 * (kWords + 64) * (size_t)np);
  dest = shmem_malloc(sizeof(long) * 2 * (kWords + 64) * (size_t)np);
  for (int start = 0; start < np; ++start) {
    for (int log = 0; log < 3; ++log) {
      for (int size = 1; start + ((size - 1) << log) < np; ++size) {
        const int member = me >= start && (me - start) % (1 << log) == 0 && (me - start) >> log < size;
        used = 0; /* members of a set pass the same array */
        if (member) {
          test_barrier(start, log, size);
          check_context("active set %d, %d, %d", start, log, size);
          test_set(start, log, size, 0);
          test_set(start, log, size, 1);
          test_set(start, log, size, 17);
          test_set(start, log, size, kWords);
          test_other_sizes(start, log, size, 1);
          test_other_sizes(start, log, size, 90);
          test_reductions(start, log, size);
        }
        shmem_barrier_all();
        check_restored();
        shmem_barrier_all();
      }
    }
  }
  shmem_finalize();
  return 0;
}
