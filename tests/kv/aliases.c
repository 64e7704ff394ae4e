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

/* What there is of the key, one byte longer, with the operand behind it. */
static int lengthen_number;
static int lengthen(const void* key, size_t key_bytes, const void* old, size_t old_bytes, const void* operand,
                    size_t operand_bytes, void* value, size_t* n) {
  (void)old, (void)old_bytes;
  memcpy(value, key, key_bytes);
  memcpy((char*)value + key_bytes, operand, operand_bytes);
  *n = key_bytes + operand_bytes;
  return SHMEMX_KV_STORE;
}

/* In a batch, calls that say what was there and then store: that comes where the key and the value are. */
static void test_told_over_arguments(size_t longest, int pe) {
  enum { kRoom = 96 };
  shmemx_kv_t kv = table_of(48, longest, (uint64_t)(40 * npes));
  const Key key = key_of(pe, 1);
  const size_t n = key.n;
  char room[kRoom] = "", found[kRoom] = "", expected[kRoom] = "";
  CHECK_EQ(shmemx_kv_put(kv, key.text, n, "the first value of this key", 28), SHMEMX_KV_OK);
  memcpy(room, key.text, n);
  memcpy(room + n, "and the second", 14);
  shmemx_kv_call_t call = {.call = SHMEMX_KV_EXCHANGE,
                           .key = room,
                           .key_bytes = n,
                           .val = room + n,
                           .value_bytes = 14,
                           .old = room,
                           .room = kRoom};
  CHECK_EQ(shmemx_kv_batch(kv, 1, &call), SHMEMX_KV_OK);
  CHECK_EQ(call.old_bytes, 28);
  CHECK_STR(room, "the first value of this key");
  CHECK_EQ(shmemx_kv_get(kv, key.text, n, found, kRoom, NULL), SHMEMX_KV_OK);
  CHECK_BYTES(found, "and the second", 14);

  memcpy(room, key.text, n);
  room[n] = '!';
  call.call = SHMEMX_KV_APPLY;
  call.function = lengthen_number;
  call.value_bytes = 1;
  CHECK_EQ(shmemx_kv_batch(kv, 1, &call), SHMEMX_KV_OK);
  CHECK_EQ(call.old_bytes, 14);
  CHECK_BYTES(room, "and the second", 14);
  CHECK_EQ(shmemx_kv_get(kv, key.text, n, found, kRoom, NULL), SHMEMX_KV_OK);
  memcpy(expected, key.text, n);
  expected[n] = '!';
  CHECK_BYTES(found, expected, n + 1);

  memcpy(room, key.text, n);
  call.call = SHMEMX_KV_TAKE;
  CHECK_EQ(shmemx_kv_batch(kv, 1, &call), SHMEMX_KV_OK);
  CHECK_BYTES(room, expected, n + 1);
  CHECK_EQ(contains_key(kv, key), SHMEMX_KV_NOT_FOUND);
  shmemx_kv_destroy(kv);
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
  lengthen_number = shmemx_kv_register(lengthen);
  for (int number = 0; number < 4; ++number) {
    test_told_over_arguments(72, me * 4 + number);  /* in the slots of groups */
    test_told_over_arguments(300, me * 4 + number); /* in blocks */
  }
  test_chase();
  shmem_finalize();
  return 0;
}
