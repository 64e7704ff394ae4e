/* SPDX-License-Identifier: BSD-3-Clause */
/* Hash functions of the program: good ones, and bad ones, with which the table is slow and never wrong. */
#include "kv_check.h"

static int me, npes;

/* FNV-1a. */
static uint64_t good(const void* key, size_t n) {
  uint64_t hash = 1469598103934665603u;
  for (size_t i = 0; i < n; ++i) hash = (hash ^ ((const unsigned char*)key)[i]) * 1099511628211u;
  return hash;
}
static uint64_t constant(const void* key, size_t n) { return (void)key, (void)n, 42; }
static uint64_t zero(const void* key, size_t n) { return (void)key, (void)n, 0; }
static uint64_t all_ones(const void* key, size_t n) { return (void)key, (void)n, UINT64_MAX; }
static uint64_t length(const void* key, size_t n) { return (void)key, n; }
static uint64_t two_bits(const void* key, size_t n) { return good(key, n) >> 62; }
static uint64_t top_byte(const void* key, size_t n) { return good(key, n) << 56; }

static shmemx_kv_t table(uint64_t (*hash)(const void*, size_t), int report, int keys) {
  /* Room for all elements on each PE, as all may be on one. */
  const shmemx_kv_options_t options = {.key_bytes = 48,
                                       .value_bytes = 8,
                                       .capacity = (uint64_t)(keys * npes * npes),
                                       .hash = hash,
                                       .report_collisions = report};
  shmemx_kv_t kv = NULL;
  CHECK_EQ(shmemx_kv_create(&options, &kv), SHMEMX_KV_OK);
  return kv;
}

/* All keys are kept, whatever their hash. */
static void test_kept(uint64_t (*hash)(const void*, size_t), int keys) {
  shmemx_kv_t kv = table(hash, 0, keys);
  for (int i = 0; i < keys; ++i) {
    CHECK_FOR(i, insert_long(kv, key_of(me, i), i), SHMEMX_KV_OK);
    CHECK_FOR(i, insert_long(kv, key_of(me, i), -1), SHMEMX_KV_EXISTS);
  }
  shmem_barrier_all();
  CHECK_EQ(shmemx_kv_count(kv), (uint64_t)(keys * npes));
  for (int i = 0; i < keys; ++i) CHECK_FOR(i, long_at(kv, key_of(right_pe(), i)), i);
  shmem_barrier_all();
  for (int i = 0; i < keys; i += 2) CHECK_FOR(i, remove_key(kv, key_of(me, i)), SHMEMX_KV_OK);
  for (int i = 0; i < keys; ++i)
    CHECK_FOR(i, contains_key(kv, key_of(me, i)), i % 2 ? SHMEMX_KV_OK : SHMEMX_KV_NOT_FOUND);
  for (int i = 1; i < keys; i += 2) CHECK_FOR(i, update_long(kv, key_of(me, i), -i), SHMEMX_KV_OK);
  for (int i = 0; i < keys; i += 4) CHECK_FOR(i, put_long(kv, key_of(me, i), 7), SHMEMX_KV_OK);
  shmem_barrier_all();
  for (int i = 1; i < keys; i += 2) CHECK_FOR(i, long_at(kv, key_of(left_pe(), i)), -i);
  for (int i = 0; i < keys; i += 4) CHECK_FOR(i, long_at(kv, key_of(left_pe(), i)), 7);
  CHECK_EQ(shmemx_kv_count(kv), (uint64_t)((keys / 2 + (keys + 3) / 4) * npes));
  shmemx_kv_destroy(kv);
}

/* All keys of a table have one length, its longest, and the function does not look at it: what the library
 * asks for the hash of on its own account is as long. */
enum { kWhole = 48 };
static uint64_t of_whole(const void* key, size_t n) {
  CHECK_EQ(n, kWhole);
  return good(key, kWhole);
}
static void test_whole_keys(int report) {
  enum { kFew = 50 };
  shmemx_kv_t kv = table(of_whole, report, kFew);
  char key[kWhole];
  for (int resized = 0; resized < 2; ++resized) {
    for (int i = resized * kFew; i < (resized + 1) * kFew; ++i) {
      memset(key, '.', sizeof key);
      snprintf(key, sizeof key, "%d of PE %d", i, me);
      CHECK_FOR(i, shmemx_kv_insert(kv, key, sizeof key, &i, sizeof i), SHMEMX_KV_OK);
    }
    shmem_barrier_all();
    for (int i = 0; i < (resized + 1) * kFew; ++i) {
      int found = -1;
      memset(key, '.', sizeof key);
      snprintf(key, sizeof key, "%d of PE %d", i, right_pe());
      CHECK_FOR(i, shmemx_kv_get(kv, key, sizeof key, &found, sizeof found, NULL), SHMEMX_KV_OK);
      CHECK_EQ(found, i);
    }
    shmem_barrier_all();
    CHECK_EQ(shmemx_kv_resize(kv, (uint64_t)(3 * kFew * npes * npes)), SHMEMX_KV_OK);
  }
  shmemx_kv_destroy(kv);
}

