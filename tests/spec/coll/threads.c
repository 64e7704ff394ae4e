/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads of a PE, each with a team of its own: collectives on them, splits and contexts, all at once
 * (semantics 37, 38). */
#include <pthread.h>

#include "coll_check.h"

enum { kThreads = 4, kRounds = 150, kWords = 500 };

struct Worker {
  pthread_t thread;
  int number;
  shmem_team_t team;
  long *source, *dest;
};

static int np;

static void round_of(struct Worker* w, shmem_team_t team, int round, size_t n) {
  const int mine = shmem_team_my_pe(team), size = shmem_team_n_pes(team);
  const long base = w->number * 100000 + round * 100;
  for (size_t i = 0; i < n; ++i) w->source[i] = base + mine + (long)i;
  shmem_team_sync(team);
  CHECK_EQ(shmem_long_sum_reduce(team, w->dest, w->source, n), 0);
  for (size_t i = 0; i < n; ++i) CHECK_AT(w->dest, i, size * (base + (long)i) + (long)size * (size - 1) / 2);
  shmem_team_sync(team);
  CHECK_EQ(shmem_long_fcollect(team, w->dest, w->source, n), 0);
  for (int k = 0; k < size; ++k)
    for (size_t i = 0; i < n; ++i) CHECK_AT(w->dest, (size_t)k * n + i, base + k + (long)i);
  shmem_team_sync(team);
  CHECK_EQ(shmem_long_broadcast(team, w->dest, w->source, n, round % size), 0);
  for (size_t i = 0; i < n; ++i) CHECK_AT(w->dest, i, base + round % size + (long)i);
}

static void* work(void* argument) {
  struct Worker* w = argument;
  for (int round = 0; round < kRounds; ++round) {
    round_of(w, w->team, round, round % 10 == 0 ? kWords : (size_t)(round % 20));
    if (round % 25 != 0) continue;
    /* Threads split at the same time, from different parents. */
    shmem_team_t child;
    CHECK_EQ(shmem_team_split_strided(w->team, np - 1, -1, np, NULL, 0, &child), 0);
    round_of(w, child, round, 9);
    shmem_ctx_t ctx;
    CHECK_EQ(shmem_team_create_ctx(child, SHMEM_CTX_PRIVATE, &ctx), 0);
    shmem_ctx_long_p(ctx, w->dest, 1, shmem_team_my_pe(child));
    shmem_ctx_destroy(ctx);
    shmem_team_destroy(child);
  }
  return NULL;
}

int main(void) {
  bound_time(120);
  int provided;
  CHECK_EQ(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided), 0);
  if (provided != SHMEM_THREAD_MULTIPLE) return 77;
  np = shmem_n_pes();
  struct Worker workers[kThreads];
  for (int i = 0; i < kThreads; ++i) {
    workers[i].number = i;
    workers[i].source = shmem_malloc(kWords * sizeof(long));
    workers[i].dest = shmem_malloc(kWords * sizeof(long) * (size_t)np);
    CHECK_FOR(i, shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, np, NULL, 0, &workers[i].team), 0);
  }
  for (int i = 0; i < kThreads; ++i) CHECK_EQ(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
  for (int i = 0; i < kThreads; ++i) pthread_join(workers[i].thread, NULL);
  for (int i = 0; i < kThreads; ++i) shmem_team_destroy(workers[i].team);
  shmem_finalize();
  return 0;
}
