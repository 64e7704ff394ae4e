/* SPDX-License-Identifier: BSD-3-Clause */
/* SHMEM_KV_GET=onesided: gets of other nodes' elements are reads, for which nobody is asked; what they give
 * is what messages give, of elements of any kind, while tables grow and elements come and go. Without it, or
 * on one node, the same but for the counts. */
#include "kv_check.h"

enum { kKeys = 400, kMany = 3000 };

static int me, npes, reads;

static int is_far(shmemx_kv_t kv, Key key) {
  const int pe = shmemx_kv_pe(kv, key.text, key.n);
  return shmem_team_translate_pe(SHMEM_TEAM_WORLD, pe, SHMEM_TEAM_SHARED) < 0;
}

typedef struct {
  uint64_t read, asked, packets, requests;
} Counts;

static Counts counts(void) {
  shmemx_stats_t stats;
  shmemx_stats_read(&stats);
  const Counts now = {stats.kv_read,
                      stats.kv_asked_changed + stats.kv_asked_behind + stats.kv_asked_elsewhere,
                      stats.kv_packets, stats.kv_requests};
  return now;
}

/* That since `before` so many were gets of other nodes' elements, and nothing else was asked of them. */
static void expect_reads(Counts before, uint64_t far) {
  const Counts now = counts();
  CHECK_EQ(now.read - before.read + now.requests - before.requests, far);
  if (reads) {
    CHECK_EQ(now.read - before.read, far);
    CHECK_EQ(now.packets, before.packets);
    CHECK_EQ(now.asked, before.asked);
  } else {
    CHECK_EQ(now.read, before.read);
  }
}

static size_t bytes_of(int i, size_t most) { return (size_t)(i * 37) % (most + 1); }

/* Each kind of element; keys that are not there, that are no more, and room that is too short. */
static void test_all_kinds(size_t key_bytes, size_t most, uint64_t capacity, int n) {
  static unsigned char value[8192], got[8192];
  shmemx_kv_t kv = table_within(key_bytes, most, capacity, 0);
  for (int i = 0; i < n; ++i) {
    const Key key = key_of(me, i);
    make_bytes(value, bytes_of(i, most), (uint64_t)i);
    CHECK_FOR(i, shmemx_kv_put(kv, key.text, key.n, value, bytes_of(i, most)), SHMEMX_KV_OK);
    if (i % 7 == 0) CHECK_FOR(i, shmemx_kv_remove(kv, key.text, key.n), SHMEMX_KV_OK);
  }
  shmem_barrier_all();
  const Counts before = counts();
  uint64_t far = 0;
  const int peer = (me + 1) % npes;
  for (int i = 0; i < n; ++i) {
    const Key key = key_of(peer, i);
    const int there = i % 7 != 0;
    const size_t bytes = bytes_of(i, most);
    size_t length = 0;
    CHECK_FOR(i, shmemx_kv_get(kv, key.text, key.n, got, most, &length),
              there ? SHMEMX_KV_OK : SHMEMX_KV_NOT_FOUND);
    if (there) CHECK_EQ(length, bytes);
    if (there) CHECK_MADE(got, bytes, (uint64_t)i);
    CHECK_FOR(i, shmemx_kv_contains(kv, key.text, key.n), there ? SHMEMX_KV_OK : SHMEMX_KV_NOT_FOUND);
    far += 2 * (uint64_t)is_far(kv, key);
    if (!there || bytes == 0) continue;
    CHECK_FOR(i, shmemx_kv_get(kv, key.text, key.n, got, bytes - 1, &length), SHMEMX_KV_TOO_LARGE);
    CHECK_EQ(length, bytes);
    far += (uint64_t)is_far(kv, key);
  }
  expect_reads(before, far);
  CHECK(nodes_of_run() == 1 || far > 0);
  shmem_barrier_all();
  shmemx_kv_destroy(kv);
}

