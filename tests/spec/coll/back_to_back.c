/* SPDX-License-Identifier: BSD-3-Clause */
/* Many collective calls in a row without synchronization, with PEs that come late now and then (semantics
 * 53, 112-115). Each call has buffers of its own, as dest must be ready on all PEs before one enters. */
#include "coll_check.h"

enum { kWords = 1024 };

static int calls; /* in a row: more than a PE may be ahead of the slowest (src/coll/internal.hpp) */
static long *source, *dest, *many;

static void late(int me, int round) {
  if ((round + me) % 16 == 0) usleep(300);
}

static void broadcasts(shmem_team_t team, size_t n) {
  const int me = shmem_team_my_pe(team), np = shmem_team_n_pes(team);
  for (int fixed = 0; fixed < 2; ++fixed) {
    for (size_t i = 0; i < (size_t)calls * n; ++i) source[i] = me * 1000 + (long)i, dest[i] = -1;
    shmem_team_sync(team);
    for (int r = 0; r < calls; ++r) {
      late(me, r);
      shmem_long_broadcast(team, dest + r * n, source + r * n, n, fixed ? 0 : r % np);
      for (size_t i = 0; i < n; ++i) source[r * n + i] = -7; /* Semantics 114: reusable at once */
    }
    for (int r = 0; r < calls; ++r)
      for (size_t i = 0; i < n; ++i)
        CHECK_AT(dest, r * n + i, (fixed ? 0 : r % np) * 1000 + (long)(r * n + i));
    shmem_team_sync(team);
  }
}

static void mixed(shmem_team_t team, size_t n) {
  const int me = shmem_team_my_pe(team), np = shmem_team_n_pes(team);
  const size_t width = n * (size_t)np;
  for (size_t i = 0; i < (size_t)calls * width; ++i) source[i] = me * 7 + (long)i, many[i] = -1;
  shmem_team_sync(team);
  for (int r = 0; r < calls; ++r) {
    late(me, r);
    const size_t at = (size_t)r * width;
    switch (r % 6) {
      case 0: shmem_long_sum_reduce(team, many + at, source + at, n); break;
      case 1: shmem_long_fcollect(team, many + at, source + at, n); break;
      case 2: shmem_long_alltoall(team, many + at, source + at, n); break;
      case 3: shmem_long_collect(team, many + at, source + at, n); break;
      case 4: shmem_long_sum_inscan(team, many + at, source + at, n); break;
      default: shmem_long_broadcast(team, many + at, source + at, n, r % np); break;
    }
    for (size_t i = 0; i < width; ++i) source[at + i] = -7;
  }
  for (int r = 0; r < calls; ++r) {
    const size_t at = (size_t)r * width;
    for (size_t i = 0; i < n; ++i) {
      const long base = (long)(at + i);
      switch (r % 6) {
        case 0: CHECK_AT(many, at + i, np * base + 7L * np * (np - 1) / 2); break;
        case 1:
        case 3:
          for (int pe = 0; pe < np; ++pe) CHECK_AT(many, at + pe * n + i, base + pe * 7);
          break;
        case 2:
          for (int pe = 0; pe < np; ++pe) CHECK_AT(many, at + pe * n + i, base + (long)(me * n) + pe * 7);
          break;
        case 4: CHECK_AT(many, at + i, (me + 1) * base + 7L * me * (me + 1) / 2); break;
        default: CHECK_AT(many, at + i, base + r % np * 7); break;
      }
    }
  }
  shmem_team_sync(team);
}

int main(void) {
  bound_time(120);
  shmem_init();
  calls = nodes_of_run() > 1 ? 24 : 64;
  const size_t bytes = (size_t)calls * kWords * (size_t)shmem_n_pes() * sizeof(long);
  source = shmem_malloc(bytes);
  dest = shmem_malloc(bytes);
  many = shmem_malloc(bytes);
  CHECK(source != NULL);
  CHECK(dest != NULL);
  CHECK(many != NULL);
  shmem_team_t teams[kTeams];
  const int count = make_teams(teams);
  static const size_t sizes[] = {1, 14, 15, 300, kWords};
  for (int t = 0; t < count; ++t) {
    for (int s = 0; teams[t] != SHMEM_TEAM_INVALID && s < 5; ++s) {
      check_context("team %d, %zu words", t, sizes[s]);
      broadcasts(teams[t], sizes[s]);
      mixed(teams[t], sizes[s]);
    }
    shmem_sync_all();
  }
  destroy_teams(teams, count);
  shmem_finalize();
  return 0;
}
