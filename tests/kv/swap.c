/* SPDX-License-Identifier: BSD-3-Clause */
/* compare_swap, at every place of values of several lengths, and by all PEs at once. */
#include "kv_check.h"

enum { kMost = 20000 };

static int me, npes;

static void test_places(shmemx_kv_t kv, Key key, size_t bytes, size_t step) {
  static unsigned char value[kMost + 1], read[kMost], old[kMost + 1], other[kMost];
  make_bytes(value, bytes, bytes);
  CHECK_EQ(shmemx_kv_put(kv, key.text, key.n, value, bytes), SHMEMX_KV_OK);
  for (size_t offset = 0; offset <= bytes; offset += step) {
    for (size_t n = 1; offset + n <= bytes; n += n < 9 ? 1 : step * 3) {
      make_bytes(other, n, offset + n);
      memset(old, 0xee, n + 1);
      CHECK_FOR(n, shmemx_kv_compare_swap(kv, key.text, key.n, offset, n, value + offset, other, old),
                SHMEMX_KV_OK);
      CHECK_BYTES(old, value + offset, n);
      CHECK_AT(old, n, 0xee);
      memcpy(value + offset, other, n);
      other[n / 2] ^= 0x10; /* one bit is another */
      memset(old, 0xee, n);
      CHECK_FOR(n, shmemx_kv_compare_swap(kv, key.text, key.n, offset, n, other, read, old),
                SHMEMX_KV_MISMATCH);
      CHECK_BYTES(old, value + offset, n);
      CHECK_AT(old, n, 0xee);
      CHECK_FOR(n, shmemx_kv_compare_swap(kv, key.text, key.n, offset, n, other, read, NULL),
                SHMEMX_KV_MISMATCH);
    }
    CHECK_FOR(offset,
              shmemx_kv_compare_swap(kv, key.text, key.n, offset, bytes - offset + 1, value, value, NULL),
              SHMEMX_KV_TOO_LARGE);
    size_t told = 0;
    CHECK_EQ(shmemx_kv_get(kv, key.text, key.n, read, sizeof read, &told), SHMEMX_KV_OK);
    CHECK_EQ(told, bytes);
    CHECK_BYTES(read, value, bytes);
  }
  CHECK_EQ(shmemx_kv_compare_swap(kv, key.text, key.n, bytes + 1, 1, value, value, NULL),
           SHMEMX_KV_TOO_LARGE);
  CHECK_EQ(shmemx_kv_compare_swap(kv, key.text, key.n, (size_t)-4, 8, value, value, NULL),
           SHMEMX_KV_TOO_LARGE);
  CHECK_EQ(remove_key(kv, key), SHMEMX_KV_OK);
  CHECK_EQ(shmemx_kv_compare_swap(kv, key.text, key.n, 0, 1, value, value, NULL), SHMEMX_KV_NOT_FOUND);
  CHECK_EQ(contains_key(kv, key), SHMEMX_KV_NOT_FOUND);
}

/* Longer than any value of the table, which is 40: what decides is first whether the key is there. */
static void test_longer_than_values(shmemx_kv_t kv) {
  static const char bytes[41];
  const Key key = key_of(me, 77);
  CHECK_EQ(shmemx_kv_compare_swap(kv, key.text, key.n, 0, 41, bytes, bytes, NULL), SHMEMX_KV_NOT_FOUND);
  CHECK_EQ(shmemx_kv_put(kv, key.text, key.n, bytes, 40), SHMEMX_KV_OK);
  CHECK_EQ(shmemx_kv_compare_swap(kv, key.text, key.n, 0, 41, bytes, bytes, NULL), SHMEMX_KV_TOO_LARGE);
  CHECK_EQ(remove_key(kv, key), SHMEMX_KV_OK);
}

/* All PEs count in a pair of words, of which each must be the other's complement. */
static void test_all_at_once(shmemx_kv_t kv) {
  const Key key = key_of(-1, 3);
  uint64_t mine[2] = {0, ~UINT64_C(0)};
  const int times = rounds(500, 50);
  const int status = shmemx_kv_insert(kv, key.text, key.n, mine, sizeof mine);
  CHECK_EITHER(status, SHMEMX_KV_OK, SHMEMX_KV_EXISTS);
  shmem_barrier_all();
  for (int i = 0; i < times; ++i) {
    uint64_t old[2] = {mine[0], mine[1]};
    for (int done = 0; !done;) {
      const uint64_t expected[2] = {old[0], old[1]}, desired[2] = {old[0] + 1, ~(old[0] + 1)};
      const int answer =
          shmemx_kv_compare_swap(kv, key.text, key.n, 0, sizeof expected, expected, desired, old);
      CHECK_EITHER(answer, SHMEMX_KV_OK, SHMEMX_KV_MISMATCH);
      CHECK_EQ(old[1], ~old[0]);
      done = answer == SHMEMX_KV_OK;
      CHECK_EQ(done, old[0] == expected[0]);
      mine[0] = desired[0], mine[1] = desired[1];
    }
  }
  shmem_barrier_all();
  CHECK_EQ(shmemx_kv_get(kv, key.text, key.n, mine, sizeof mine, NULL), SHMEMX_KV_OK);
  CHECK_EQ(mine[0], (uint64_t)times * (uint64_t)npes);
  CHECK_EQ(mine[1], ~mine[0]);
}

int main(void) {
  shmem_init();
  me = shmem_my_pe(), npes = shmem_n_pes();
  shmemx_kv_t kv = table_of(48, 40, 400);
  for (int i = 0; i < rounds(8, 4); ++i)
    test_places(kv, key_of(me, i), 5 * (size_t)i + 5, (size_t)(1 + i % 3));
  test_longer_than_values(kv);
  test_all_at_once(kv);
  shmemx_kv_destroy(kv);
  kv = table_of(48, kMost, 40);
  test_places(kv, key_of(me, 0), 1000, 333);
  test_places(kv, key_of(me, 1), kMost, 3333);
  shmemx_kv_destroy(kv);
  shmem_finalize();
  return 0;
}
