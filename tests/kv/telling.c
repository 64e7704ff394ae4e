/* SPDX-License-Identifier: BSD-3-Clause */
/* Changes that say what was there before: insert_or_update, get_or_insert, exchange, take. */
#include "kv_check.h"

enum { kKeys = 40, kLong = 40000 };

static int me, npes;

static int exchange_long(shmemx_kv_t kv, Key key, long value, long* old) {
  size_t n = 99;
  const int status = shmemx_kv_exchange(kv, key.text, key.n, &value, sizeof value, old, sizeof *old, &n);
  CHECK_EQ(n, status == SHMEMX_KV_OK ? sizeof *old : 99);
  return status;
}
static int get_or_insert_long(shmemx_kv_t kv, Key key, long value, long* old) {
  size_t n = 99;
  const int status = shmemx_kv_get_or_insert(kv, key.text, key.n, &value, sizeof value, old, sizeof *old, &n);
  CHECK_EQ(n, status == SHMEMX_KV_OK ? sizeof *old : 99);
  return status;
}
static int take_long(shmemx_kv_t kv, Key key, long* value) {
  size_t n = 99;
  const int status = shmemx_kv_take(kv, key.text, key.n, value, sizeof *value, &n);
  CHECK_EQ(n, status == SHMEMX_KV_OK ? sizeof *value : 99);
  return status;
}

/* What each says, and leaves. */
static void test_one_after_the_other(shmemx_kv_t kv) {
  for (int i = 0; i < kKeys; ++i) {
    const Key key = key_of(me, i);
    long old = -7, value = i;
    CHECK_EQ(take_long(kv, key, &old), SHMEMX_KV_NOT_FOUND);
    CHECK_FOR(i, get_or_insert_long(kv, key, 100 + i, &old), SHMEMX_KV_INSERTED);
    CHECK_EQ(long_at(kv, key), 100 + i);
    CHECK_FOR(i, get_or_insert_long(kv, key, 200 + i, &old), SHMEMX_KV_OK);
    CHECK_EQ(old, 100 + i);
    CHECK_EQ(long_at(kv, key), 100 + i);
    CHECK_FOR(i, exchange_long(kv, key, 300 + i, &old), SHMEMX_KV_OK);
    CHECK_EQ(old, 100 + i);
    CHECK_EQ(long_at(kv, key), 300 + i);
    CHECK_FOR(i, take_long(kv, key, &old), SHMEMX_KV_OK);
    CHECK_EQ(old, 300 + i);
    CHECK_EQ(contains_key(kv, key), SHMEMX_KV_NOT_FOUND);
    CHECK_FOR(i, exchange_long(kv, key, 400 + i, &old), SHMEMX_KV_INSERTED);
    CHECK_EQ(long_at(kv, key), 400 + i);
    CHECK_FOR(i, shmemx_kv_insert_or_update(kv, key.text, key.n, &value, sizeof value), SHMEMX_KV_OK);
    CHECK_EQ(long_at(kv, key), i);
    CHECK_EQ(remove_key(kv, key), SHMEMX_KV_OK);
    CHECK_FOR(i, shmemx_kv_insert_or_update(kv, key.text, key.n, &value, sizeof value), SHMEMX_KV_INSERTED);
    CHECK_EQ(long_at(kv, key), i);
    CHECK_EQ(remove_key(kv, key), SHMEMX_KV_OK);
  }
}

