/* SPDX-License-Identifier: BSD-3-Clause */
/* What the calls on one key do and return, on keys of all PEs. */
#include "kv_check.h"

enum { kKeys = 50 };

static int me, npes;

static void test_put(shmemx_kv_t kv) {
  for (int i = 0; i < kKeys; ++i) {
    const Key key = key_of(me, i);
    long value = 77;
    CHECK_EQ(contains_key(kv, key), SHMEMX_KV_NOT_FOUND);
    CHECK_EQ(get_long(kv, key, &value), SHMEMX_KV_NOT_FOUND);
    CHECK_EQ(value, 77);
    CHECK_FOR(i, put_long(kv, key, i), SHMEMX_KV_OK);
    CHECK_EQ(contains_key(kv, key), SHMEMX_KV_OK);
    CHECK_EQ(long_at(kv, key), i);
    CHECK_FOR(i, put_long(kv, key, -i), SHMEMX_KV_OK);
    CHECK_EQ(long_at(kv, key), -i);
  }
}

/* All PEs see what all have put, and who has it. */
static void test_seen_by_all(shmemx_kv_t kv) {
  static int mine[kKeys], theirs[kKeys];
  shmem_barrier_all();
  for (int i = 0; i < kKeys; ++i) {
    for (int pe = 0; pe < npes; ++pe) CHECK_OF_PE(pe, long_at(kv, key_of(pe, i)), -i);
    const Key key = key_of(0, i);
    mine[i] = shmemx_kv_pe(kv, key.text, key.n);
    CHECK_CMP_AT(mine, i, >=, 0);
    CHECK_CMP_AT(mine, i, <, npes);
  }
  shmem_barrier_all();
  shmem_int_get(theirs, mine, kKeys, 0);
  for (int i = 0; i < kKeys; ++i) CHECK_AT(mine, i, theirs[i]);
  CHECK_EQ(shmemx_kv_count(kv), (uint64_t)kKeys * (uint64_t)npes);
  CHECK_EQ(sum_of_all((long)shmemx_kv_count_local(kv)), (long)kKeys * npes);
  shmem_barrier_all();
}

static void test_insert_and_update(shmemx_kv_t kv) {
  for (int i = 0; i < kKeys; ++i) {
    const Key key = key_of(me, i), other = key_of(me, i + kKeys);
    CHECK_EQ(insert_long(kv, key, 1000), SHMEMX_KV_EXISTS);
    CHECK_EQ(long_at(kv, key), -i);
    CHECK_FOR(i, update_long(kv, key, 2000 + i), SHMEMX_KV_OK);
    CHECK_EQ(long_at(kv, key), 2000 + i);
    CHECK_EQ(update_long(kv, other, 1), SHMEMX_KV_NOT_FOUND);
    CHECK_EQ(contains_key(kv, other), SHMEMX_KV_NOT_FOUND);
    CHECK_FOR(i, insert_long(kv, other, 3000 + i), SHMEMX_KV_OK);
    CHECK_EQ(long_at(kv, other), 3000 + i);
    CHECK_EQ(insert_long(kv, other, 1), SHMEMX_KV_EXISTS);
  }
}

static void test_remove(shmemx_kv_t kv) {
  shmem_barrier_all();
  const int left = left_pe(); /* whose keys I remove */
  for (int i = 0; i < 2 * kKeys; ++i) {
    const Key key = key_of(left, i);
    CHECK_EQ(remove_key(kv, key), SHMEMX_KV_OK);
    CHECK_EQ(contains_key(kv, key), SHMEMX_KV_NOT_FOUND);
    CHECK_EQ(remove_key(kv, key), SHMEMX_KV_NOT_FOUND);
    CHECK_EQ(update_long(kv, key, 1), SHMEMX_KV_NOT_FOUND);
  }
  shmem_barrier_all();
  CHECK_EQ(shmemx_kv_count(kv), 0);
  CHECK_EQ(shmemx_kv_count_local(kv), 0);
  shmem_barrier_all();
  for (int i = 0; i < kKeys; ++i) {
    CHECK_FOR(i, insert_long(kv, key_of(me, i), i), SHMEMX_KV_OK);
    CHECK_FOR(i, remove_key(kv, key_of(me, i)), SHMEMX_KV_OK);
  }
  shmem_barrier_all();
}

