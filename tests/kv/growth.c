/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables that grow while all PEs insert, and others read and remove: nothing is lost, and what was inserted
 * is found from then on. */
#include "kv_check.h"

enum { kMostKeys = 6000, kMostValue = 320, kAtOnce = 50 };

static int me, npes;
static long* said; /* keys that this PE has inserted, as others may know */

static size_t length_of(int i, size_t longest) {
  return longest < 16 ? longest : (size_t)(i * 7) % longest + 1;
}

static void check_key(shmemx_kv_t kv, int pe, int i, size_t longest) {
  unsigned char value[kMostValue];
  const Key key = key_of(pe, i);
  size_t n = 0;
  const int status = shmemx_kv_get(kv, key.text, key.n, value, sizeof value, &n);
  if (i % 5 == 4) { /* it is removed again at some time */
    CHECK_EITHER(status, SHMEMX_KV_OK, SHMEMX_KV_NOT_FOUND);
    if (status != SHMEMX_KV_OK) return;
  } else {
    CHECK_FOR(i, status, SHMEMX_KV_OK);
  }
  CHECK_EQ(n, length_of(i, longest));
  CHECK_MADE(value, n, (uint64_t)i);
}

static void insert(shmemx_kv_t kv, int i, size_t longest) {
  unsigned char value[kMostValue];
  const Key key = key_of(me, i);
  make_bytes(value, length_of(i, longest), (uint64_t)i);
  if (i % 3 == 0)
    shmemx_kv_insert_nbi(kv, key.text, key.n, value, length_of(i, longest), NULL);
  else
    CHECK_FOR(i, shmemx_kv_put(kv, key.text, key.n, value, length_of(i, longest)), SHMEMX_KV_OK);
}

static void check_all(shmemx_kv_t kv, int keys, size_t longest) {
  CHECK_EQ(shmemx_kv_count(kv), (uint64_t)npes * (uint64_t)(keys - keys / 5));
  for (int i = 0; i < keys; ++i) {
    if (i % 5 == 4)
      CHECK_FOR(i, contains_key(kv, key_of(left_pe(), i)), SHMEMX_KV_NOT_FOUND);
    else
      check_key(kv, left_pe(), i, longest);
  }
  long mine = 0;
  char key[48];
  for (uint64_t cursor = 0;
       shmemx_kv_next_local(kv, &cursor, key, sizeof key, NULL, NULL, 0, NULL) == SHMEMX_KV_OK;)
    ++mine;
  CHECK_EQ(mine, (long)shmemx_kv_count_local(kv));
}

static void test(size_t longest, size_t memory, int keys) {
  const int grows = getenv("SHMEM_KV_MATCH") == NULL; /* the other engine's do not */
  shmemx_kv_t kv = table_within(48, longest, grows ? 100 : (uint64_t)(keys * npes), memory);
  Random dice = {(uint64_t)me};
  shmemx_kv_stats_t before, after;
  shmemx_kv_stats(kv, &before);
  *said = 0;
  shmem_barrier_all();
  for (int i = 0; i < keys; ++i) {
    insert(kv, i, longest);
    if (i % kAtOnce == kAtOnce - 1) {
      shmemx_kv_quiet(kv);
      shmem_long_atomic_set(said, i + 1, me);
      for (int k = i - kAtOnce + 1; k <= i; ++k)
        if (k % 5 == 4) CHECK_FOR(k, remove_key(kv, key_of(me, k)), SHMEMX_KV_OK);
    }
    if (i % 4 != 0) continue;
    const int pe = (int)random_below(&dice, (uint64_t)npes);
    const long there = shmem_long_atomic_fetch(said, pe);
    if (there > 0) check_key(kv, pe, (int)random_below(&dice, (uint64_t)there), longest);
    CHECK_FOR(i, contains_key(kv, key_of(pe, kMostKeys + i)), SHMEMX_KV_NOT_FOUND);
  }
  shmemx_kv_quiet(kv);
  shmem_barrier_all();
  check_all(kv, keys, longest);
  shmemx_kv_stats(kv, &after);
  CHECK_CMP(after.slots, >=, after.elements);
  if (grows && keys >= 3000) CHECK_CMP(after.slots, >, before.slots);
  shmem_barrier_all();
  CHECK_EQ(shmemx_kv_resize(kv, (uint64_t)(keys * npes)), SHMEMX_KV_OK);
  check_all(kv, keys, longest);
  shmemx_kv_destroy(kv);
}

/* Where the old value goes is where the operand is: an insertion that has to make room first tries again
 * with it. */
static void test_old_values(int keys) {
  const int grows = getenv("SHMEM_KV_MATCH") == NULL, again = keys / 10;
  shmemx_kv_t kv = table_within(48, 8, grows ? 100 : (uint64_t)(keys * npes), (size_t)2 << 20);
  for (int i = 0; i < keys + again; ++i) {
    const Key key = key_of(me, i % keys);
    const int64_t operand = i % keys + 1;
    int64_t both = operand;
    CHECK_FOR(i, shmemx_kv_upsert(kv, key.text, key.n, SHMEMX_KV_INT64, SHMEMX_KV_ADD, &both, &both),
              SHMEMX_KV_OK);
    CHECK_FOR(i, both, i < keys ? 0 : operand);
  }
  shmem_barrier_all();
  shmemx_kv_stats_t stats;
  shmemx_kv_stats(kv, &stats);
  if (grows && keys >= 2000) CHECK_CMP(stats.slots, >, 1792); /* those of a segment */
  for (uint64_t cursor = 0;;) {
    char key[48];
    size_t n;
    int64_t value;
    if (shmemx_kv_next_local(kv, &cursor, key, sizeof key, &n, &value, sizeof value, NULL) != SHMEMX_KV_OK)
      break;
    CHECK_CMP(value, >, 0); /* the operand, not what it was overwritten with */
  }
  for (int i = 0; i < again; ++i) {
    const Key key = key_of(me, i);
    int64_t value = 0;
    CHECK_FOR(i, shmemx_kv_get(kv, key.text, key.n, &value, sizeof value, NULL), SHMEMX_KV_OK);
    CHECK_FOR(i, value, 2 * (i + 1));
  }
  shmemx_kv_destroy(kv);
}

int main(void) {
  shmem_init();
  me = shmem_my_pe(), npes = shmem_n_pes();
  said = shmem_calloc(1, sizeof *said);
  const int on_pages = getenv("SHMEM_HEAP") != NULL; /* where each page comes when it is needed */
  const int keys = on_pages ? 20 * kAtOnce : kAtOnce * (int)rounds(kMostKeys / kAtOnce, 60);
  test(8, (size_t)2 << 20, keys);
  test(16, (size_t)2 << 20, keys);
  test(kMostValue, (size_t)6 << 20, keys);
  test_old_values(keys < 2000 ? keys : 2000);
  shmem_free(said);
  shmem_finalize();
  return 0;
}
