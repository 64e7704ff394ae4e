/* SPDX-License-Identifier: BSD-3-Clause */
/* Arguments that share memory: what a call reads may be where it writes. */
#include "kv_check.h"

static int me, npes;

static void test_operands(shmemx_kv_t kv, int pe) {
  const Key key = key_of(pe, 1);
  int64_t x = 100;
  CHECK_EQ(shmemx_kv_put(kv, key.text, key.n, &x, sizeof x), SHMEMX_KV_OK);
  x = 5;
  CHECK_EQ(shmemx_kv_accumulate(kv, key.text, key.n, 0, SHMEMX_KV_INT64, SHMEMX_KV_ADD, &x, &x),
           SHMEMX_KV_OK);
  CHECK_EQ(x, 100);
  x = 7;
  CHECK_EQ(shmemx_kv_upsert(kv, key.text, key.n, SHMEMX_KV_INT64, SHMEMX_KV_ADD, &x, &x), SHMEMX_KV_OK);
  CHECK_EQ(x, 105);
  CHECK_EQ(long_at(kv, key), 112);
  CHECK_EQ(remove_key(kv, key), SHMEMX_KV_OK);
  x = 9;
  CHECK_EQ(shmemx_kv_upsert(kv, key.text, key.n, SHMEMX_KV_INT64, SHMEMX_KV_ADD, &x, &x), SHMEMX_KV_OK);
  CHECK_EQ(x, 0);
  int64_t expected = 9;
  x = 11;
  CHECK_EQ(shmemx_kv_compare_swap(kv, key.text, key.n, 0, 8, &expected, &x, &x), SHMEMX_KV_OK);
  CHECK_EQ(x, 9);
  CHECK_EQ(long_at(kv, key), 11);
  CHECK_EQ(shmemx_kv_compare_swap(kv, key.text, key.n, 0, 8, &expected, &x, &expected), SHMEMX_KV_MISMATCH);
  CHECK_EQ(expected, 11);
  CHECK_EQ(shmemx_kv_compare_swap(kv, key.text, key.n, 0, 8, &expected, &x, &expected), SHMEMX_KV_OK);
  CHECK_EQ(expected, 11);
  CHECK_EQ(long_at(kv, key), 9);
}

/* Elements that name the next: the value is got where the key is, while others change the elements beside it.
 */
static void test_chase(void) {
  enum { kRing = 40 };
  shmemx_kv_t kv = table_of(sizeof(int64_t), sizeof(int64_t), (uint64_t)(kRing * (npes + 1)));
  for (int64_t i = me; i < kRing; i += npes) {
    const int64_t next = (i + 1) % kRing;
    CHECK_FOR(i, shmemx_kv_put(kv, &i, sizeof i, &next, sizeof next), SHMEMX_KV_OK);
  }
  shmem_barrier_all();
  int64_t at = 0, together[kRing];
  const int steps = rounds(20000, 2000);
  for (int i = 0; i < steps; ++i) {
    const int64_t beside = 1000 * (me + 1) + i % kRing, step = i;
    CHECK_EQ(shmemx_kv_put(kv, &beside, sizeof beside, &step, sizeof step), SHMEMX_KV_OK);
    CHECK_EQ(shmemx_kv_get(kv, &at, sizeof at, &at, sizeof at, NULL), SHMEMX_KV_OK);
    CHECK_EQ(at, (i + 1) % kRing);
  }
  for (int64_t i = 0; i < kRing; ++i) together[i] = i;
  for (int k = 1; k < 50; ++k) {
    CHECK_EQ(
        shmemx_kv_get_batch(kv, kRing, together, sizeof *together, together, sizeof *together, NULL, NULL),
        SHMEMX_KV_OK);
    for (int64_t i = 0; i < kRing; ++i) CHECK_AT(together, i, (i + k) % kRing);
  }
  shmemx_kv_destroy(kv);
}

int main(void) {
  shmem_init();
  me = shmem_my_pe(), npes = shmem_n_pes();
  shmemx_kv_t kv = table_of(48, 8, (uint64_t)(40 * npes));
  /* Keys of this PE that it has itself, and that others have. */
  for (int number = 0; number < 20; ++number) test_operands(kv, me * 20 + number);
  shmemx_kv_destroy(kv);
  test_chase();
  shmem_finalize();
  return 0;
}
