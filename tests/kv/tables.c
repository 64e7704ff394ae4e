/* SPDX-License-Identifier: BSD-3-Clause */
/* Several tables at once, tables that come and go, resize, stats. */
#include <malloc.h>

#include "kv_check.h"

enum { kTables = 5, kKeys = 200 };

static int me, npes;

/* The same keys in all tables, with values of their own. */
static void test_several(void) {
  shmemx_kv_t kv[kTables];
  for (int t = 0; t < kTables; ++t)
    kv[t] = table_of(48 + 8 * (size_t)t, t == 2 ? 5000 : 8, (uint64_t)(2 * kKeys * npes));
  for (int i = 0; i < kKeys; ++i)
    for (int t = 0; t < kTables; ++t)
      if (i % (t + 1) == 0) CHECK_FOR(t, insert_long(kv[t], key_of(me, i), 1000 * t + i), SHMEMX_KV_OK);
  shmem_barrier_all();
  for (int t = 0; t < kTables; ++t) {
    CHECK_FOR(t, shmemx_kv_count(kv[t]), (uint64_t)((kKeys + t) / (t + 1) * npes));
    for (int i = 0; i < kKeys; ++i) {
      long value = -1;
      CHECK_FOR(i, get_long(kv[t], key_of(right_pe(), i), &value),
                i % (t + 1) ? SHMEMX_KV_NOT_FOUND : SHMEMX_KV_OK);
      CHECK_EQ(value, i % (t + 1) ? -1 : 1000 * t + i);
    }
  }
  shmem_barrier_all();
  shmemx_kv_destroy(kv[1]); /* the others stay */
  shmemx_kv_destroy(kv[3]);
  for (int i = 0; i < kKeys; i += 5) CHECK_FOR(i, long_at(kv[4], key_of(left_pe(), i)), 4000 + i);
  kv[1] = table_of(48, 8, 100);
  for (int i = 0; i < kKeys; ++i) CHECK_FOR(i, contains_key(kv[1], key_of(me, i)), SHMEMX_KV_NOT_FOUND);
  for (int t = 0; t < kTables; ++t)
    if (t != 3) shmemx_kv_destroy(kv[t]);
}

/* Tables give back their memory. */
static void test_again_and_again(void) {
  for (int i = 0; i < rounds(60, 12); ++i) {
    shmemx_kv_t kv = table_of(48, (size_t)(i % 3) * 1000 + 8, 20000);
    CHECK_EQ(shmemx_kv_count(kv), 0);
    shmem_barrier_all();
    for (int k = 0; k < 20; ++k) CHECK_FOR(k, insert_long(kv, key_of(me, k), i), SHMEMX_KV_OK);
    if (i % 2) shmem_barrier_all();
    if (i % 2) CHECK_EQ(long_at(kv, key_of(right_pe(), 19)), i);
    shmemx_kv_destroy(kv);
  }
}

/* A table that has ended leaves what tells its handle, and none of its packets, counters or lists. */
static void test_what_stays(void) {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* their malloc() says nothing */
  enum { kMemory = 200 << 10, kMost = 1536 };
  if (getenv("SHMEM_KV_MATCH") != NULL || getenv("SHMEM_HEAP") != NULL)
    return; /* libfabric's, and the pool's */
  const int warm = 20, times = rounds(1000, 100);
  size_t before = 0;
  for (int i = 0; i < warm + times; ++i) {
    if (i == warm) before = mallinfo2().uordblks;
    shmemx_kv_t kv = table_within(48, 8, 10, kMemory);
    CHECK_EQ(put_long(kv, key_of(me, i), i), SHMEMX_KV_OK);
    shmem_barrier_all();
    CHECK_EQ(long_at(kv, key_of(right_pe(), i)), i);
    shmemx_kv_destroy(kv);
  }
  const size_t after = mallinfo2().uordblks;
  CHECK_CMP(after, <=, before + (size_t)times * kMost);
#endif
}

/* Tables that all have left end when the next one is made, however many there are: else a heap of 32 MiB has
 * no room for the later ones.  One that a PE has not left stays. */
static void test_left(void) {
  enum { kTables = 70, kTimes = 4, kMemory = 200 << 10 };
  const int count =
      getenv("SHMEM_KV_MATCH") == NULL ? kTables : 4; /* each of the other engine takes 80 MiB */
  shmemx_kv_t kept = table_within(48, sizeof(long), 10, kMemory);
  CHECK_EQ(put_long(kept, key_of(me, 0), 5), SHMEMX_KV_OK);
  shmem_barrier_all();
  if (me != 0) shmemx_kv_leave(kept);
  for (int times = 0; times < kTimes; ++times) {
    shmemx_kv_t tables[kTables];
    for (int i = 0; i < count; ++i) tables[i] = table_within(48, sizeof(long), 10, kMemory);
    CHECK_EQ(put_long(tables[count - 1], key_of(me, 1), times), SHMEMX_KV_OK);
    for (int i = count - 1; i >= 0; --i) shmemx_kv_leave(tables[i]);
  }
  if (me == 0) {
    for (int pe = 0; pe < npes; ++pe) CHECK_EQ(long_at(kept, key_of(pe, 0)), 5);
    shmemx_kv_leave(kept);
  }
  shmem_barrier_all();
}

