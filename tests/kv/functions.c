/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions of the program that are carried out where a key is; remove_if and clear. */
#include "kv_check.h"

enum { kKeys = 60, kLong = 12000 };

static int me, npes;
static int append, bound;

/* The old value with the operand behind it; an empty operand removes it. */
static int append_function(const void* key, size_t key_bytes, const void* old, size_t old_bytes,
                           const void* operand, size_t operand_bytes, void* value, size_t* value_bytes) {
  (void)key, (void)key_bytes;
  if (operand_bytes == 0) return SHMEMX_KV_ERASE;
  if (old_bytes + operand_bytes > *value_bytes) return SHMEMX_KV_KEEP;
  if (old != NULL) memcpy(value, old, old_bytes);
  memcpy((char*)value + old_bytes, operand, operand_bytes);
  *value_bytes = old_bytes + operand_bytes;
  return SHMEMX_KV_STORE;
}

/* A counter of at most 10 that counts where it is there, with the key's first byte. */
static int bound_function(const void* key, size_t key_bytes, const void* old, size_t old_bytes,
                          const void* operand, size_t operand_bytes, void* value, size_t* value_bytes) {
  long n;
  (void)operand;
  if (old == NULL || key_bytes == 0 || *(const char*)key == 'x') return SHMEMX_KV_KEEP;
  if (old_bytes != sizeof n || operand_bytes != 0 || *value_bytes < sizeof n) return SHMEMX_KV_ERASE;
  memcpy(&n, old, sizeof n);
  if (n >= 10) return SHMEMX_KV_KEEP;
  ++n;
  memcpy(value, &n, sizeof n);
  *value_bytes = sizeof n;
  return SHMEMX_KV_STORE;
}

static void test_append(size_t most) {
  shmemx_kv_t kv = table_of(48, most, 1000);
  unsigned char* whole = malloc(most + 1);
  unsigned char* got = malloc(most + 1);
  const size_t step = most / 4;
  make_bytes(whole, most, (uint64_t)most);
  for (int i = 0; i < kKeys; ++i) {
    const Key key = key_of(me, i);
    size_t n = 99;
    CHECK_FOR(i, shmemx_kv_apply(kv, key.text, key.n, append, NULL, 0, got, most, &n), SHMEMX_KV_NOT_FOUND);
    for (size_t k = 0; k < 4; ++k) {
      const int status = shmemx_kv_apply(kv, key.text, key.n, append, whole + k * step, step, got, most, &n);
      CHECK_FOR(i, status, k == 0 ? SHMEMX_KV_INSERTED : SHMEMX_KV_OK);
      CHECK_EQ(n, k == 0 ? 99 : k * step);
      if (k > 0) CHECK_BYTES(got, whole, k * step);
    }
    /* No more: it is left; too little room: the function is not called. */
    CHECK_FOR(i, shmemx_kv_apply(kv, key.text, key.n, append, whole, step, NULL, 0, NULL), SHMEMX_KV_OK);
    CHECK_FOR(i, shmemx_kv_apply(kv, key.text, key.n, append, NULL, 0, got, 4 * step - 1, &n),
              SHMEMX_KV_TOO_LARGE);
    CHECK_EQ(n, 4 * step);
    CHECK_FOR(i, shmemx_kv_get(kv, key.text, key.n, got, most, &n), SHMEMX_KV_OK);
    CHECK_EQ(n, 4 * step);
    CHECK_BYTES(got, whole, 4 * step);
    CHECK_FOR(i, shmemx_kv_apply(kv, key.text, key.n, append, NULL, 0, got, most, &n), SHMEMX_KV_OK);
    CHECK_EQ(contains_key(kv, key), SHMEMX_KV_NOT_FOUND);
  }
  /* In a batch, with others. */
  const Key key = key_of(me, 1);
  shmemx_kv_call_t calls[3] = {0};
  for (int i = 0; i < 3; ++i) {
    calls[i].call = i == 1 ? SHMEMX_KV_GET : SHMEMX_KV_APPLY;
    calls[i].key = key.text, calls[i].key_bytes = key.n;
    calls[i].function = append;
    calls[i].val = whole, calls[i].value_bytes = step;
  }
  calls[1].old = got, calls[1].room = most;
  CHECK_EQ(shmemx_kv_batch(kv, 3, calls), SHMEMX_KV_OK);
  CHECK_EQ(calls[0].status, SHMEMX_KV_INSERTED);
  CHECK_EQ(calls[1].old_bytes, step);
  CHECK_BYTES(got, whole, step);
  CHECK_EQ(calls[2].status, SHMEMX_KV_OK);
  free(whole);
  free(got);
  shmemx_kv_destroy(kv);
}