/* With report_collisions the second key of a hash is refused, by each call that would bring it in. */
static void test_reported(void) {
  const uint64_t one = 1;
  shmemx_kv_t kv = table(length, 1, 48);
  char key[48];
  shmem_barrier_all();
  for (size_t n = 1 + (size_t)me; n <= sizeof key; n += (size_t)npes) {
    long value = 1;
    memset(key, 'a', sizeof key);
    CHECK_FOR(n, shmemx_kv_insert(kv, key, n, &value, 8), SHMEMX_KV_OK);
    CHECK_FOR(n, shmemx_kv_insert(kv, key, n, &value, 8), SHMEMX_KV_EXISTS);
    key[n - 1] = 'b';
    CHECK_FOR(n, shmemx_kv_insert(kv, key, n, &value, 8), SHMEMX_KV_COLLISION);
    CHECK_FOR(n, shmemx_kv_put(kv, key, n, &value, 8), SHMEMX_KV_COLLISION);
    CHECK_FOR(n, shmemx_kv_upsert(kv, key, n, SHMEMX_KV_UINT64, SHMEMX_KV_ADD, &one, NULL),
              SHMEMX_KV_COLLISION);
    CHECK_FOR(n, shmemx_kv_contains(kv, key, n), SHMEMX_KV_NOT_FOUND);
    CHECK_FOR(n, shmemx_kv_get(kv, key, n, &value, 8, NULL), SHMEMX_KV_NOT_FOUND);
    CHECK_FOR(n, shmemx_kv_update(kv, key, n, &value, 8), SHMEMX_KV_NOT_FOUND);
    CHECK_FOR(n, shmemx_kv_remove(kv, key, n), SHMEMX_KV_NOT_FOUND);
    int status = -1;
    shmemx_kv_put_nbi(kv, key, n, &value, 8, &status);
    shmemx_kv_quiet(kv);
    CHECK_EQ(status, SHMEMX_KV_COLLISION);
    CHECK_FOR(n, shmemx_kv_put_batch(kv, 1, key, n, &value, 8, &status), SHMEMX_KV_COLLISION);
    CHECK_EQ(status, SHMEMX_KV_COLLISION);
    key[n - 1] = 'a'; /* the first is as it was, and can do all */
    value = 2;
    CHECK_FOR(n, shmemx_kv_put(kv, key, n, &value, 8), SHMEMX_KV_OK);
    CHECK_FOR(n, shmemx_kv_upsert(kv, key, n, SHMEMX_KV_UINT64, SHMEMX_KV_ADD, &one, NULL), SHMEMX_KV_OK);
    CHECK_FOR(n, shmemx_kv_get(kv, key, n, &value, 8, NULL), SHMEMX_KV_OK);
    CHECK_EQ(value, 3);
    CHECK_FOR(n, shmemx_kv_remove(kv, key, n), SHMEMX_KV_OK);
    key[n - 1] = 'b'; /* no key has this hash any more */
    CHECK_FOR(n, shmemx_kv_put(kv, key, n, &value, 8), SHMEMX_KV_OK);
    key[n - 1] = 'a';
    CHECK_FOR(n, shmemx_kv_insert(kv, key, n, &value, 8), SHMEMX_KV_COLLISION);
  }
  shmem_barrier_all();
  CHECK_EQ(shmemx_kv_count(kv), sizeof key);
  CHECK_EQ(shmemx_kv_resize(kv, (uint64_t)(100 * npes * npes)), SHMEMX_KV_OK); /* reports them, too */
  for (size_t n = 1 + (size_t)me; n <= sizeof key; n += (size_t)npes) {
    memset(key, 'a', sizeof key);
    CHECK_FOR(n, shmemx_kv_insert(kv, key, n, &one, 8), SHMEMX_KV_COLLISION);
  }
  shmem_barrier_all();
  CHECK_EQ(shmemx_kv_count(kv), sizeof key);
  shmemx_kv_destroy(kv);
}

/* Of keys with the same hash that all insert at once exactly one is in. */
static void test_one_of_all(void) {
  shmemx_kv_t kv = table(constant, 1, 4);
  for (int round = 0; round < rounds(200, 20); ++round) {
    shmem_barrier_all();
    const int status = insert_long(kv, key_of(me, round), me);
    CHECK_EITHER(status, SHMEMX_KV_OK, SHMEMX_KV_COLLISION);
    CHECK_EQ(sum_of_all(status == SHMEMX_KV_OK), 1);
    CHECK_EQ(shmemx_kv_count(kv), 1);
    shmem_barrier_all();
    CHECK_FOR(round, remove_key(kv, key_of(me, round)),
              status == SHMEMX_KV_OK ? SHMEMX_KV_OK : SHMEMX_KV_NOT_FOUND);
  }
  shmemx_kv_destroy(kv);
}

/* With a good hash nothing is reported, by the built-in function nor by one of the program. */
static void test_none(uint64_t (*hash)(const void*, size_t)) {
  shmemx_kv_t kv = table(hash, 1, 500);
  for (int i = 0; i < 500; ++i) CHECK_FOR(i, insert_long(kv, key_of(me, i), i), SHMEMX_KV_OK);
  shmem_barrier_all();
  for (int i = 0; i < 500; ++i) CHECK_FOR(i, long_at(kv, key_of(right_pe(), i)), i);
  shmemx_kv_destroy(kv);
}

int main(void) {
  shmem_init();
  me = shmem_my_pe(), npes = shmem_n_pes();
  const int few = rounds(150, 40);
  test_kept(good, 500);
  test_kept(NULL, 500);
  test_kept(constant, few);
  test_kept(zero, few);
  test_kept(all_ones, few);
  test_kept(length, few);
  test_kept(two_bits, few);
  test_kept(top_byte, few);
  test_whole_keys(0);
  test_whole_keys(1);
  test_reported();
  test_one_of_all();
  test_none(good);
  test_none(NULL);
  shmem_finalize();
  return 0;
}