/* More than the heap has: refused on all PEs, and all can go on; also where the number of bytes has more than
 * 64 bits, as that of the third has with one PE, all but 100 MB. */
static void test_too_large(void) {
  static const shmemx_kv_options_t options[] = {
      {.key_bytes = 8, .value_bytes = 1 << 20, .capacity = UINT64_C(1) << 33},
      {.key_bytes = 65536, .value_bytes = 1 << 30, .capacity = UINT64_C(1) << 40},
      {.key_bytes = 8, .value_bytes = 805306368, .capacity = 31678605480}};
  for (size_t i = 0; i < sizeof options / sizeof *options; ++i) {
    shmemx_kv_t kv = NULL;
    CHECK_FOR(i, shmemx_kv_create(&options[i], &kv), SHMEMX_KV_FULL);
  }
  test_several();
}

static void fill(shmemx_kv_t kv, int from, int to) {
  char value[100];
  for (int i = from; i < to; ++i) {
    const Key key = key_of(me, i);
    make_bytes(value, sizeof value, (uint64_t)i);
    CHECK_FOR(i, shmemx_kv_insert(kv, key.text, key.n, value, (size_t)i % 100), SHMEMX_KV_OK);
  }
  shmem_barrier_all();
}

static void expect(shmemx_kv_t kv, int keys) {
  CHECK_EQ(shmemx_kv_count(kv), (uint64_t)(keys * npes));
  for (int i = 0; i < keys; ++i) {
    const Key key = key_of(left_pe(), i);
    char value[100];
    size_t n = 0;
    CHECK_EQ(shmemx_kv_get(kv, key.text, key.n, value, sizeof value, &n), SHMEMX_KV_OK);
    CHECK_EQ(n, i % 100);
    CHECK_MADE(value, n - n % 8, (uint64_t)i);
  }
  shmem_barrier_all();
}

static void test_resize(void) {
  const uint64_t n = (uint64_t)npes;
  shmemx_kv_t kv = table_of(48, 100, 50 * n);
  fill(kv, 0, 50);
  CHECK_EQ(shmemx_kv_resize(kv, 1000 * n), SHMEMX_KV_OK);
  expect(kv, 50);
  fill(kv, 50, 1000);
  expect(kv, 1000);
  CHECK_EQ(shmemx_kv_resize(kv, 1000 * n), SHMEMX_KV_OK);
  expect(kv, 1000);
  CHECK_EQ(shmemx_kv_resize(kv, UINT64_C(1) << 40), SHMEMX_KV_FULL);
  expect(kv, 1000);
  for (int i = 0; i < rounds(400, 3); ++i) { /* all elements stay, where there is room for them or not */
    const int status = shmemx_kv_resize(kv, (i == 0 ? 10 : 250) * n);
    CHECK_EITHER(status, SHMEMX_KV_OK, SHMEMX_KV_FULL);
  }
  expect(kv, 1000);
  for (int i = 0; i < rounds(40, 4); ++i) /* what was there before is given back */
    CHECK_FOR(i, shmemx_kv_resize(kv, (20000 + 100 * (uint64_t)(i % 2)) * n), SHMEMX_KV_OK);
  expect(kv, 1000);
  for (int i = 100; i < 1000; ++i) CHECK_FOR(i, remove_key(kv, key_of(me, i)), SHMEMX_KV_OK);
  shmem_barrier_all();
  CHECK_EQ(shmemx_kv_resize(kv, 200 * n), SHMEMX_KV_OK);
  expect(kv, 100);
  fill(kv, 100, 150);
  expect(kv, 150);
  for (int i = 0; i < 150; ++i) CHECK_FOR(i, contains_key(kv, key_of(me, 150 + i)), SHMEMX_KV_NOT_FOUND);
  shmemx_kv_destroy(kv);
}