/* All PEs on the same keys: each is counted once. */
static void test_all_at_once(shmemx_kv_t kv) {
  for (int i = 0; i < kKeys; ++i) {
    const Key key = key_of(-1, i);
    CHECK_EQ(shmemx_kv_apply(kv, key.text, key.n, bound, NULL, 0, NULL, 0, NULL), SHMEMX_KV_NOT_FOUND);
    CHECK_EQ(contains_key(kv, key), SHMEMX_KV_NOT_FOUND);
  }
  shmem_barrier_all();
  if (me == 0)
    for (int i = 0; i < kKeys; ++i) CHECK_FOR(i, put_long(kv, key_of(-1, i), 0), SHMEMX_KV_OK);
  shmem_barrier_all();
  long sum = 0;
  for (int times = 0; times < 5; ++times) {
    for (int i = 0; i < kKeys; ++i) {
      const Key key = key_of(-1, i);
      long old = -1;
      CHECK_FOR(i, shmemx_kv_apply(kv, key.text, key.n, bound, NULL, 0, &old, sizeof old, NULL),
                SHMEMX_KV_OK);
      sum += old < 10;
    }
  }
  const long most = 5L * npes < 10 ? 5L * npes : 10;
  CHECK_EQ(sum_of_all(sum), most * kKeys);
  for (int i = 0; i < kKeys; ++i) CHECK_FOR(i, long_at(kv, key_of(-1, i)), most);
  shmem_barrier_all();
}

static int is_odd(const void* key, size_t key_bytes, const void* value, size_t value_bytes, void* context) {
  long n;
  (void)key, (void)key_bytes;
  ++*(long*)context;
  memcpy(&n, value, value_bytes);
  return n % 2 != 0;
}

static void test_remove_if_and_clear(void) {
  shmemx_kv_t kv = table_of(48, sizeof(long), 4000);
  for (int i = 0; i < 10 * kKeys; ++i) CHECK_FOR(i, put_long(kv, key_of(me, i), i), SHMEMX_KV_OK);
  shmem_barrier_all();
  long calls = 0;
  const uint64_t mine = shmemx_kv_count_local(kv);
  const uint64_t removed = shmemx_kv_remove_if(kv, is_odd, &calls);
  CHECK_CMP(calls, >=, (long)mine);
  CHECK_EQ(sum_of_all((long)removed), 5L * kKeys * npes);
  CHECK_EQ(shmemx_kv_count(kv), 5UL * kKeys * (unsigned long)npes);
  for (int i = 0; i < 10 * kKeys; ++i)
    CHECK_FOR(i, contains_key(kv, key_of(left_pe(), i)), i % 2 != 0 ? SHMEMX_KV_NOT_FOUND : SHMEMX_KV_OK);
  shmem_barrier_all();
  const Key key = key_of(me, 20000);
  const long value = 1;
  shmemx_kv_put_nbi(kv, key.text, key.n, &value, sizeof value, NULL);
  shmemx_kv_clear(kv);
  CHECK_EQ(shmemx_kv_count(kv), 0);
  CHECK_EQ(contains_key(kv, key), SHMEMX_KV_NOT_FOUND);
  shmem_barrier_all();
  CHECK_EQ(put_long(kv, key, 7), SHMEMX_KV_OK);
  CHECK_EQ(long_at(kv, key), 7);
  shmemx_kv_destroy(kv);
}

int main(void) {
  shmem_init();
  me = shmem_my_pe(), npes = shmem_n_pes();
  append = shmemx_kv_register(append_function);
  bound = shmemx_kv_register(bound_function);
  CHECK_CMP(append, !=, bound);
  test_append(8);
  test_append(400);
  test_append(kLong);
  shmemx_kv_t kv = table_of(48, 8, 1000);
  test_all_at_once(kv);
  shmemx_kv_destroy(kv);
  test_remove_if_and_clear();
  shmem_finalize();
  return 0;
}
