/* SPDX-License-Identifier: BSD-3-Clause */
/* SHMEM_KV_MATCH=entry: what there is, is found by the network's matching, however it came; what is gone is
 * not. Without it, or on one node, the same calls give the same results. */
#include "kv_check.h"

enum { kKeys = 200 };

static int me, npes, matches;

typedef struct {
  long matched, unmatched, added, remote;
} Counts;

/* Of all PEs since the last call. */
static Counts counts(shmemx_kv_t kv) {
  static uint64_t before[4];
  shmemx_stats_t stats;
  shmemx_kv_stats_t table;
  shmem_barrier_all();
  shmemx_stats_read(&stats);
  shmemx_kv_stats(kv, &table);
  const uint64_t now[4] = {stats.kv_matched, stats.kv_unmatched, stats.kv_added, table.remote_calls};
  long sums[4];
  for (int i = 0; i < 4; ++i) {
    sums[i] = sum_of_all((long)(now[i] - (now[i] >= before[i] ? before[i] : 0)));
    before[i] = now[i];
  }
  const Counts result = {sums[0], sums[1], sums[2], sums[3]};
  return result;
}

/* All keys of all PEs, `there` or not: until the lists have followed, and nothing but what is there is
 * matched. Each key by one PE at a time: an entry that has been matched is not there until it is posted
 * again. */
static void read_until_listed(shmemx_kv_t kv, int first, int last, int there) {
  int followed = 0; /* passes */
  for (int tries = 0; tries < 200; ++tries) {
    const int pe = (me + tries) % npes;
    counts(kv);
    for (int i = first; i < last; ++i) {
      long value = -1;
      CHECK_FOR(i, get_long(kv, key_of(pe, i), &value), there ? SHMEMX_KV_OK : SHMEMX_KV_NOT_FOUND);
      if (there) CHECK_EQ(value, pe * 1000 + i);
    }
    const Counts now = counts(kv);
    CHECK_EQ(now.matched + now.unmatched, matches ? now.remote : 0);
    CHECK_EQ(now.added, 0);
    followed = (there ? now.unmatched : now.matched) == 0 ? followed + 1 : 0;
    if (followed == npes) return;
  }
  CHECK(!"the lists never follow");
}

/* From any PE, to any other. */
static void test_what_came_one_by_one(void) {
  shmemx_kv_t kv = table_of(48, 8, (uint64_t)(kKeys * npes));
  counts(kv);
  for (int i = 0; i < kKeys; ++i) CHECK_FOR(i, insert_long(kv, key_of(me, i), me * 1000 + i), SHMEMX_KV_OK);
  const Counts now = counts(kv);
  CHECK_EQ(now.added, matches ? now.remote : 0);
  shmemx_kv_stats_t stats;
  shmemx_kv_stats(kv, &stats);
  CHECK_EQ(stats.packets, stats.remote_calls); /* by either engine */
  read_until_listed(kv, 0, kKeys, 1);
  for (int i = 0; i < kKeys; ++i)
    CHECK_FOR(i, insert_long(kv, key_of((me + 1) % npes, i), 0), SHMEMX_KV_EXISTS);
  read_until_listed(kv, 0, kKeys, 1);
  for (int i = 0; i < kKeys; i += 1) CHECK_FOR(i, remove_key(kv, key_of(me, i)), SHMEMX_KV_OK);
  read_until_listed(kv, 0, kKeys, 0);
  for (int i = 0; i < kKeys; ++i) CHECK_FOR(i, put_long(kv, key_of(me, i), me * 1000 + i), SHMEMX_KV_OK);
  read_until_listed(kv, 0, kKeys, 1);
  shmemx_kv_destroy(kv);
}

