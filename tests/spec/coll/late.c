/* SPDX-License-Identifier: BSD-3-Clause */
/* One PE comes late where the others could run ahead of it: what they do then must not reach what it has
 * still to read or write. */
#include <stdatomic.h>

#include "coll_check.h"

static int me, np;

static int is_late(void) { return me == np - 1; }
static void be_late(void) { usleep(20000); }

/* Nobody leaves before the last has come, whoever that is. */
static void barriers(void) {
  static long come;
  for (int late = 0; late < 2 * np; ++late) {
    if (me == late / 2) usleep(3000);
    come = late + 1;
    if (late % 2 == 0) {
      shmem_barrier_all();
    } else {
      shmem_team_sync(SHMEM_TEAM_WORLD);
    }
    const long seen = shmem_long_atomic_fetch(&come, late / 2);
    CHECK_OF_PE(late / 2, seen, late + 1); /* which is late */
    shmem_barrier_all();
  }
}

/* More calls in a row than the library has cells for; only PEs with higher numbers need what a PE has. */
static void scans_in_a_row(int inclusive) {
  enum { kCalls = 100, kWords = 3 };
  static long source[kCalls][kWords], dest[kCalls][kWords];
  for (int call = 0; call < kCalls; ++call)
    for (int i = 0; i < kWords; ++i) source[call][i] = 1000 * call + 10 * i + me, dest[call][i] = -1;
  shmem_sync_all();
  if (is_late()) be_late();
  for (int call = 0; call < kCalls; ++call) {
    if (inclusive) {
      shmem_long_sum_inscan(SHMEM_TEAM_WORLD, dest[call], source[call], kWords);
    } else {
      shmem_long_sum_exscan(SHMEM_TEAM_WORLD, dest[call], source[call], kWords);
    }
  }
  for (int call = 0; call < kCalls; ++call) {
    check_context("in call %d", call);
    for (int i = 0; i < kWords; ++i) {
      const long count = me + inclusive, want = count * (1000 * call + 10 * i) + count * (count - 1) / 2;
      CHECK_AT(dest[call], i, want);
    }
  }
}

/* The members of the next team, who get the cells of the one that was destroyed, write to them
 * while the last PE has still to read what was said there. */
static void destroyed_team(void) {
  enum { kCalls = 50 };
  static long said, heard, source[kCalls], dest[kCalls];
  shmem_team_t others, team, next;
  CHECK_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, np - 1, NULL, 0, &others), 0);
  CHECK_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, np, NULL, 0, &team), 0);
  said = 4711;
  shmem_sync_all();
  if (is_late()) be_late();
  shmem_long_broadcast(team, &heard, &said, 1, 0);
  shmem_team_destroy(team);
  CHECK_EQ(heard, 4711);
  if (is_late()) return;
  CHECK_EQ(shmem_team_split_strided(others, 0, 1, np - 1, NULL, 0, &next), 0);
  for (int call = 0; call < kCalls; ++call) source[call] = call;
  shmem_team_sync(next);
  for (int call = 0; call < kCalls; ++call) shmem_long_broadcast(next, &dest[call], &source[call], 1, 0);
  for (int call = 0; call < kCalls; ++call) CHECK_AT(dest, call, call);
  shmem_team_destroy(next);
  shmem_team_destroy(others);
}

/* The library's copies come here, too, whichever thread makes them: the one from or to there makes this PE
 * late within a call. */
static _Atomic(const void*) late_copy;

#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__) /* these have a memcpy of their own */
void* memcpy(void* to, const void* from, size_t n) {
  static void* (*volatile const copy)(void*, const void*, size_t) = memmove;
  const void* expected = atomic_load(&late_copy);
  if (expected != NULL && (from == expected || to == expected) && n > 0 &&
      atomic_compare_exchange_strong(&late_copy, &expected, NULL))
    be_late();
  return copy(to, from, n);
}
static void check_was_late(void) { CHECK(atomic_load(&late_copy) == NULL); }
#else
static void check_was_late(void) { atomic_store(&late_copy, NULL); }
#endif

/* Who has the new block may write to it on all PEs, and their old contents must not come after
 * that. */
