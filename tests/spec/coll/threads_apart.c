/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads split different teams at the same time, and one of them comes late on one PE, as it makes another
 * team before: nobody waits in a circle (Semantics 38). */
#include <pthread.h>

#include "coll_check.h"

enum { kRounds = 3 };

static shmem_team_t first, second, own; /* of the first two PEs; of PE 1 alone */
static int me;

static void split_in(shmem_team_t parent, int size) {
  shmem_team_t child;
  CHECK_EQ(shmem_team_split_strided(parent, 0, 1, size, NULL, 0, &child), 0);
  CHECK_EQ(shmem_team_n_pes(child), size);
  shmem_team_sync(child);
  shmem_team_destroy(child);
}

/* While PE 0 waits for PE 1 in the other split. */
static void* split_first(void* argument) {
  usleep(30000);
  split_in(first, 2);
  return argument;
}

static void split_second(void) {
  if (me == 1) {
    usleep(90000);
    split_in(own, 1);
  }
  split_in(second, 2);
}

int main(void) {
  bound_time(60);
  int provided;
  CHECK_EQ(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided), 0);
  if (provided != SHMEM_THREAD_MULTIPLE) return 77;
  me = shmem_my_pe();
  const int two = shmem_n_pes() >= 2;
  if (two) {
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 2, NULL, 0, &first);
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 2, NULL, 0, &second);
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 1, 1, 1, NULL, 0, &own);
  }
  for (int round = 0; two && me < 2 && round < kRounds; ++round) {
    pthread_t other;
    CHECK_EQ(pthread_create(&other, NULL, split_first, NULL), 0);
    split_second();
    pthread_join(other, NULL);
  }
  shmem_finalize();
  return 0;
}