/* Many in one call, several under way at a time. */
static void test_batches(void) {
  static uint64_t keys[kMany], values[kMany], got[kMany];
  static size_t lengths[kMany];
  static int status[kMany];
  shmemx_kv_t kv = table_of(8, 8, (uint64_t)(kMany * npes));
  for (int i = 0; i < kMany; ++i) {
    keys[i] = (uint64_t)(me * kMany + i);
    values[i] = keys[i] * 3;
  }
  CHECK_EQ(shmemx_kv_put_batch(kv, kMany / 2, keys, 8, values, 8, NULL), SHMEMX_KV_OK);
  shmem_barrier_all();
  uint64_t far = 0;
  const int peer = (me + 1) % npes;
  for (int i = 0; i < kMany; ++i) {
    keys[i] = (uint64_t)(peer * kMany + i);
    const int pe = shmemx_kv_pe(kv, &keys[i], 8);
    far += shmem_team_translate_pe(SHMEM_TEAM_WORLD, pe, SHMEM_TEAM_SHARED) < 0;
  }
  Counts before = counts();
  CHECK_EQ(shmemx_kv_get_batch(kv, kMany, keys, 8, got, 8, lengths, status), SHMEMX_KV_NOT_FOUND);
  expect_reads(before, far);
  for (int i = 0; i < kMany; ++i) {
    CHECK_FOR(i, status[i], i < kMany / 2 ? SHMEMX_KV_OK : SHMEMX_KV_NOT_FOUND);
    if (i >= kMany / 2) continue;
    CHECK_EQ(lengths[i], 8);
    CHECK_EQ(got[i], keys[i] * 3);
  }
  before = counts();
  CHECK_EQ(shmemx_kv_contains_batch(kv, kMany, keys, 8, status), SHMEMX_KV_NOT_FOUND);
  expect_reads(before, far);
  for (int i = 0; i < kMany; ++i) CHECK_FOR(i, status[i], i < kMany / 2 ? SHMEMX_KV_OK : SHMEMX_KV_NOT_FOUND);
  shmem_barrier_all();
  shmemx_kv_destroy(kv);
}

/* A get finds what its program has begun to store, in whatever way it takes. */
static void test_own_changes(void) {
  shmemx_kv_t kv = table_of(48, sizeof(long), 1000);
  long values[kKeys];
  for (int i = 0; i < kKeys; ++i) {
    const Key key = key_of(me, i % 50);
    values[i] = i;
    shmemx_kv_put_nbi(kv, key.text, key.n, &values[i], sizeof values[i], NULL);
    CHECK_FOR(i, long_at(kv, key), i);
    shmemx_kv_remove_nbi(kv, key.text, key.n, NULL);
    CHECK_FOR(i, contains_key(kv, key), SHMEMX_KV_NOT_FOUND);
  }
  shmemx_kv_quiet(kv);
  shmem_barrier_all();
  shmemx_kv_destroy(kv);
}

/* Of a team's table: PEs have its numbers, which are the other way around, and their shards are in other
 * places; so a read that takes a number of the world, or the place of another PE, finds nothing. */
static void test_team(void) {
  static uint64_t keys[kMany], values[kMany], got[kMany];
  static int status[kMany];
  shmemx_kv_t kv = NULL, ballast = NULL;
  shmem_team_t team, alone;
  for (int pe = 0; pe < npes; ++pe) {
    shmem_team_split_strided(SHMEM_TEAM_WORLD, pe, 1, 1, NULL, 0, &alone);
    if (pe != me) continue;
    const shmemx_kv_options_t some = {
        .key_bytes = 8, .value_bytes = 8, .capacity = 10, .memory_bytes = (size_t)(me + 1) << 18};
    CHECK_EQ(shmemx_kv_team_create(alone, &some, &ballast), SHMEMX_KV_OK);
  }
  shmem_team_split_strided(SHMEM_TEAM_WORLD, npes - 1, -1, npes, NULL, 0, &team);
  const shmemx_kv_options_t options = {
      .key_bytes = 8, .value_bytes = 8, .capacity = 100, .memory_bytes = (size_t)1 << 20};
  CHECK_EQ(shmemx_kv_team_create(team, &options, &kv), SHMEMX_KV_OK);
  uint64_t far = 0;
  for (int i = 0; i < kMany; ++i) {
    keys[i] = (uint64_t)me << 32 | (uint64_t)i;
    values[i] = keys[i] * 3;
  }
  CHECK_EQ(shmemx_kv_put_batch(kv, kMany, keys, 8, values, 8, NULL), SHMEMX_KV_OK);
  shmem_team_sync(team);
  for (int i = 0; i < kMany; ++i) {
    keys[i] = (uint64_t)((me + 1) % npes) << 32 | (uint64_t)i;
    const int pe = shmemx_kv_pe(kv, &keys[i], 8);
    CHECK_EQ(shmem_team_translate_pe(team, pe, SHMEM_TEAM_WORLD), npes - 1 - pe);
    far += shmem_team_translate_pe(team, pe, SHMEM_TEAM_SHARED) < 0;
  }
  CHECK(nodes_of_run() == 1 || far > 0);
  Counts before = counts();
  for (int i = 0; i < kMany; ++i) {
    CHECK_FOR(i, shmemx_kv_get(kv, &keys[i], 8, &got[i], 8, NULL), SHMEMX_KV_OK);
    CHECK_FOR(i, got[i], keys[i] * 3);
    CHECK_FOR(i, shmemx_kv_contains(kv, &keys[i], 8), SHMEMX_KV_OK);
  }
  expect_reads(before, 2 * far);
  memset(got, 0, sizeof got);
  before = counts();
  CHECK_EQ(shmemx_kv_get_batch(kv, kMany, keys, 8, got, 8, NULL, status), SHMEMX_KV_OK);
  expect_reads(before, far);
  for (int i = 0; i < kMany; ++i) CHECK_FOR(i, got[i], keys[i] * 3);
  shmem_team_sync(team);
  shmemx_kv_destroy(kv);
  shmemx_kv_destroy(ballast);
}

