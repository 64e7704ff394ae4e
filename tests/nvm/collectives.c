/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives whose source, or dest, or both lie on NVM, of lengths around those that are staged at a time
 * (src/coll/staging.hpp), with fewer pages in memory than the arguments have; also in place, with gaps, by
 * members that bring nothing, and by two threads at once. */
#include <pthread.h>

#include "../spec/coll/coll_check.h"

enum {
  kStaged = 16384, /* words: of a vector at a time; half of that of a concatenation, and of a block */
  kMost = kStaged + 17,
  kMostPes = 5,
  kRoom = kMost * kMostPes + 1,
  kGap = -7 /* what is not to be written */
};

static long source_in_memory[kRoom], dest_in_memory[kRoom];
static long *source, *dest;
static int me, np, salt;

static long word(int pe, size_t i) { return salt * 1000003L + pe * 5003L + (long)i; }

/* For a result of n words. */
static void prepare(size_t n) {
  ++salt;
  for (size_t i = 0; i < n + 1; ++i) dest[i] = kGap;
}

static void fill(long* array, size_t n) {
  for (size_t i = 0; i < n; ++i) array[i] = word(me, i);
}

static void expect_concatenation(size_t n) {
  for (int pe = 0; pe < np; ++pe)
    for (size_t i = 0; i < n; ++i) CHECK_AT(dest, (size_t)pe * n + i, word(pe, i));
}

static void test_broadcast(size_t n) {
  for (int root = 0; root < np; root += np - 1) {
    prepare(n);
    fill(source, n);
    CHECK_EQ(shmem_long_broadcast(SHMEM_TEAM_WORLD, dest, source, n, root), 0);
    for (size_t i = 0; i < n; ++i) CHECK_AT(dest, i, word(root, i));
    CHECK_AT(dest, n, kGap);
  }
}

/* That of active sets leaves the root's dest alone. */
static void test_active_broadcast(size_t n) {
  static long psync[SHMEM_BCAST_SYNC_SIZE]; /* SHMEM_SYNC_VALUE is 0 */
  prepare(n);
  fill(source, n);
  shmem_broadcast64(dest, source, n, 1, 0, 0, np, psync);
  for (size_t i = 0; i < n; ++i) CHECK_AT(dest, i, me == 1 ? kGap : word(1, i));
  shmem_sync_all();
}

static void test_fcollect(size_t n) {
  prepare(n * (size_t)np);
  fill(source, n);
  CHECK_EQ(shmem_long_fcollect(SHMEM_TEAM_WORLD, dest, source, n), 0);
  expect_concatenation(n);
  CHECK_AT(dest, n * (size_t)np, kGap);
}

/* PE 0 brings nothing, from nowhere; the others bring unlike lengths. */
static void test_collect(size_t n) {
  prepare(n * (size_t)np);
  const size_t own = me == 0 ? 0 : n - (size_t)me % n;
  fill(source, own);
  CHECK_EQ(shmem_long_collect(SHMEM_TEAM_WORLD, dest, own == 0 ? NULL : source, own), 0);
  size_t k = 0;
  for (int pe = 1; pe < np; ++pe)
    for (size_t i = 0; i < n - (size_t)pe % n; ++i, ++k) CHECK_AT(dest, k, word(pe, i));
  CHECK_AT(dest, k, kGap);
}

static void expect_sums(const long* sums, size_t n, int end) {
  for (size_t i = 0; i < n; ++i) {
    const long pes = (long)end * (end - 1) / 2;
    CHECK_AT(sums, i, end * word(0, i) + pes * 5003);
  }
}

static void test_sums(size_t n, int in_place) {
  long* const to = in_place ? source : dest;
  for (int kind = 0; kind < 3; ++kind) {
    prepare(n);
    fill(source, n);
    check_context("kind %d of %zu words, in place: %d", kind, n, in_place);
    if (kind == 0) CHECK_EQ(shmem_long_sum_reduce(SHMEM_TEAM_WORLD, to, source, n), 0);
    if (kind == 1) CHECK_EQ(shmem_long_sum_inscan(SHMEM_TEAM_WORLD, to, source, n), 0);
    if (kind == 2) CHECK_EQ(shmem_long_sum_exscan(SHMEM_TEAM_WORLD, to, source, n), 0);
    expect_sums(to, n, kind == 0 ? np : kind == 1 ? me + 1 : me);
    if (!in_place) CHECK_AT(dest, n, kGap);
  }
}

