/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables on teams: subsets, strides, rows and columns, one PE, the PEs of a node; teams that end before their
 * tables; tables that members leave. */
#include <unistd.h>

#include "kv_check.h"

enum { kKeys = 60, kLong = 20000 };

static int me, npes;

static shmemx_kv_t table_on(shmem_team_t team, size_t key_bytes, size_t value_bytes, uint64_t capacity,
                            size_t memory_bytes) {
  const shmemx_kv_options_t options = {
      .key_bytes = key_bytes, .value_bytes = value_bytes, .capacity = capacity, .memory_bytes = memory_bytes};
  shmemx_kv_t kv = NULL;
  CHECK_EQ(shmemx_kv_team_create(team, &options, &kv), SHMEMX_KV_OK);
  CHECK(kv != NULL);
  return kv;
}

/* Of a team: PEs have its numbers. */
static void meet(shmemx_kv_t kv, shmem_team_t team) {
  shmemx_kv_quiet(kv);
  shmem_team_sync(team);
}

/* The lean way, and batches. */
static void test_words(shmem_team_t team) {
  const int my = shmem_team_my_pe(team), n = shmem_team_n_pes(team);
  shmemx_kv_t kv = table_on(team, 8, 8, (uint64_t)(kKeys * n), 0);
  uint64_t keys[kKeys], values[kKeys], mine = 0;
  for (uint64_t i = 0; i < kKeys; ++i) {
    keys[i] = (uint64_t)my << 32 | i;
    values[i] = keys[i] * 3;
  }
  CHECK_EQ(shmemx_kv_put_batch(kv, kKeys, keys, 8, values, 8, NULL), SHMEMX_KV_OK);
  for (int i = 0; i < 3; ++i) CHECK_EQ(shmemx_kv_put(kv, &keys[i], 8, &values[i], 8), SHMEMX_KV_OK);
  meet(kv, team);
  CHECK_EQ(shmemx_kv_count(kv), (uint64_t)(kKeys * n));
  for (int pe = 0; pe < n; ++pe) {
    uint64_t got[kKeys];
    for (uint64_t i = 0; i < kKeys; ++i) {
      keys[i] = (uint64_t)pe << 32 | i;
      CHECK_EQ(shmemx_kv_get(kv, &keys[i], 8, &got[i], 8, NULL), SHMEMX_KV_OK);
      CHECK_EQ(got[i], keys[i] * 3);
      const int owner = shmemx_kv_pe(kv, &keys[i], 8);
      CHECK(owner >= 0 && owner < n);
      if (owner == my) ++mine;
      got[i] = 0;
    }
    CHECK_EQ(shmemx_kv_get_batch(kv, kKeys, keys, 8, got, 8, NULL, NULL), SHMEMX_KV_OK);
    for (int i = 0; i < kKeys; ++i) CHECK_EQ(got[i], keys[i] * 3);
  }
  CHECK_EQ(shmemx_kv_count_local(kv), mine); /* that is what `pe` says */
  uint64_t seen = 0;
  for (int pe = 0; pe < n; ++pe) {
    uint64_t cursor = 0, found[8];
    size_t key_bytes[8], count = 0;
    while (shmemx_kv_scan(kv, pe, &cursor, 8, found, 8, key_bytes, NULL, 0, NULL, &count) == SHMEMX_KV_OK) {
      for (size_t i = 0; i < count; ++i) CHECK_EQ(shmemx_kv_pe(kv, &found[i], 8), pe);
      seen += count;
    }
  }
  CHECK_EQ(seen, (uint64_t)(kKeys * n));
  meet(kv, team);
  const uint64_t sum = 77, one = 1; /* a key that all members change */
  for (int i = 0; i < 10; ++i)
    CHECK_EQ(shmemx_kv_upsert(kv, &sum, 8, SHMEMX_KV_UINT64, SHMEMX_KV_ADD, &one, NULL), SHMEMX_KV_OK);
  meet(kv, team);
  uint64_t total = 0;
  CHECK_EQ(shmemx_kv_get(kv, &sum, 8, &total, 8, NULL), SHMEMX_KV_OK);
  CHECK_EQ(total, (uint64_t)(10 * n));
  shmemx_kv_clear(kv);
  CHECK_EQ(shmemx_kv_count(kv), 0);
  shmemx_kv_destroy(kv);
}

/* Keys of several lengths, values that go in pieces and by RMA, nonblocking calls; the table gets another
 * size. */
