/* SPDX-License-Identifier: BSD-3-Clause */
/* Teams, active sets, contexts and locks over several lives of the library, some left for finalize to end
 * (semantics 3, 4). */
#include "coll_check.h"

static long sync_[SHMEM_REDUCE_SYNC_SIZE], lock, source, dest;

int main(void) {
  bound_time(60);
  for (int life = 0; life < 5; ++life) {
    shmem_init();
    const int me = shmem_my_pe(), np = shmem_n_pes();
    for (int i = 0; i < SHMEM_REDUCE_SYNC_SIZE; ++i) CHECK_AT(sync_, i, SHMEM_SYNC_VALUE);
    shmem_team_t team;
    CHECK_FOR(
        life,
        shmem_team_split_strided(SHMEM_TEAM_WORLD, np - 1, -1, np - life % 2 * (np > 1), NULL, 0, &team), 0);
    if (team != SHMEM_TEAM_INVALID) {
      const int n = shmem_team_n_pes(team);
      for (int round = 0; round < 20 + me; ++round) shmem_team_my_pe(team);
      for (int round = 0; round < 20; ++round) {
        source = me + round;
        CHECK_EQ(shmem_long_max_reduce(team, &dest, &source, 1), 0);
        CHECK_EQ(dest, np - 1 + round);
        CHECK_EQ(shmem_long_broadcast(team, &dest, &source, 1, n - 1), 0);
        CHECK_EQ(dest, np - n + round);
        shmem_team_sync(team);
      }
      shmem_ctx_t ctx;
      CHECK_EQ(shmem_team_create_ctx(team, 0, &ctx), 0);
      if (life % 3 == 0) shmem_team_destroy(team);
    }
    if (me < (np + 1) / 2) shmem_barrier(0, 0, (np + 1) / 2, sync_);
    shmem_set_lock(&lock);
    shmem_clear_lock(&lock);
    shmem_finalize();
  }
  return 0;
}