/* One PE inserts, removes and inserts again while the table grows; the others read: what they find belongs to
 * the key, and of what stays nothing is ever missing. */
static void test_growth_and_churn(void) {
  shmemx_kv_t kv = table_of(8, 16, 100);
  static long done;
  done = 0;
  uint64_t value[2];
  const uint64_t stays = 500;
  if (me == 0)
    for (uint64_t key = 0; key < stays; ++key) {
      value[0] = key, value[1] = ~key;
      CHECK_EQ(shmemx_kv_put(kv, &key, 8, value, 16), SHMEMX_KV_OK);
    }
  shmem_barrier_all();
  const Counts before = counts();
  if (me == 0) {
    for (uint64_t n = 0; n < 12000; ++n) {
      const uint64_t key = stays + n;
      value[0] = key, value[1] = ~key;
      CHECK_EQ(shmemx_kv_put(kv, &key, 8, value, 16), SHMEMX_KV_OK);
      if (n % 3 == 0) CHECK_EQ(shmemx_kv_remove(kv, &key, 8), SHMEMX_KV_OK);
      const uint64_t old = n % stays;
      value[0] = old, value[1] = ~old;
      if (n % 2 == 0) CHECK_EQ(shmemx_kv_put(kv, &old, 8, value, 16), SHMEMX_KV_OK);
    }
    for (int pe = 1; pe < npes; ++pe) shmem_long_p(&done, 1, pe);
  }
  Random dice = {(uint64_t)me};
  uint64_t found = 0;
  while (me != 0 && (shmem_long_atomic_fetch(&done, me) == 0 || found < 100)) {
    const uint64_t key = random_below(&dice, stays + 12000);
    size_t n = 0;
    const int status = shmemx_kv_get(kv, &key, 8, value, 16, &n);
    if (key < stays || status == SHMEMX_KV_OK) {
      CHECK_EQ(status, SHMEMX_KV_OK);
      CHECK_EQ(n, 16);
      CHECK_EQ(value[0], key);
      CHECK_EQ(value[1], ~key);
      ++found;
    } else {
      CHECK_EQ(status, SHMEMX_KV_NOT_FOUND);
    }
  }
  if (me != 0) CHECK_EQ(counts().read > before.read, reads);
  shmem_barrier_all();
  for (uint64_t n = 0; n < 12000; n += 7) {
    const uint64_t key = stays + n;
    CHECK_EQ(shmemx_kv_get(kv, &key, 8, value, 16, NULL), n % 3 == 0 ? SHMEMX_KV_NOT_FOUND : SHMEMX_KV_OK);
  }
  shmemx_kv_stats_t stats;
  shmemx_kv_stats(kv, &stats);
  CHECK_CMP(stats.slots, >, 6000 / npes);
  shmem_barrier_all();
  shmemx_kv_destroy(kv);
}

int main(void) {
  shmem_init();
  me = shmem_my_pe(), npes = shmem_n_pes();
  reads = gets_read() && nodes_of_run() > 1;
  test_all_kinds(48, 24, 100, 2000);  /* slots; grows */
  test_all_kinds(48, 300, 100, 2000); /* blocks */
  test_all_kinds(48, 8192, 2000, 400);
  test_batches();
  test_team();
  test_own_changes();
  test_growth_and_churn();
  shmem_finalize();
  return 0;
}
