/* SPDX-License-Identifier: BSD-3-Clause */
/* Semantics 113, 114, 123: a member fills its source just before it enters, long after the others have, and
 * uses it for something else as soon as it is out.  Whoever reads it too early or too late gets a wrong word.
 */
#include "coll_check.h"

enum { kRounds = 4, kMost = 3000 };

static long *source, *dest;
static int me, np;

static long at(int round, int pe, size_t i) { return round * 1000003L + pe * 5003L + (long)i; }

/* Collectives on the team; what is in dest is checked by the next function. */
static void call(int kind, shmem_team_t team, size_t n, int root) {
  switch (kind) {
    case 0: shmem_long_broadcast(team, dest, source, n, root); break;
    case 1: shmem_long_fcollect(team, dest, source, n); break;
    case 2: shmem_long_collect(team, dest, source, n); break;
    case 3: shmem_long_alltoall(team, dest, source, n); break;
    case 4: shmem_long_sum_reduce(team, dest, source, n); break;
    case 5: shmem_long_sum_inscan(team, dest, source, n); break;
    default: shmem_long_sum_exscan(team, dest, source, n); break;
  }
}

static void expect(int kind, int round, size_t n, int root) {
  for (size_t i = 0; i < n; ++i) {
    long sum = 0;
    const int end = kind == 5 ? me + 1 : kind == 6 ? me : np;
    for (int pe = 0; pe < end; ++pe) sum += at(round, pe, i);
    if (kind == 0) sum = at(round, root, i);
    for (int pe = 0; pe < np && kind >= 1 && kind <= 3; ++pe) {
      const long want = kind == 3 ? at(round, pe, (size_t)me * n + i) : at(round, pe, i);
      CHECK_AT(dest, (size_t)pe * n + i, want);
    }
    if (kind == 0 || kind > 3) CHECK_AT(dest, i, sum);
  }
}

static void late_entry(int kind, shmem_team_t team, size_t n) {
  const size_t all = kind == 3 ? n * (size_t)np : n;
  for (int round = 0; round < kRounds; ++round) {
    for (size_t i = 0; i < all; ++i) source[i] = -1;
    shmem_team_sync(team); /* dest is ready everywhere; source is not */
    if ((round + kind) % np == me) usleep(300);
    for (size_t i = 0; i < all; ++i) source[i] = at(round, me, i);
    check_context("kind %d, round %d, %zu words", kind, round, n);
    call(kind, team, n, (round / 2) % np);
    for (size_t i = 0; i < all; ++i) source[i] = -2;
    expect(kind, round, n, (round / 2) % np);
    shmem_team_sync(team);
  }
}

/* Nothing, from nowhere to nowhere, but by all. */
static void nothing(shmem_team_t team) {
  for (int kind = 0; kind < 7; ++kind) {
    long *const kept_source = source, *const kept_dest = dest;
    source = dest = NULL;
    call(kind, team, 0, 0);
    source = kept_source, dest = kept_dest;
  }
  CHECK_EQ(shmem_long_alltoalls(team, NULL, NULL, 1, 1, 0), 0);
  CHECK_EQ(shmem_long_alltoalls(team, NULL, NULL, 0, -1, 0), 0); /* no elements, no strides */
  CHECK_EQ(shmem_broadcastmem(team, NULL, NULL, 0, np - 1), 0);
  CHECK_EQ(shmem_ulong_xor_reduce(team, NULL, NULL, 0), 0);
  CHECK_EQ(shmem_team_sync(team), 0);
}

int main(void) {
  static const size_t sizes[] = {1, 200, kMost};
  bound_time(120);
  shmem_init();
  const size_t room = (size_t)kMost * (size_t)shmem_n_pes() * sizeof(long);
  source = shmem_malloc(room);
  dest = shmem_malloc(room);
  shmem_team_t teams[2] = {SHMEM_TEAM_WORLD, split(shmem_n_pes() - 1, -1, shmem_n_pes(), SHMEM_TEAM_INVALID)};
  for (int t = 0; t < 2; ++t) {
    me = shmem_team_my_pe(teams[t]);
    np = shmem_team_n_pes(teams[t]);
    nothing(teams[t]);
    for (int s = 0; s < 3 - t; ++s)
      for (int kind = 0; kind < 7; ++kind) late_entry(kind, teams[t], sizes[s]);
  }
  shmem_team_destroy(teams[1]);
  shmem_finalize();
  return 0;
}
