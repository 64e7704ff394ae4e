/* SPDX-License-Identifier: BSD-3-Clause */
/* Vectors of up to some MiB, which travel in pieces and by several PEs of a node: every call, in place where
 * that is allowed, on teams in and out of the order of the nodes (semantics 112, 118 to 129). */
#include "coll_check.h"

enum { kMost = 300001 };

static int me, np;
static shmem_team_t team;
static long *source, *dest;

static long at(int pe, size_t i) { return (long)((unsigned)(pe * 7919 + (int)(i % 65521) * 31) % 100003); }

static void fill(size_t n) {
  shmem_team_sync(team); /* all have looked at what was there */
  for (size_t i = 0; i < n; ++i) source[i] = at(me, i);
  for (size_t i = 0; i < n; ++i) dest[i] = -1;
}

/* On return from a call the caller's source is the caller's (semantics 114). */
static void overwrite(size_t n) {
  for (size_t i = 0; i < n; ++i) source[i] = -2;
}

static void reductions(size_t n) {
  for (int in_place = 0; in_place < 2; ++in_place) {
    fill(n);
    long* to = in_place ? source : dest;
    CHECK_EQ(shmem_long_sum_reduce(team, to, source, n), 0);
    if (!in_place) overwrite(n);
    for (size_t i = 0; i < n; ++i) {
      long want = 0;
      for (int pe = 0; pe < np; ++pe) want += at(pe, i);
      CHECK_AT(to, i, want);
    }
  }
}

static void scans(size_t n) {
  for (int kind = 0; kind < 4; ++kind) {
    fill(n);
    long* to = kind & 1 ? source : dest;
    const int inclusive = kind & 2;
    if (inclusive) {
      shmem_long_sum_inscan(team, to, source, n);
    } else {
      shmem_long_sum_exscan(team, to, source, n);
    }
    if (to != source) overwrite(n);
    for (size_t i = 0; i < n; ++i) {
      long want = 0;
      for (int pe = 0; pe < me + (inclusive != 0); ++pe) want += at(pe, i);
      CHECK_AT(to, i, want);
    }
  }
}

static void broadcasts(size_t n) {
  for (int root = 0; root<np; root += np> 2 ? np - 1 : 1) {
    fill(n);
    CHECK_OF_PE(root, shmem_long_broadcast(team, dest, source, n, root), 0);
    overwrite(n);
    for (size_t i = 0; i < n; ++i) CHECK_AT(dest, i, at(root, i));
  }
}

static void collections(size_t n) {
  fill(n);
  CHECK_EQ(shmem_long_fcollect(team, dest, source, n), 0);
  overwrite(n);
  for (int pe = 0; pe < np; ++pe) {
    for (size_t i = 0; i < n; ++i) CHECK_AT(dest, (size_t)pe * n + i, at(pe, i));
  }
  fill(n);
  size_t k = 0;
  CHECK_EQ(shmem_long_collect(team, dest, source, n - (size_t)me), 0);
  overwrite(n);
  for (int pe = 0; pe < np; ++pe) {
    for (size_t i = 0; i < n - (size_t)pe; ++i, ++k) CHECK_AT(dest, k, at(pe, i));
  }
}

static void exchanges(size_t n) {
  const size_t each = n / (size_t)np;
  fill(n);
  CHECK_EQ(shmem_long_alltoall(team, dest, source, each), 0);
  overwrite(n);
  for (int pe = 0; pe < np; ++pe) {
    for (size_t i = 0; i < each; ++i) CHECK_AT(dest, (size_t)pe * each + i, at(pe, (size_t)me * each + i));
  }
  const size_t half = each / 2;
  fill(n);
  CHECK_EQ(shmem_long_alltoalls(team, dest, source, 1, 2, half), 0);
  overwrite(n);
  for (int pe = 0; pe < np; ++pe) {
    for (size_t i = 0; i < half; ++i)
      CHECK_AT(dest, (size_t)pe * half + i, at(pe, ((size_t)me * half + i) * 2));
  }
}

int main(void) {
  static const size_t sizes[] = {100, 2500, 5001, 17000, kMost};
  bound_time(240);
  shmem_init();
  const size_t all = (size_t)shmem_n_pes();
  source = shmem_malloc(kMost * sizeof(long));
  dest = shmem_malloc(kMost * sizeof(long) * all);
  CHECK(source != NULL);
  CHECK(dest != NULL);
  shmem_team_t teams[kTeams];
  const int count = make_teams(teams);
  for (int t = 0; t < count; ++t) {
    if ((team = teams[t]) == SHMEM_TEAM_INVALID) continue;
    me = shmem_team_my_pe(team);
    np = shmem_team_n_pes(team);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s) {
      check_context("team of %d, %zu words", np, sizes[s]);
      reductions(sizes[s]);
      scans(sizes[s]);
      broadcasts(sizes[s]);
      collections(sizes[s]);
      exchanges(sizes[s]);
    }
  }
  shmem_barrier_all();
  destroy_teams(teams, count);
  shmem_finalize();
  return 0;
}
