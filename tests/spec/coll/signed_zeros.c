/* SPDX-License-Identifier: BSD-3-Clause */
/* Scans add nothing of their own: sums of -0 are -0; the sum of nobody is 0. */
#include <math.h>

#include "coll_check.h"

enum { kMost = 40000 };

static double source[kMost], dest[kMost];
static float source_f[3], dest_f[3];
static long double source_l[3], dest_l[3];

static void scan(shmem_team_t team, size_t n) {
  const int mine = shmem_team_my_pe(team);
  for (size_t i = 0; i < n; ++i) source[i] = i % 2 == 0 ? -0.0 : 0.0, dest[i] = 1;
  shmem_team_sync(team);
  CHECK_EQ(shmem_double_sum_inscan(team, dest, source, n), 0);
  for (size_t i = 0; i < n; ++i) {
    CHECK_AT(dest, i, 0.0);
    CHECK_FOR(i, signbit(dest[i]) != 0, i % 2 == 0);
  }
  shmem_team_sync(team);
  CHECK_EQ(shmem_double_sum_exscan(team, dest, source, n), 0);
  for (size_t i = 0; i < n; ++i) {
    CHECK_AT(dest, i, 0.0);
    CHECK_FOR(i, signbit(dest[i]) != 0, mine > 0 && i % 2 == 0);
  }
}

static void scan_other_types(void) {
  for (int i = 0; i < 3; ++i) source_f[i] = -0.0F, source_l[i] = -0.0L;
  shmem_barrier_all();
  CHECK_EQ(shmem_float_sum_inscan(SHMEM_TEAM_WORLD, dest_f, source_f, 3), 0);
  CHECK_EQ(shmem_longdouble_sum_inscan(SHMEM_TEAM_WORLD, dest_l, source_l, 3), 0);
  for (int i = 0; i < 3; ++i) CHECK_FOR(i, signbit(dest_f[i]) != 0 && signbit(dest_l[i]) != 0, 1);
}

int main(void) {
  const size_t sizes[] = {1, 5, 1000, kMost};
  bound_time(120);
  shmem_init();
  const int np = shmem_n_pes();
  shmem_team_t reversed;
  CHECK_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, np - 1, -1, np, NULL, 0, &reversed), 0);
  for (int s = 0; s < 4; ++s) {
    check_context("%zu elements", sizes[s]);
    scan(SHMEM_TEAM_WORLD, sizes[s]);
    scan(reversed, sizes[s]);
  }
  scan_other_types();
  shmem_team_destroy(reversed);
  shmem_finalize();
  return 0;
}