/* Values of all lengths; what is written may be where the key or the new value was. */
static void test_lengths(size_t most) {
  shmemx_kv_t kv = table_of(48, most, 400);
  unsigned char* old = malloc(most + 1);
  unsigned char* value = malloc(most + 1);
  for (size_t n = 0; n <= most; n = 2 * n + 1) {
    const Key key = key_of(me, (int)(n % 1000));
    size_t told = 99;
    make_bytes(value, n, n + 1);
    CHECK_FOR(n, shmemx_kv_exchange(kv, key.text, key.n, value, n, old, most, &told), SHMEMX_KV_INSERTED);
    CHECK_EQ(told, 99);
    make_bytes(value, n, n + 2);
    if (n > 0) { /* too little room: it stays */
      CHECK_FOR(n, shmemx_kv_exchange(kv, key.text, key.n, value, n, old, n - 1, &told), SHMEMX_KV_TOO_LARGE);
      CHECK_EQ(told, n);
      CHECK_FOR(n, shmemx_kv_take(kv, key.text, key.n, old, n - 1, &told), SHMEMX_KV_TOO_LARGE);
      CHECK_FOR(n, shmemx_kv_get_or_insert(kv, key.text, key.n, value, n, old, n - 1, NULL),
                SHMEMX_KV_TOO_LARGE);
    }
    CHECK_FOR(n, shmemx_kv_get(kv, key.text, key.n, old, most, &told), SHMEMX_KV_OK);
    CHECK_MADE(old, n, n + 1);
    CHECK_FOR(n, shmemx_kv_exchange(kv, key.text, key.n, value, n, value, n, &told), SHMEMX_KV_OK);
    CHECK_EQ(told, n);
    CHECK_MADE(value, n, n + 1);
    if (most >= sizeof key) {
      memcpy(value, &key, sizeof key);
      CHECK_FOR(n, shmemx_kv_take(kv, ((Key*)value)->text, key.n, value, most, &told), SHMEMX_KV_OK);
      CHECK_EQ(told, n);
      CHECK_MADE(value, n, n + 2);
    } else {
      CHECK_FOR(n, shmemx_kv_take(kv, key.text, key.n, value, most, &told), SHMEMX_KV_OK);
    }
    CHECK_EQ(contains_key(kv, key), SHMEMX_KV_NOT_FOUND);
  }
  const Key key = key_of(me, 1);
  size_t told = 99;
  CHECK_EQ(shmemx_kv_exchange(kv, key.text, key.n, value, most + 1, old, most, &told), SHMEMX_KV_TOO_LARGE);
  CHECK_EQ(shmemx_kv_insert_or_update(kv, key.text, key.n, value, most + 1), SHMEMX_KV_TOO_LARGE);
  CHECK_EQ(told, 99);
  CHECK_EQ(contains_key(kv, key), SHMEMX_KV_NOT_FOUND);
  free(old);
  free(value);
  shmem_barrier_all();
  CHECK_EQ(shmemx_kv_count(kv), 0);
  shmemx_kv_destroy(kv);
}

/* Of all PEs at once: one inserts, one takes, and what is exchanged is seen once. */
static void test_all_at_once(shmemx_kv_t kv) {
  shmem_barrier_all();
  long inserted = 0, taken = 0, sum = 0, swapped = 0;
  for (int i = 0; i < kKeys; ++i) {
    const Key key = key_of(-1, i);
    long old = -1;
    const int status = get_or_insert_long(kv, key, me + 1, &old);
    CHECK_EITHER(status, SHMEMX_KV_OK, SHMEMX_KV_INSERTED);
    inserted += status == SHMEMX_KV_INSERTED;
    if (status == SHMEMX_KV_OK) CHECK_CMP(old, <=, npes);
    if (status == SHMEMX_KV_OK) CHECK_CMP(old, >=, 1);
  }
  CHECK_EQ(sum_of_all(inserted), kKeys);
  /* A token of each PE on each key: what goes in comes out. */
  for (int i = 0; i < kKeys; ++i) {
    long old = 0;
    CHECK_FOR(i, exchange_long(kv, key_of(-1, i), 1000 * (me + 1), &old), SHMEMX_KV_OK);
    swapped += old;
  }
  shmem_barrier_all();
  long before = 0;
  for (int i = 0; i < kKeys; ++i) {
    long value = 0;
    if (take_long(kv, key_of(-1, i), &value) == SHMEMX_KV_OK) ++taken, sum += value;
  }
  CHECK_EQ(sum_of_all(taken), kKeys);
  /* Those that were inserted first are between 1 and npes each. */
  before = sum_of_all(swapped + sum) - 1000L * kKeys * npes * (npes + 1) / 2;
  CHECK_CMP(before, >=, kKeys);
  CHECK_CMP(before, <=, (long)kKeys * npes);
  CHECK_EQ(shmemx_kv_count(kv), 0);
  shmem_barrier_all();
}

int main(void) {
  shmem_init();
  me = shmem_my_pe(), npes = shmem_n_pes();
  shmemx_kv_t kv = table_of(48, 8, 2000);
  test_one_after_the_other(kv);
  test_all_at_once(kv);
  shmemx_kv_destroy(kv);
  test_lengths(8);
  test_lengths(200);
  test_lengths(kLong);
  shmem_finalize();
  return 0;
}