/* What goes another way is found, too, before the lists have followed and afterwards. */
static void test_what_came_together(void) {
  shmemx_kv_t kv = table_of(48, 8, (uint64_t)(kKeys * npes));
  for (int i = 0; i < kKeys; ++i) {
    const long value = me * 1000 + i;
    const Key key = key_of(me, i);
    if (i % 2) {
      shmemx_kv_insert_nbi(kv, key.text, key.n, &value, 8, NULL);
      if (i % 3 == 0) CHECK_EQ(long_at(kv, key), value); /* not past it */
    } else {
      int status = -1;
      CHECK_EQ(shmemx_kv_put_batch(kv, 1, key.text, key.n, &value, 8, &status), SHMEMX_KV_OK);
      CHECK_EQ(long_at(kv, key), value);
    }
  }
  shmemx_kv_quiet(kv);
  read_until_listed(kv, 0, kKeys, 1);
  CHECK_EQ(shmemx_kv_resize(kv, (uint64_t)(3 * kKeys * npes)), SHMEMX_KV_OK);
  read_until_listed(kv, 0, kKeys, 1);
  for (int i = 0; i < kKeys / 2; ++i) {
    const Key key = key_of(me, i);
    shmemx_kv_remove_nbi(kv, key.text, key.n, NULL);
  }
  shmemx_kv_quiet(kv);
  read_until_listed(kv, 0, kKeys / 2, 0);
  read_until_listed(kv, kKeys / 2, kKeys, 1);
  CHECK_EQ(shmemx_kv_count(kv), (uint64_t)(kKeys / 2 * npes));
  shmemx_kv_destroy(kv);
}

/* All PEs on the same elements. */
static void test_words(void) {
  shmemx_kv_t kv = table_of(48, 64, 64);
  const uint64_t one = 1;
  const char zeros[64] = {0};
  for (int i = 0; i < 8; ++i) {
    const Key key = key_of(npes, i);
    if (i % npes == me) CHECK_EQ(shmemx_kv_insert(kv, key.text, key.n, zeros, sizeof zeros), SHMEMX_KV_OK);
  }
  shmem_barrier_all();
  for (int i = 0; i < 800; ++i) {
    const Key key = key_of(npes, i % 8);
    uint64_t old = ~one;
    CHECK_EQ(shmemx_kv_accumulate(kv, key.text, key.n, 8, SHMEMX_KV_UINT64, SHMEMX_KV_ADD, &one, &old),
             SHMEMX_KV_OK);
    CHECK_CMP(old, <, (uint64_t)(100 * npes));
    for (uint64_t was = 0, next;; was = next) { /* a counter of its own, by compare_swap */
      const uint64_t more = was + 1;
      const int status = shmemx_kv_compare_swap(kv, key.text, key.n, 16, 8, &was, &more, &next);
      if (status == SHMEMX_KV_OK) break;
      CHECK_EQ(status, SHMEMX_KV_MISMATCH);
    }
  }
  shmem_barrier_all();
  for (int i = 0; i < 8; ++i) {
    uint64_t value[8];
    size_t n = 0;
    const Key key = key_of(npes, i);
    CHECK_EQ(shmemx_kv_get(kv, key.text, key.n, value, sizeof value, &n), SHMEMX_KV_OK);
    CHECK_EQ(n, sizeof value);
    CHECK_EQ(value[1], 100 * npes);
    CHECK_EQ(value[2], 100 * npes);
    CHECK_EQ(shmemx_kv_get(kv, key.text, key.n, value, 8, &n), SHMEMX_KV_TOO_LARGE);
    CHECK_EQ(n, sizeof value);
  }
  const Key none = key_of(npes, 100);
  CHECK_EQ(shmemx_kv_accumulate(kv, none.text, none.n, 0, SHMEMX_KV_UINT64, SHMEMX_KV_ADD, &one, NULL),
           SHMEMX_KV_NOT_FOUND);
  CHECK_EQ(shmemx_kv_update(kv, none.text, none.n, &one, 8), SHMEMX_KV_NOT_FOUND);
  shmemx_kv_destroy(kv);
}

static uint64_t length(const void* key, size_t n) { return (void)key, n; }