/* Too little room: nothing is written, and the length is told. */
static void test_room(shmemx_kv_t kv) {
  for (int i = 0; i < kKeys; ++i) {
    const Key key = key_of(me, i);
    char value[64], read[64];
    make_bytes(value, sizeof value, (uint64_t)i);
    CHECK_FOR(i, shmemx_kv_put(kv, key.text, key.n, value, (size_t)i), SHMEMX_KV_OK);
    memset(read, 'x', sizeof read);
    size_t n = 99;
    if (i > 0) {
      CHECK_FOR(i, shmemx_kv_get(kv, key.text, key.n, read, (size_t)i - 1, &n), SHMEMX_KV_TOO_LARGE);
      CHECK_EQ(n, i);
      CHECK_EQ(shmemx_kv_get(kv, key.text, key.n, read, 0, NULL), SHMEMX_KV_TOO_LARGE);
      CHECK_FOR(i, shmemx_kv_get_wait(kv, key.text, key.n, read, (size_t)i - 1, &n), SHMEMX_KV_TOO_LARGE);
    }
    for (size_t k = 0; k < sizeof read; ++k) CHECK_AT(read, k, 'x');
    CHECK_FOR(i, shmemx_kv_get(kv, key.text, key.n, read, (size_t)i, &n), SHMEMX_KV_OK);
    CHECK_EQ(n, i);
    CHECK_BYTES(read, value, (size_t)i);
    CHECK_AT(read, i, 'x');
    CHECK_EQ(shmemx_kv_get(kv, key.text, key.n, read, sizeof read, NULL), SHMEMX_KV_OK);
    CHECK_AT(read, i, 'x');
    CHECK_EQ(remove_key(kv, key), SHMEMX_KV_OK);
  }
}

/* Keys are strings of bytes, zeros included, and no beginning of one is another. */
static void test_keys_that_look_alike(shmemx_kv_t kv) {
  unsigned char key[48] = {(unsigned char)me};
  for (size_t n = 1; n <= sizeof key; ++n)
    CHECK_FOR(n, shmemx_kv_insert(kv, key, n, &n, sizeof n), SHMEMX_KV_OK);
  for (size_t n = 1; n <= sizeof key; ++n) {
    size_t value = 0;
    CHECK_FOR(n, shmemx_kv_get(kv, key, n, &value, sizeof value, NULL), SHMEMX_KV_OK);
    CHECK_EQ(value, n);
    CHECK_FOR(n, shmemx_kv_remove(kv, key, n), SHMEMX_KV_OK);
    if (n < sizeof key) CHECK_FOR(n, shmemx_kv_contains(kv, key, n + 1), SHMEMX_KV_OK);
  }
}

/* A table of keys alone. */
static void test_keys_only(void) {
  shmemx_kv_t kv = table_of(48, 0, 400);
  for (int i = 0; i < kKeys; ++i) {
    const Key key = key_of(me, i);
    size_t n = 99;
    CHECK_EQ(shmemx_kv_insert(kv, key.text, key.n, NULL, 0), SHMEMX_KV_OK);
    CHECK_EQ(shmemx_kv_insert(kv, key.text, key.n, NULL, 0), SHMEMX_KV_EXISTS);
    CHECK_EQ(shmemx_kv_put(kv, key.text, key.n, "", 0), SHMEMX_KV_OK);
    CHECK_EQ(shmemx_kv_update(kv, key.text, key.n, NULL, 0), SHMEMX_KV_OK);
    CHECK_EQ(shmemx_kv_get(kv, key.text, key.n, NULL, 0, &n), SHMEMX_KV_OK);
    CHECK_EQ(n, 0);
    const int64_t one = 1;
    CHECK_EQ(shmemx_kv_accumulate(kv, key.text, key.n, 0, SHMEMX_KV_INT64, SHMEMX_KV_ADD, &one, NULL),
             SHMEMX_KV_TOO_LARGE);
  }
  shmem_barrier_all();
  CHECK_EQ(shmemx_kv_count(kv), (uint64_t)kKeys * (uint64_t)npes);
  shmemx_kv_destroy(kv);
}

int main(void) {
  shmem_init();
  me = shmem_my_pe(), npes = shmem_n_pes();
  shmemx_kv_t kv = table_of(48, 64, 2000);
  CHECK_EQ(shmemx_kv_count(kv), 0);
  shmem_barrier_all();
  test_put(kv);
  test_seen_by_all(kv);
  test_insert_and_update(kv);
  test_remove(kv);
  test_room(kv);
  test_keys_that_look_alike(kv);
  shmemx_kv_destroy(kv);
  test_keys_only();
  shmem_finalize();
  return 0;
}