static void test_long(shmem_team_t team) {
  const int my = shmem_team_my_pe(team), n = shmem_team_n_pes(team);
  static char value[kLong], got[kLong];
  shmemx_kv_t kv = table_on(team, 48, kLong, (uint64_t)(8 * n), 0);
  for (int times = 0; times < 2; ++times) {
    for (int i = 0; i < 4; ++i) {
      const Key key = key_of(my, i);
      const size_t bytes = i == 0 ? kLong : i == 1 ? 5000 : 8 + (size_t)i;
      make_bytes(value, bytes, (uint64_t)(100 * my + i + times));
      if (i % 2 == 0)
        CHECK_EQ(shmemx_kv_put(kv, key.text, key.n, value, bytes), SHMEMX_KV_OK);
      else
        shmemx_kv_put_nbi(kv, key.text, key.n, value, bytes, NULL);
    }
    meet(kv, team);
    for (int pe = 0; pe < n; ++pe)
      for (int i = 0; i < 4; ++i) {
        const Key key = key_of(pe, i);
        size_t bytes = 0;
        CHECK_EQ(shmemx_kv_get(kv, key.text, key.n, got, sizeof got, &bytes), SHMEMX_KV_OK);
        CHECK_EQ(bytes, i == 0 ? kLong : i == 1 ? 5000 : 8 + (size_t)i);
        CHECK_MADE(got, bytes - bytes % 8, (uint64_t)(100 * pe + i + times));
      }
    meet(kv, team);
    CHECK_EQ(shmemx_kv_resize(kv, (uint64_t)(40 * n)), SHMEMX_KV_OK);
    CHECK_EQ(shmemx_kv_count(kv), (uint64_t)(4 * n));
    meet(kv, team);
  }
  const Key next = key_of((my + 1) % n, 99);
  long token = 5;
  CHECK_EQ(put_long(kv, next, token), SHMEMX_KV_OK);
  const Key mine = key_of(my, 99);
  CHECK_EQ(shmemx_kv_get_wait(kv, mine.text, mine.n, &token, sizeof token, NULL), SHMEMX_KV_OK);
  CHECK_EQ(token, 5);
  shmemx_kv_destroy(kv);
}

/* By itself, far beyond what it was made for. */
static void test_growth(shmem_team_t team) {
  const int my = shmem_team_my_pe(team), n = shmem_team_n_pes(team), count = 2500; /* with a sanitizer, too */
  shmemx_kv_t kv = table_on(team, 8, 8, 10, (size_t)1 << 20);
  shmemx_kv_stats_t before, after;
  shmemx_kv_stats(kv, &before);
  shmem_team_sync(team); /* others insert here, too */
  for (uint64_t i = 0; i < (uint64_t)count; ++i) {
    const uint64_t key = (uint64_t)my << 32 | i;
    CHECK_FOR(i, shmemx_kv_insert(kv, &key, 8, &i, 8), SHMEMX_KV_OK);
  }
  meet(kv, team);
  shmemx_kv_stats(kv, &after);
  CHECK_CMP(after.slots, >, before.slots);
  const int other = (my + 1) % n;
  for (uint64_t i = 0; i < (uint64_t)count; ++i) {
    const uint64_t key = (uint64_t)other << 32 | i;
    uint64_t value = 0;
    CHECK_FOR(i, shmemx_kv_get(kv, &key, 8, &value, 8, NULL), SHMEMX_KV_OK);
    CHECK_FOR(i, value, i);
  }
  CHECK_EQ(shmemx_kv_count(kv), (uint64_t)(count * n));
  shmemx_kv_destroy(kv);
}

static void test_file(shmem_team_t team) {
  const int my = shmem_team_my_pe(team), n = shmem_team_n_pes(team);
  char path[kPathBytes] = "";
  if (my == 0) make_file(path);
  shmemx_kv_t kv = table_on(team, 48, sizeof(long), (uint64_t)(2 * n), 0);
  CHECK_EQ(put_long(kv, key_of(my, 0), my), SHMEMX_KV_OK);
  CHECK_EQ(shmemx_kv_export(kv, path), SHMEMX_KV_OK);
  shmemx_kv_clear(kv);
  CHECK_EQ(shmemx_kv_import(kv, path), SHMEMX_KV_OK);
  CHECK_EQ(shmemx_kv_count(kv), (uint64_t)n);
  for (int pe = 0; pe < n; ++pe) CHECK_EQ(long_at(kv, key_of(pe, 0)), pe);
  shmemx_kv_destroy(kv);
  if (my == 0) unlink(path);
}