/* A hash that matches is not yet a key that does. */
static void test_collisions(int report) {
  const shmemx_kv_options_t options = {.key_bytes = 48,
                                       .value_bytes = 8,
                                       .capacity = (uint64_t)(64 * npes),
                                       .hash = length,
                                       .report_collisions = report};
  shmemx_kv_t kv;
  CHECK_EQ(shmemx_kv_create(&options, &kv), SHMEMX_KV_OK);
  char a[48], b[48];
  memset(a, 'a', sizeof a);
  memset(b, 'b', sizeof b);
  for (size_t n = 1 + (size_t)me; n <= sizeof a; n += (size_t)npes) {
    long value = (long)n;
    CHECK_FOR(n, shmemx_kv_insert(kv, a, n, &value, 8), SHMEMX_KV_OK);
    CHECK_FOR(n, shmemx_kv_get(kv, b, n, &value, 8, NULL), SHMEMX_KV_NOT_FOUND);
    value = -value;
    CHECK_FOR(n, shmemx_kv_insert(kv, b, n, &value, 8), report ? SHMEMX_KV_COLLISION : SHMEMX_KV_OK);
    CHECK_FOR(n, shmemx_kv_get(kv, a, n, &value, 8, NULL), SHMEMX_KV_OK);
    CHECK_EQ(value, n);
    CHECK_FOR(n, shmemx_kv_remove(kv, a, n), SHMEMX_KV_OK);
    CHECK_FOR(n, shmemx_kv_get(kv, b, n, &value, 8, NULL), report ? SHMEMX_KV_NOT_FOUND : SHMEMX_KV_OK);
    if (!report) CHECK_EQ(value, -(long)n);
  }
  shmemx_kv_destroy(kv);
}

/* What is too long for an entry of the list goes the other way. */
static void test_lengths(void) {
  enum { kLongest = 1100 };
  shmemx_kv_t kv = table_of(48, kLongest, (uint64_t)(100 * npes));
  unsigned char value[kLongest];
  for (size_t n = 868; n <= kLongest; n += 8) {
    const Key key = key_of(me, (int)n);
    size_t found = 0;
    make_bytes(value, n, n);
    CHECK_EQ(shmemx_kv_put(kv, key.text, key.n, value, n), SHMEMX_KV_OK);
    memset(value, 0, sizeof value);
    CHECK_EQ(shmemx_kv_get(kv, key.text, key.n, value, sizeof value, &found), SHMEMX_KV_OK);
    CHECK_EQ(found, n);
    CHECK(bytes_are(value, n, n));
  }
  shmemx_kv_destroy(kv);
}

/* An owner that computes, and another that waits for something else. */
static void test_who_is_busy(void) {
  shmemx_kv_t kv = table_of(48, 8, (uint64_t)(kKeys * npes));
  for (int i = 0; i < kKeys; ++i) CHECK_FOR(i, insert_long(kv, key_of(me, i), i), SHMEMX_KV_OK);
  shmem_barrier_all();
  const double start = now_seconds();
  if (me == 0) {
    for (int i = 0; i < kKeys; ++i) CHECK_FOR(i, long_at(kv, key_of(npes - 1, i)), i);
  } else if (me == npes - 1) {
    while (now_seconds() < start + 0.3) continue;
  }
  shmem_barrier_all();
  CHECK_CMP(now_seconds(), <, start + 60);
  shmemx_kv_destroy(kv);
}

int main(void) {
  shmem_init();
  me = shmem_my_pe();
  npes = shmem_n_pes();
  const char* engine = getenv("SHMEM_KV_MATCH");
  matches = engine != NULL && strcmp(engine, "entry") == 0;
  test_what_came_one_by_one();
  test_what_came_together();
  test_words();
  test_collisions(0);
  test_collisions(1);
  test_lengths();
  test_who_is_busy();
  /* Two at a time, and one that is left to shmem_finalize. */
  shmemx_kv_t first = table_of(48, 8, 100), second = table_of(48, 8, 100);
  CHECK_EQ(put_long(first, key_of(me, 1), 1), SHMEMX_KV_OK);
  CHECK_EQ(put_long(second, key_of(me, 1), 2), SHMEMX_KV_OK);
  shmem_barrier_all();
  CHECK_EQ(long_at(first, key_of(right_pe(), 1)), 1);
  shmemx_kv_destroy(first);
  CHECK_EQ(long_at(second, key_of(right_pe(), 1)), 2);
  shmem_finalize();
  return 0;
}
