/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads of a PE in collectives of the same active set, each with a pSync of its own, beside one that uses
 * the world team (Semantics 37, 38). */
#include <pthread.h>

#include "coll_check.h"

enum { kThreads = 3, kMost = 300 };

static long sync_[kThreads][2][SHMEM_REDUCE_SYNC_SIZE];
static long work_[kThreads][kMost];
static long source[kThreads][kMost], dest[kThreads][kMost];
static int me, np;

static void sum(int t, int round, int size, long* psync) {
  const int n = 1 + (round * 7) % (kMost - 1);
  for (int i = 0; i < n; ++i) source[t][i] = me + 1000 * t + round + i;
  shmem_long_sum_to_all(dest[t], source[t], n, 0, 0, size, work_[t], psync);
  for (int i = 0; i < n; ++i) {
    const long want = (long)size * (1000 * t + round + i) + (long)size * (size - 1) / 2;
    CHECK_AT(dest[t], i, want);
  }
  shmem_barrier(0, 0, size, psync);
}

static void* use_sets(void* argument) {
  const int t = *(const int*)argument;
  for (int round = 0; round < rounds(200, 30); ++round) {
    sum(t, round, np, sync_[t][0]);
    if (me < np - 1) sum(t, round, np - 1, sync_[t][1]);
  }
  return NULL;
}

int main(void) {
  bound_time(120);
  int provided;
  CHECK_EQ(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided), 0);
  if (provided != SHMEM_THREAD_MULTIPLE) return 77;
  me = shmem_my_pe();
  np = shmem_n_pes();
  for (int t = 0; t < kThreads; ++t)
    for (int k = 0; k < 2; ++k)
      for (int i = 0; i < SHMEM_REDUCE_SYNC_SIZE; ++i) sync_[t][k][i] = SHMEM_SYNC_VALUE;
  shmem_barrier_all();
  pthread_t threads[kThreads];
  int numbers[kThreads];
  for (int t = 0; t < kThreads; ++t) {
    numbers[t] = t;
    CHECK_EQ(pthread_create(&threads[t], NULL, use_sets, &numbers[t]), 0);
  }
  for (int round = 0; round < rounds(200, 30); ++round) {
    static long mine, all;
    mine = me + round;
    CHECK_EQ(shmem_long_max_reduce(SHMEM_TEAM_WORLD, &all, &mine, 1), 0);
    CHECK_EQ(all, np - 1 + round);
    shmem_free(shmem_malloc(8));
  }
  for (int t = 0; t < kThreads; ++t) pthread_join(threads[t], NULL);
  shmem_finalize();
  return 0;
}