static void moved_block(void) {
  enum { kWords = 20000 };
  long* block = shmem_malloc(kWords * sizeof(long));
  long* behind = shmem_malloc(kWords * sizeof(long)); /* in the way */
  for (int i = 0; i < kWords; ++i) block[i] = i;
  if (is_late()) late_copy = block;
  long* moved = shmem_realloc(block, 40 * kWords * sizeof(long));
  CHECK(moved != NULL && moved != block);
  check_was_late();
  if (me == 0) {
    shmem_long_p(&moved[kWords - 1], -5, np - 1);
    shmem_quiet();
  }
  shmem_barrier_all();
  for (int i = 0; i < kWords; ++i) {
    const long want = i == kWords - 1 && is_late() ? -5 : i;
    CHECK_AT(moved, i, want);
  }
  shmem_free(moved);
  shmem_free(behind);
}

/* The set of the first two PEs gets the cells that the set of three has had, while the third still reads what
 * was said there. */
static void set_beside_another(long* sync_of_three, long* sync_of_two) {
  enum { kCalls = 30 };
  static long said, heard, source[kCalls], dest[kCalls];
  said = 4711;
  for (int call = 0; call < kCalls; ++call) source[call] = call;
  shmem_barrier_all();
  if (me == 2) late_copy = &heard;
  if (me < 3) shmem_broadcast64(&heard, &said, 1, 0, 0, 0, 3, sync_of_three);
  check_was_late();
  for (int call = 0; me < 2 && call < kCalls; ++call)
    shmem_broadcast64(&dest[call], &source[call], 1, 0, 0, 0, 2, sync_of_two);
  if (me == 1 || me == 2) CHECK_EQ(heard, 4711);
  for (int call = 0; me == 1 && call < kCalls; ++call) CHECK_AT(dest, call, call);
  shmem_barrier_all();
}

/* When teams have taken nearly all that the library can tell apart, an active set has its cells for one call
 * only. */
static void active_sets_beside_many_teams(void) {
  enum { kTry = 2000, kSpare = 3, kCalls = 20 };
  static shmem_team_t teams[kTry];
  static long sync_[2][SHMEM_BCAST_SYNC_SIZE], source[kCalls], dest[kCalls];
  int made = 0;
  while (made < kTry && shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, np, NULL, 0, &teams[made]) == 0)
    ++made;
  CHECK(made > kSpare && made < kTry);
  for (int size = 2; size < np; ++size) { /* there always is a place for these */
    if (me < size) shmem_barrier(0, 0, size, sync_[size % 2]);
    shmem_barrier_all();
  }
  for (int i = 0; i < kSpare; ++i) shmem_team_destroy(teams[--made]);
  for (int size = 2; size < np; ++size) {
    for (int call = 0; call < kCalls; ++call) source[call] = 100 * call + me, dest[call] = -1;
    check_context("in the set of %d", size);
    shmem_barrier_all();
    if (me == size - 1) be_late();
    for (int call = 0; me < size && call < kCalls; ++call)
      shmem_broadcast64(&dest[call], &source[call], 1, call % size, 0, 0, size, sync_[call % 2]);
    for (int call = 0; me < size && call < kCalls; ++call) {
      const long want = me == call % size ? -1 : 100 * call + call % size;
      CHECK_AT(dest, call, want);
    }
    shmem_barrier_all();
  }
  set_beside_another(sync_[0], sync_[1]);
  for (int i = 0; i < kSpare; ++i, ++made) /* what the sets had is free again */
    CHECK_FOR(i, shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, np, NULL, 0, &teams[made]), 0);
  while (made > 0) shmem_team_destroy(teams[--made]);
}

static void done(const char* what) {
  check_context("after %s", what);
  shmem_barrier_all();
  if (me == 0) printf("ok: %s\n", what);
}

int main(int argc, char** argv) {
  const int only_barriers = argc > 1 && strcmp(argv[1], "barriers") == 0;
  bound_time(60);
  shmem_init();
  me = shmem_my_pe();
  np = shmem_n_pes();
  CHECK_CMP(np, >=, 4); /* sets of two and of three are not all */
  barriers();
  done("barriers");
  if (only_barriers) return shmem_finalize(), 0;
  scans_in_a_row(0);
  done("exclusive scans in a row");
  scans_in_a_row(1);
  done("inclusive scans in a row");
  destroyed_team();
  done("a team on the cells of one that was destroyed");
  moved_block();
  done("a block that shmem_realloc has moved");
  active_sets_beside_many_teams();
  done("active sets beside many teams");
  shmem_finalize();
  return 0;
}