static void test_team(shmem_team_t team) {
  if (team == SHMEM_TEAM_INVALID) return;
  test_words(team);
  test_long(team);
  test_growth(team);
  test_file(team);
}

/* The table keeps its PEs; the calls on it do not meet those on the team that has its place now. */
static void test_team_ends_first(void) {
  shmem_team_t team;
  shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, (npes + 1) / 2, NULL, 0, &team);
  shmemx_kv_t kv = NULL;
  const int n = (npes + 1) / 2;
  if (team != SHMEM_TEAM_INVALID) {
    kv = table_on(team, 48, sizeof(long), 100, 0);
    shmem_team_destroy(team);
  }
  shmem_team_t odd;
  shmem_team_split_strided(SHMEM_TEAM_WORLD, npes > 1 ? 1 : 0, 2, npes > 1 ? npes / 2 : 1, NULL, 0, &odd);
  if (odd != SHMEM_TEAM_INVALID) test_words(odd);
  if (kv != NULL) {
    CHECK_EQ(put_long(kv, key_of(me, 0), me), SHMEMX_KV_OK);
    CHECK_EQ(shmemx_kv_resize(kv, 200), SHMEMX_KV_OK);
    for (int i = 0; i < n; ++i) CHECK_EQ(long_at(kv, key_of(2 * i, 0)), 2 * i);
    shmemx_kv_clear(kv);
    shmemx_kv_destroy(kv);
  }
  if (odd != SHMEM_TEAM_INVALID) shmem_team_destroy(odd);
  shmem_barrier_all();
}

/* More than one after the other would have memory for, or teams; whoever has left serves the others. */
static void test_left(shmem_team_t team) {
  const int my = shmem_team_my_pe(team), n = shmem_team_n_pes(team);
  enum { kMemory = 1 << 20 };
  for (int times = 0; times < rounds(600, 600); ++times) {
    shmemx_kv_t kv = table_on(team, 48, sizeof(long), 10, kMemory);
    if (times % 100 == 0) {
      CHECK_EQ(put_long(kv, key_of(my, 0), times), SHMEMX_KV_OK);
      shmem_team_sync(team);
      if (my % 2 == 0) shmemx_kv_leave(kv);
      if (my % 2 == 0) continue;
      for (int pe = 0; pe < n; ++pe) CHECK_EQ(long_at(kv, key_of(pe, 0)), times);
    }
    shmemx_kv_leave(kv);
  }
}

static void test_no_room(shmem_team_t team) {
  const shmemx_kv_options_t options = {.key_bytes = 8, .value_bytes = 8, .capacity = UINT64_C(1) << 40};
  shmemx_kv_t kv = (shmemx_kv_t)&options;
  CHECK_EQ(shmemx_kv_team_create(team, &options, &kv), SHMEMX_KV_FULL);
  CHECK(kv == NULL);
}

int main(void) {
  shmem_init();
  me = shmem_my_pe(), npes = shmem_n_pes();
  shmem_team_t some, last, rows, columns, alone;
  shmemx_kv_t ballast = NULL; /* of some PEs, so that shards of one table are not where they are on others */
  for (int pe = 0; pe < npes; ++pe) {
    shmem_team_split_strided(SHMEM_TEAM_WORLD, pe, 1, 1, NULL, 0, &alone);
    if (pe == me && pe % 2 == 1) ballast = table_on(alone, 8, 8, 10, (size_t)1 << 20);
  }
  shmem_team_split_strided(SHMEM_TEAM_WORLD, npes - 1, -1, npes, NULL, 0, &some); /* the other way around */
  test_team(some);
  test_left(some);
  test_no_room(some);
  shmem_team_split_strided(SHMEM_TEAM_WORLD, npes > 1 ? 1 : 0, 1, npes > 1 ? npes - 1 : 1, NULL, 0, &last);
  test_team(last);
  shmem_team_split_2d(SHMEM_TEAM_WORLD, 2, NULL, 0, &rows, NULL, 0, &columns);
  test_team(rows);
  test_team(columns);
  test_team(SHMEM_TEAM_SHARED);
  test_words(SHMEM_TEAM_WORLD);
  for (int pe = 0; pe < npes; ++pe) {
    shmem_team_split_strided(SHMEM_TEAM_WORLD, pe, 1, 1, NULL, 0, &alone);
    test_team(alone);
  }
  test_team_ends_first();
  if (ballast != NULL) shmemx_kv_destroy(ballast);
  shmem_finalize();
  return 0;
}
