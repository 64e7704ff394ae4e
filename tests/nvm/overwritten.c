/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives do not read what they overwrite: no page of dest is loaded, though each is written in several
 * parts, and few are in memory. */
#include <shmemx.h>

#include "../spec/coll/coll_check.h"

enum { kPage = 262144, kWords = 8 * kPage / 8, kOthers = 64 * kPage / 8, kPes = 2 };

static long source[kWords];
static long *dest, *others;
static int me;

static long word(int pe, size_t i) { return pe * 5003L + (long)i; }

static uint64_t loads(void) {
  shmemx_stats_t stats;
  shmemx_stats_read(&stats);
  return stats.page_loads;
}

/* All pages of dest have been written, and have left; the last two have come back, and are the next to leave.
 */
static void push_out(void) {
  for (size_t i = 0; i < kWords; ++i) dest[i] = -1;
  for (size_t i = 0; i < kOthers; i += kPage / 8) ++others[i];
  for (size_t i = kWords - 2 * kPage / 8; i < kWords; i += kPage / 8) --dest[i];
  shmem_barrier_all();
}

static void call(int kind) {
  const shmem_team_t world = SHMEM_TEAM_WORLD;
  switch (kind) {
    case 0: shmem_long_broadcast(world, dest, source, kWords, 1); break;
    case 1: shmem_long_fcollect(world, dest, source, kWords / kPes); break;
    case 2: shmem_long_collect(world, dest, source, kWords / kPes); break;
    case 3: shmem_long_alltoall(world, dest, source, kWords / kPes); break;
    case 4: shmem_long_max_reduce(world, dest, source, kWords); break;
    default: shmem_long_sum_inscan(world, dest, source, kWords); break;
  }
}

static long expected(int kind, size_t i) {
  const size_t block = kWords / kPes;
  switch (kind) {
    case 1:
    case 2: return word((int)(i / block), i % block);
    case 3: return word((int)(i / block), (size_t)me * block + i % block);
    case 5: return word(0, i) + (me == 1 ? word(1, i) : 0);
    default: return word(1, i);
  }
}

int main(void) {
  bound_time(110);
  shmem_init();
  me = shmem_my_pe();
  CHECK_EQ(shmem_n_pes(), kPes);
  dest = shmem_malloc(kWords * sizeof *dest);
  others = shmem_malloc(kOthers * sizeof *others);
  for (size_t i = 0; i < kWords; ++i) source[i] = word(me, i);
  for (int kind = 0; kind < 6; ++kind) {
    check_context("kind %d", kind);
    push_out();
    const uint64_t before = loads();
    call(kind);
    CHECK_EQ(loads() - before, 0);
    for (size_t i = 0; i < kWords; ++i) CHECK_AT(dest, i, expected(kind, i));
    shmem_barrier_all();
  }
  /* In place, what is overwritten is read before. */
  for (size_t i = 0; i < kWords; ++i) dest[i] = word(me, i);
  for (size_t i = 0; i < kOthers; i += kPage / 8) ++others[i];
  shmem_long_max_reduce(SHMEM_TEAM_WORLD, dest, dest, kWords);
  for (size_t i = 0; i < kWords; ++i) CHECK_AT(dest, i, word(1, i));
  shmem_finalize();
  return 0;
}
