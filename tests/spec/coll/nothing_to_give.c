/* SPDX-License-Identifier: BSD-3-Clause */
/* A member of a collect that gives nothing may pass NULL as its source, whatever the others give (annex C).
 */
#include "coll_check.h"

enum { kMost = 70000 };

static long sync_[2][SHMEM_COLLECT_SYNC_SIZE];
static char source[kMost], dest[8 * kMost];
static int me, np;

/* Member `without` of the team gives nothing, the others n bytes. */
static void collect_without(shmem_team_t team, int without, size_t n) {
  const int mine = shmem_team_my_pe(team), size = shmem_team_n_pes(team);
  for (size_t i = 0; i < n; ++i) source[i] = (char)(7 * mine + (int)i);
  memset(dest, -1, n * (size_t)size);
  shmem_team_sync(team);
  const int gives = mine != without;
  CHECK_EQ(shmem_collectmem(team, dest, gives ? source : NULL, gives ? n : 0), 0);
  size_t at = 0;
  for (int member = 0; member < size; ++member) {
    for (size_t i = 0; member != without && i < n; ++i, ++at) CHECK_AT(dest, at, (char)(7 * member + (int)i));
  }
  shmem_team_sync(team);
}

static void active_set_without(int without, int turn) {
  enum { kWords = 1000 };
  long *from = (long*)source, *to = (long*)dest;
  for (int i = 0; i < kWords; ++i) from[i] = 10 * me + i;
  shmem_barrier_all();
  const int gives = me != without;
  shmem_collect64(to, gives ? from : NULL, gives ? kWords : 0, 0, 0, np, sync_[turn % 2]);
  int at = 0;
  for (int pe = 0; pe < np; ++pe)
    for (int i = 0; pe != without && i < kWords; ++i, ++at) CHECK_AT(to, at, 10 * pe + i);
}

int main(void) {
  const size_t sizes[] = {1, 100, 5000, kMost};
  bound_time(120);
  shmem_init();
  me = shmem_my_pe();
  np = shmem_n_pes();
  for (int i = 0; i < SHMEM_COLLECT_SYNC_SIZE; ++i) sync_[0][i] = sync_[1][i] = SHMEM_SYNC_VALUE;
  shmem_barrier_all();
  shmem_team_t reversed;
  CHECK_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, np - 1, -1, np, NULL, 0, &reversed), 0);
  for (int without = 0; without < np; ++without) {
    for (int s = 0; s < 4; ++s) {
      check_context("%zu bytes, nothing of member %d", sizes[s], without);
      collect_without(SHMEM_TEAM_WORLD, without, sizes[s]);
      collect_without(reversed, without, sizes[s]);
    }
    active_set_without(without, without);
  }
  shmem_team_destroy(reversed);
  shmem_finalize();
  return 0;
}
