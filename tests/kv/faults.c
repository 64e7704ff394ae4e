/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables in memory, and all that calls are passed in the heap on NVM, of which few pages are in memory: one
 * may have to come while a key is looked for, a value copied, or an answer taken in. */
#include "kv_check.h"

enum { kStep = 16384, kPlaces = 128, kFew = 40, kLong = 12000 };

static int me, npes;
static char* object; /* kPlaces pages and more, which come and go */

/* Places far from each other, in turn. */
static void* place(size_t n) {
  static size_t turn;
  CHECK_CMP(n, <=, kStep);
  return object + turn++ * 37 % kPlaces * kStep;
}

static void* placed(const void* bytes, size_t n) { return memcpy(place(n), bytes, n); }

static void test_one(shmemx_kv_t kv, int number, size_t length) {
  const Key key = key_of(me, number);
  unsigned char bytes[kLong];
  make_bytes(bytes, length, (uint64_t)number);
  const void* at = placed(key.text, key.n);
  CHECK_EQ(shmemx_kv_put(kv, at, key.n, placed(bytes, length), length), SHMEMX_KV_OK);
  size_t* n = place(sizeof *n);
  at = placed(key.text, key.n);
  unsigned char* found = place(kLong);
  CHECK_EQ(shmemx_kv_get(kv, at, key.n, found, kLong, n), SHMEMX_KV_OK);
  CHECK_EQ(*n, length);
  CHECK_MADE(found, length, (uint64_t)number);
  int* status = place(sizeof *status);
  found = place(kLong);
  shmemx_kv_get_nbi(kv, placed(key.text, key.n), key.n, found, kLong, n, status);
  shmemx_kv_quiet(kv);
  CHECK_EQ(*status, SHMEMX_KV_OK);
  CHECK_MADE(found, length, (uint64_t)number);
  int64_t five = 5, first;
  memcpy(&first, bytes, sizeof first);
  int64_t* old = place(sizeof *old);
  CHECK_EQ(shmemx_kv_accumulate(kv, placed(key.text, key.n), key.n, 0, SHMEMX_KV_INT64, SHMEMX_KV_ADD,
                                placed(&five, sizeof five), old),
           SHMEMX_KV_OK);
  CHECK_EQ(*old, first);
  five = first + 5;
  CHECK_EQ(shmemx_kv_compare_swap(kv, placed(key.text, key.n), key.n, 0, 8, placed(&five, 8),
                                  placed(&first, 8), old),
           SHMEMX_KV_OK);
  CHECK_EQ(*old, five);
}

/* What a nonblocking call fills lies there one by one, the rest in memory. */
static void test_one_by_one(shmemx_kv_t kv, int number) {
  const Key key = key_of(me, number);
  for (int which = 0; which < 3; ++which) {
    unsigned char bytes[64];
    size_t length = 0;
    int status = -1;
    unsigned char* found = which == 0 ? place(sizeof bytes) : bytes;
    size_t* n = which == 1 ? place(sizeof *n) : &length;
    int* told = which == 2 ? place(sizeof *told) : &status;
    place(1), place(1);
    shmemx_kv_get_nbi(kv, key.text, key.n, found, sizeof bytes, n, told);
    shmemx_kv_quiet(kv);
    CHECK_FOR(which, *told, SHMEMX_KV_OK);
    CHECK_EQ(*n, 16 + (size_t)number);
    CHECK_MADE(found, 16 + (size_t)number, (uint64_t)number);
  }
}

static void test_batch(shmemx_kv_t kv, int round) {
  int64_t *keys = place(kStep), *values = keys + kFew, *found = values + kFew;
  size_t* lengths = (size_t*)(found + kFew);
  int* status = (int*)(lengths + kFew);
  for (int i = 0; i < kFew; ++i) keys[i] = me * 1000 + i, values[i] = round * 100 + i;
  CHECK_EQ(shmemx_kv_put_batch(kv, kFew, keys, 8, values, 8, status), SHMEMX_KV_OK);
  place(1), place(1);
  CHECK_EQ(shmemx_kv_get_batch(kv, kFew, keys, 8, found, 8, lengths, status), SHMEMX_KV_OK);
  for (int i = 0; i < kFew; ++i) {
    CHECK_AT(found, i, values[i]);
    CHECK_AT(lengths, i, 8);
    CHECK_AT(status, i, SHMEMX_KV_OK);
  }
  for (int i = 0; i < kFew; ++i) keys[i] = -1 - me * 1000 - i, lengths[i] = (size_t)i;
  CHECK_EQ(shmemx_kv_get_batch(kv, kFew, keys, 8, found, 8, lengths, status), SHMEMX_KV_NOT_FOUND);
  for (int i = 0; i < kFew; ++i) {
    CHECK_AT(lengths, i, i); /* nothing is said of what is not there */
    CHECK_AT(status, i, SHMEMX_KV_NOT_FOUND);
  }
}

static void test_iteration(shmemx_kv_t kv) {
  uint64_t cursor = 0, count = 0;
  size_t key_n, n;
  char* key = place(48);
  unsigned char* bytes = place(kLong);
  while (shmemx_kv_next_local(kv, &cursor, key, 48, &key_n, bytes, kLong, &n) == SHMEMX_KV_OK) {
    if (n != 8) CHECK_MADE(bytes, n, (uint64_t)strtol(key, NULL, 10));
    ++count;
    key = place(48), bytes = place(kLong);
  }
  CHECK_EQ(count, shmemx_kv_count_local(kv));
}

int main(void) {
  shmem_init();
  me = shmem_my_pe(), npes = shmem_n_pes();
  object = shmem_malloc_with_hints((size_t)kPlaces * kStep, SHMEMX_MALLOC_NVM);
  CHECK(object != NULL);
  shmemx_kv_t shorts = table_of(48, 64, (uint64_t)(500 * npes)),
              longs = table_of(48, kLong, (uint64_t)(100 * npes));
  const int times = rounds(8, 3);
  for (int i = 0; i < times; ++i) {
    for (int number = 0; number < 30; ++number) test_one(shorts, number, 16 + (size_t)number);
    for (int number = 0; number < 10; ++number) test_one(longs, number, 1100 * (size_t)(number + 1));
    for (int number = 0; number < 30; ++number) test_one_by_one(shorts, number);
    test_batch(shorts, i);
  }
  shmem_barrier_all();
  test_iteration(shorts);
  test_iteration(longs);
  shmem_barrier_all();
  shmem_finalize();
  return 0;
}