/* Elements of another size. */
static void test_long_double(void) {
  enum { kElements = kMost / 2 };
  long double *const from = (long double*)source, *const to = (long double*)dest;
  ++salt;
  for (size_t i = 0; i < kElements; ++i) from[i] = (long double)word(me, i);
  CHECK_EQ(shmem_longdouble_max_reduce(SHMEM_TEAM_WORLD, to, from, kElements), 0);
  for (size_t i = 0; i < kElements; ++i) CHECK_AT(to, i, (long double)word(np - 1, i));
}

static void test_alltoall(size_t n) {
  prepare(n * (size_t)np);
  fill(source, n * (size_t)np);
  CHECK_EQ(shmem_long_alltoall(SHMEM_TEAM_WORLD, dest, source, n), 0);
  for (int pe = 0; pe < np; ++pe)
    for (size_t i = 0; i < n; ++i) CHECK_AT(dest, (size_t)pe * n + i, word(pe, (size_t)me * n + i));
  CHECK_AT(dest, n * (size_t)np, kGap);
}

static void test_alltoalls(size_t n, size_t to_step, size_t from_step) {
  const size_t all = n * (size_t)np;
  prepare(all * to_step);
  fill(source, all * from_step);
  CHECK_EQ(shmem_long_alltoalls(SHMEM_TEAM_WORLD, dest, source, (ptrdiff_t)to_step, (ptrdiff_t)from_step, n),
           0);
  for (size_t i = 0; i < all * to_step; ++i) {
    const size_t element = i / to_step, from = (size_t)me * n + element % n;
    CHECK_AT(dest, i, i % to_step != 0 ? kGap : word((int)(element / n), from * from_step));
  }
}

static void test_all(void) {
  static const size_t sizes[] = {1, 15, kStaged, kMost};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s) {
    check_context("%zu words, dest on NVM: %d, source: %d", sizes[s], dest != dest_in_memory,
                  source != source_in_memory);
    test_broadcast(sizes[s]);
    test_active_broadcast(sizes[s]);
    test_fcollect(sizes[s]);
    test_collect(sizes[s]);
    test_sums(sizes[s], 0);
    test_sums(sizes[s], 1);
  }
  test_long_double();
  static const size_t blocks[] = {3, kStaged / 8, kStaged / 2 + 1};
  for (size_t s = 0; s < sizeof blocks / sizeof *blocks; ++s) {
    check_context("blocks of %zu words, dest on NVM: %d, source: %d", blocks[s], dest != dest_in_memory,
                  source != source_in_memory);
    test_alltoall(blocks[s]);
    test_alltoalls(blocks[s], 1, 2);
    test_alltoalls(blocks[s], 2, 1);
  }
}

/* Each with a team and with staging memory of its own. */
struct Worker {
  pthread_t thread;
  shmem_team_t team;
  long *source, *dest;
  int number;
};

static void* work(void* argument) {
  enum { kRounds = 3 };
  struct Worker* w = argument;
  for (long round = 0; round < kRounds; ++round) {
    const long base = w->number * 1000003L + round * 1009;
    for (size_t i = 0; i < kMost; ++i) w->source[i] = base + me + (long)i;
    CHECK_EQ(shmem_long_sum_reduce(w->team, w->dest, w->source, kMost), 0);
    for (size_t i = 0; i < kMost; ++i) CHECK_AT(w->dest, i, np * (base + (long)i) + (long)np * (np - 1) / 2);
  }
  return NULL;
}

static void test_threads(void) {
  struct Worker workers[2];
  for (int i = 0; i < 2; ++i) {
    workers[i].number = i;
    workers[i].source = shmem_malloc(kMost * sizeof(long));
    workers[i].dest = shmem_malloc(kMost * sizeof(long));
    workers[i].team = split(0, 1, np, SHMEM_TEAM_INVALID);
  }
  for (int i = 0; i < 2; ++i) CHECK_EQ(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
  for (int i = 0; i < 2; ++i) pthread_join(workers[i].thread, NULL);
  for (int i = 0; i < 2; ++i) shmem_team_destroy(workers[i].team);
}

int main(void) {
  bound_time(280);
  int provided;
  CHECK_EQ(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided), 0);
  me = shmem_my_pe();
  np = shmem_n_pes();
  CHECK_CMP(np, <=, kMostPes);
  long* const source_on_nvm = shmem_malloc(sizeof source_in_memory);
  long* const dest_on_nvm = shmem_malloc(sizeof dest_in_memory);
  for (int ends = 1; ends < 4; ++ends) {
    source = (ends & 1) != 0 ? source_on_nvm : source_in_memory;
    dest = (ends & 2) != 0 ? dest_on_nvm : dest_in_memory;
    test_all();
  }
  if (provided == SHMEM_THREAD_MULTIPLE) test_threads();
  shmem_finalize();
  return 0;
}