static void test_stats(void) {
  shmemx_kv_t kv = table_of(48, 2000, (uint64_t)(kKeys * npes));
  shmemx_kv_stats_t before, after;
  shmemx_kv_stats(kv, &before);
  CHECK_EQ(before.elements, 0);
  CHECK_EQ(before.block_bytes_used, 0);
  CHECK_CMP(before.block_bytes_used, <=, before.block_bytes);
  shmem_barrier_all();
  static char value[2000];
  for (int i = 0; i < kKeys; ++i) {
    const Key key = key_of(me, i);
    CHECK_EQ(shmemx_kv_put(kv, key.text, key.n, value, sizeof value), SHMEMX_KV_OK);
  }
  shmemx_kv_stats(kv, &after);
  CHECK_EQ(after.local_calls + after.remote_calls - before.local_calls - before.remote_calls, kKeys);
  shmem_barrier_all();
  shmemx_kv_stats(kv, &after);
  CHECK_EQ(after.elements, shmemx_kv_count_local(kv));
  CHECK_CMP(after.elements, <=, after.slots);
  CHECK_CMP(after.block_bytes_used, <=, after.block_bytes);
  if (nodes_of_run() == 1)
    CHECK_EQ(after.remote_calls, 0);
  else if (getenv("SHMEM_HEAP") == NULL) /* on NVM all is within reach, but some had better be asked for */
    CHECK(npes == 1 || after.remote_calls > 0);
  CHECK(after.remote_calls == 0 || after.packets > 0);
  shmemx_kv_destroy(kv);
}

/* Calls since the last time: on keys that this node has, and on others.  On NVM the library chooses. */
static void expect_calls(shmemx_kv_t kv, uint64_t local, uint64_t remote) {
  static shmemx_kv_stats_t last;
  shmemx_kv_stats_t now;
  shmemx_kv_stats(kv, &now);
  if (local + remote != 0) {
    const uint64_t far = now.remote_calls - last.remote_calls;
    CHECK_EQ(now.local_calls - last.local_calls + far, local + remote);
    if (getenv("SHMEM_HEAP") == NULL) CHECK_EQ(far, remote);
  }
  last = now;
}

/* Each key of a call is counted, those of a batch as well. */
static void test_calls(void) {
  static int keys[kKeys][2];
  static long values[kKeys];
  shmemx_kv_t kv = table_of(8, sizeof(long), (uint64_t)(kKeys * npes));
  uint64_t local = 0;
  int* word = shmem_malloc(sizeof *word);
  for (int i = 0; i < kKeys; ++i) {
    keys[i][0] = me, keys[i][1] = i;
    local += shmem_ptr(word, shmemx_kv_pe(kv, keys[i], 8)) != NULL;
  }
  shmem_free(word);
  shmemx_stats_t before, after;
  shmemx_stats_read(&before);
  expect_calls(kv, 0, 0);
  CHECK_EQ(shmemx_kv_put_batch(kv, kKeys, keys, 8, values, sizeof *values, NULL), SHMEMX_KV_OK);
  expect_calls(kv, local, kKeys - local);
  for (int i = 0; i < kKeys; ++i)
    CHECK_FOR(i, shmemx_kv_get(kv, keys[i], 8, &values[i], sizeof values[i], NULL), SHMEMX_KV_OK);
  const uint64_t asked = gets_read() ? 0 : kKeys - local;
  expect_calls(kv, kKeys - asked, asked);
  for (int i = 0; i < kKeys; ++i) shmemx_kv_remove_nbi(kv, keys[i], 8, NULL);
  shmemx_kv_quiet(kv);
  expect_calls(kv, local, kKeys - local);
  shmemx_stats_read(&after);
  shmemx_kv_stats_t all;
  shmemx_kv_stats(kv, &all);
  CHECK_EQ(after.kv_requests - before.kv_requests, all.remote_calls);
  shmemx_kv_destroy(kv);
}

static uint64_t one_home(const void* key, size_t n) { return (void)key, (void)n, 7; }

/* Elements in their slots need no blocks. Of 30 with one home, 14 are there, and the last are two groups on:
 * that is told even when another one has come to the first group since. */
static void test_shape(void) {
  const shmemx_kv_options_t options = {.key_bytes = 48,
                                       .value_bytes = 8,
                                       .capacity = (uint64_t)(100 * npes),
                                       .memory_bytes = 256 << 10,
                                       .hash = one_home};
  shmemx_kv_t kv = NULL;
  shmemx_kv_stats_t stats;
  CHECK_EQ(shmemx_kv_create(&options, &kv), SHMEMX_KV_OK);
  for (int i = 0; me == 0 && insert_long(kv, key_of(0, i), i) == SHMEMX_KV_OK;) ++i;
  shmem_barrier_all();
  shmemx_kv_stats(kv, &stats);
  CHECK_EQ(stats.block_bytes, 0);
  CHECK_EQ(stats.longest_probe, shmemx_kv_pe(kv, "", 1) == me ? 1 : 0);
  shmemx_kv_destroy(kv);
}

int main(void) {
  shmem_init();
  me = shmem_my_pe(), npes = shmem_n_pes();
  test_several();
  test_again_and_again();
  test_resize();
  test_stats();
  test_calls();
  test_shape();
  test_left();
  test_what_stays();
  test_too_large();
  shmem_finalize();
  return 0;
}
