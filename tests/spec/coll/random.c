/* SPDX-License-Identifier: BSD-3-Clause */
/* Random collective calls on random teams with random arguments, compared with what one PE alone computes.
 * All PEs draw the same numbers; the seed is printed if something is wrong, and is the first argument to
 * repeat it. */
#include <time.h>

#include "coll_check.h"

enum { kMax = 12000 };

static unsigned long seed;
static long *source, *dest;
static shmem_team_t team;
static int me, np;
static unsigned long step;

static long at(int pe, size_t i) {
  return (long)((unsigned)(pe * 7919 + (int)i * 31 + (int)step * 17) % 1009);
}

static size_t draw_size(unsigned long* state) {
  static const size_t typical[] = {0, 1, 2, 13, 14, 15, 16, 100, 128, 129, 512, 1000, 4096};
  const unsigned long r = draw(state);
  return r % 3 == 0 ? draw(state) % (kMax / 4) : r % 50 == 1 ? kMax : typical[draw(state) % 13];
}

static void check_reduction(int op, size_t n, const long* result) {
  for (size_t i = 0; i < n; ++i) {
    long want = op == 0 || op == 3 ? 0 : at(0, i);
    const int end = op == 3 ? me : op == 4 ? me + 1 : np;
    for (int pe = op == 0 || op == 3 ? 0 : 1; pe < end; ++pe) {
      const long v = at(pe, i);
      want = op == 1 ? (v > want ? v : want) : op == 2 ? want ^ v : want + v;
    }
    CHECK_AT(result, i, want);
  }
}

static void reduction(int op, size_t n, int in_place) {
  long* to = in_place ? source : dest;
  switch (op) {
    case 0: shmem_long_sum_reduce(team, to, source, n); break;
    case 1: shmem_long_max_reduce(team, to, source, n); break;
    case 2: shmem_ulong_xor_reduce(team, (unsigned long*)to, (unsigned long*)source, n); break;
    case 3: shmem_long_sum_exscan(team, to, source, n); break;
    default: shmem_long_sum_inscan(team, to, source, n); break;
  }
  check_reduction(op, n, to);
}

static void data(int op, size_t n, int root) {
  const size_t each = n / (size_t)np;
  switch (op) {
    case 0:
      shmem_long_broadcast(team, dest, source, n, root);
      for (size_t i = 0; i < n; ++i) CHECK_AT(dest, i, at(root, i));
      break;
    case 1:
      shmem_long_fcollect(team, dest, source, n);
      for (int pe = 0; pe < np; ++pe)
        for (size_t i = 0; i < n; ++i) CHECK_AT(dest, (size_t)pe * n + i, at(pe, i));
      break;
    case 2: {
      shmem_long_collect(team, dest, source, (n * (size_t)(me + 1)) / (size_t)np);
      size_t k = 0;
      for (int pe = 0; pe < np; ++pe)
        for (size_t i = 0; i < (n * (size_t)(pe + 1)) / (size_t)np; ++i, ++k) CHECK_AT(dest, k, at(pe, i));
      break;
    }
    case 3:
      shmem_long_alltoall(team, dest, source, each);
      for (int pe = 0; pe < np; ++pe)
        for (size_t i = 0; i < each; ++i)
          CHECK_AT(dest, (size_t)pe * each + i, at(pe, (size_t)me * each + i));
      break;
    default: shmem_team_sync(team); break;
  }
}

int main(int argc, char** argv) {
  bound_time(120);
  shmem_init();
  static unsigned long chosen;
  chosen = argc > 1 ? strtoul(argv[1], NULL, 0) : (unsigned long)time(NULL);
  CHECK_EQ(shmem_ulong_broadcast(SHMEM_TEAM_WORLD, &seed, &chosen, 1, 0), 0);
  const int all = shmem_n_pes();
  unsigned long state = seed * 2654435761u + 88172645463325252u;
  source = shmem_malloc(kMax * sizeof(long));
  dest = shmem_malloc(kMax * sizeof(long) * (size_t)all);
  const unsigned long steps = argc > 2 ? strtoul(argv[2], NULL, 0) : 400;
  shmem_team_t teams[kTeams];
  int count = make_teams(teams);
  for (step = 0; step < steps; ++step) {
    if (step % 64 == 63) { /* other slots */
      destroy_teams(teams, count);
      count = make_teams(teams);
    }
    team = teams[draw(&state) % (unsigned long)count];
    const int kind = (int)(draw(&state) % 10), in_place = (int)(draw(&state) % 2);
    const size_t n = draw_size(&state);
    const unsigned long root = draw(&state), calls = 1 + draw(&state) % 2;
    if (team == SHMEM_TEAM_INVALID) continue;
    me = shmem_team_my_pe(team);
    np = shmem_team_n_pes(team);
    check_context("seed %lu, step %lu, team of %d, %zu words", seed, step, np, n);
    for (unsigned long k = 0; k < calls; ++k) {
      for (size_t i = 0; i < kMax; ++i) source[i] = at(me, i);
      shmem_team_sync(team);
      if (kind < 5) {
        reduction(kind, n, in_place);
      } else {
        data(kind - 5, n, (int)(root % (unsigned long)np));
      }
    }
  }
  destroy_teams(teams, count);
  shmem_finalize();
  return 0;
}
