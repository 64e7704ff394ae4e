/* SPDX-License-Identifier: BSD-3-Clause */
/* accumulate and upsert, for every type and operation, and by all PEs at once. */
#include "kv_check.h"

enum { kWords = 5 };

static int me;
static const uint64_t samples[] = {0,
                                   1,
                                   5,
                                   0x7fffffff,
                                   0x80000000,
                                   0xffffffff,
                                   0x123456789abcdef0,
                                   0x7fffffffffffffff,
                                   0x8000000000000000,
                                   0xffffffffffffffff};
enum { kSamples = sizeof samples / sizeof *samples };

/* One operation on a word among others: only this one changes, and the old one is told. */
static void try_pair(shmemx_kv_t kv, int type, int op, size_t size, const void* word, const void* operand,
                     const void* result) {
  static int turn;
  unsigned char value[kWords * 8], read[kWords * 8], old[8];
  const Key key = key_of(me, turn % 20);
  const size_t at = size * (size_t)(turn++ % kWords), bytes = kWords * size;
  make_bytes(value, bytes, (uint64_t)turn);
  memcpy(value + at, word, size);
  CHECK_EQ(shmemx_kv_put(kv, key.text, key.n, value, bytes), SHMEMX_KV_OK);
  CHECK_EQ(shmemx_kv_accumulate(kv, key.text, key.n, at, type, op, operand, turn % 3 ? old : NULL),
           SHMEMX_KV_OK);
  if ((turn % 3) != 0) CHECK_BYTES(old, word, size);
  memcpy(value + at, result, size);
  CHECK_EQ(shmemx_kv_get(kv, key.text, key.n, read, sizeof read, NULL), SHMEMX_KV_OK);
  CHECK_BYTES(read, value, bytes);
}

#define INTEGER_OF(NAME, T, UNSIGNED)                            \
  static T NAME##_of(int op, T a, T b) {                         \
    switch (op) {                                                \
      case SHMEMX_KV_SET: return b;                              \
      case SHMEMX_KV_ADD: return (T)((UNSIGNED)a + (UNSIGNED)b); \
      case SHMEMX_KV_MIN: return a < b ? a : b;                  \
      case SHMEMX_KV_MAX: return a > b ? a : b;                  \
      case SHMEMX_KV_AND: return a & b;                          \
      case SHMEMX_KV_OR: return a | b;                           \
      default: return a ^ b;                                     \
    }                                                            \
  }
INTEGER_OF(int32, int32_t, uint32_t)
INTEGER_OF(int64, int64_t, uint64_t)
INTEGER_OF(uint32, uint32_t, uint32_t)
INTEGER_OF(uint64, uint64_t, uint64_t)

#define REAL_OF(T)                              \
  static T T##_of(int op, T a, T b) {           \
    switch (op) {                               \
      case SHMEMX_KV_SET: return b;             \
      case SHMEMX_KV_ADD: return a + b;         \
      case SHMEMX_KV_MIN: return a < b ? a : b; \
      default: return a > b ? a : b;            \
    }                                           \
  }
REAL_OF(float)
REAL_OF(double)

#define TEST_TYPE(NAME, T, TYPE, MOST_OP, FROM)                                   \
  static void test_##NAME(shmemx_kv_t kv) {                                       \
    for (int op = SHMEMX_KV_SET; op <= MOST_OP; ++op) {                           \
      for (int i = 0; i < kSamples * kSamples; ++i) {                             \
        const T a = FROM(samples[i % kSamples]), b = FROM(samples[i / kSamples]); \
        const T result = NAME##_of(op, a, b);                                     \
        try_pair(kv, TYPE, op, sizeof(T), &a, &b, &result);                       \
      }                                                                           \
    }                                                                             \
  }

#define AS_INT32(X) ((int32_t)(uint32_t)(X))
#define AS_FLOAT(X) ((float)(int64_t)(X)*0.25f)
#define AS_DOUBLE(X) ((double)(int64_t)(X)*0.25)
TEST_TYPE(int32, int32_t, SHMEMX_KV_INT32, SHMEMX_KV_XOR, AS_INT32)
TEST_TYPE(int64, int64_t, SHMEMX_KV_INT64, SHMEMX_KV_XOR, (int64_t))
TEST_TYPE(uint32, uint32_t, SHMEMX_KV_UINT32, SHMEMX_KV_XOR, (uint32_t))
TEST_TYPE(uint64, uint64_t, SHMEMX_KV_UINT64, SHMEMX_KV_XOR, (uint64_t))
TEST_TYPE(float, float, SHMEMX_KV_FLOAT, SHMEMX_KV_MAX, AS_FLOAT)
TEST_TYPE(double, double, SHMEMX_KV_DOUBLE, SHMEMX_KV_MAX, AS_DOUBLE)
static void (*const tests[])(shmemx_kv_t) = {test_int32,  test_int64, test_uint32,
                                             test_uint64, test_float, test_double};

static void test_outcomes(shmemx_kv_t kv) {
  const Key key = key_of(me, 1000);
  const uint64_t one = 1;
  const uint32_t small = 1;
  uint64_t old = 77;
  CHECK_EQ(shmemx_kv_accumulate(kv, key.text, key.n, 0, SHMEMX_KV_UINT64, SHMEMX_KV_ADD, &one, &old),
           SHMEMX_KV_NOT_FOUND);
  CHECK_EQ(old, 77);
  CHECK_EQ(contains_key(kv, key), SHMEMX_KV_NOT_FOUND);
  for (size_t n = 0; n <= 20; n += 4) {
    unsigned char value[20], read[20];
    make_bytes(value, sizeof value, n);
    CHECK_FOR(n, shmemx_kv_put(kv, key.text, key.n, value, n), SHMEMX_KV_OK);
    for (size_t offset = 0; offset <= 40; offset += 4) {
      if (offset % 8 == 0) {
        CHECK_FOR(
            offset,
            shmemx_kv_accumulate(kv, key.text, key.n, offset, SHMEMX_KV_UINT64, SHMEMX_KV_OR, &one, NULL),
            offset + 8 <= n ? SHMEMX_KV_OK : SHMEMX_KV_TOO_LARGE);
        if (offset + 8 <= n) value[offset] |= 1;
      }
      CHECK_FOR(
          offset,
          shmemx_kv_accumulate(kv, key.text, key.n, offset, SHMEMX_KV_UINT32, SHMEMX_KV_XOR, &small, NULL),
          offset + 4 <= n ? SHMEMX_KV_OK : SHMEMX_KV_TOO_LARGE);
      if (offset + 4 <= n) value[offset] ^= 1;
    }
    size_t told = 0;
    CHECK_FOR(n, shmemx_kv_get(kv, key.text, key.n, read, sizeof read, &told), SHMEMX_KV_OK);
    CHECK_EQ(told, n);
    CHECK_BYTES(read, value, n);
  }
  CHECK_EQ(shmemx_kv_accumulate(kv, key.text, key.n, (size_t)-8, SHMEMX_KV_UINT64, SHMEMX_KV_OR, &one, NULL),
           SHMEMX_KV_TOO_LARGE);
  CHECK_EQ(remove_key(kv, key), SHMEMX_KV_OK);
}

static void test_upsert(shmemx_kv_t kv) {
  const Key key = key_of(me, 1001);
  static const int ops[] = {SHMEMX_KV_SET, SHMEMX_KV_ADD, SHMEMX_KV_MIN, SHMEMX_KV_MAX,
                            SHMEMX_KV_AND, SHMEMX_KV_OR,  SHMEMX_KV_XOR};
  for (size_t i = 0; i < sizeof ops / sizeof *ops; ++i) {
    int64_t operand = -5, old = 77, value = 0;
    CHECK_FOR(i, shmemx_kv_upsert(kv, key.text, key.n, SHMEMX_KV_INT64, ops[i], &operand, &old),
              SHMEMX_KV_OK);
    CHECK_EQ(old, 0);
    size_t n = 0;
    CHECK_EQ(shmemx_kv_get(kv, key.text, key.n, &value, 8, &n), SHMEMX_KV_OK);
    CHECK_EQ(n, 8);
    CHECK_EQ(value, -5); /* the operand, whatever the operation */
    operand = 3;
    CHECK_FOR(i, shmemx_kv_upsert(kv, key.text, key.n, SHMEMX_KV_INT64, ops[i], &operand, &old),
              SHMEMX_KV_OK);
    CHECK_EQ(old, -5);
    CHECK_EQ(shmemx_kv_get(kv, key.text, key.n, &value, 8, NULL), SHMEMX_KV_OK);
    CHECK_EQ(value, int64_of(ops[i], -5, 3));
    CHECK_EQ(remove_key(kv, key), SHMEMX_KV_OK);
  }
  float real = 1.5f;
  size_t n = 0;
  CHECK_EQ(shmemx_kv_upsert(kv, key.text, key.n, SHMEMX_KV_FLOAT, SHMEMX_KV_ADD, &real, NULL), SHMEMX_KV_OK);
  CHECK_EQ(shmemx_kv_upsert(kv, key.text, key.n, SHMEMX_KV_FLOAT, SHMEMX_KV_ADD, &real, NULL), SHMEMX_KV_OK);
  CHECK_EQ(shmemx_kv_get(kv, key.text, key.n, &real, 4, &n), SHMEMX_KV_OK);
  CHECK_EQ(n, 4);
  CHECK_EQ(real, 3.0f);
  const int64_t wide = 1; /* the value has 4 bytes */
  CHECK_EQ(shmemx_kv_upsert(kv, key.text, key.n, SHMEMX_KV_INT64, SHMEMX_KV_ADD, &wide, NULL),
           SHMEMX_KV_TOO_LARGE);
  CHECK_EQ(remove_key(kv, key), SHMEMX_KV_OK);
}

/* No addition is lost, and each old value is seen once: PEs get distinct numbers. */
static void test_all_at_once(shmemx_kv_t kv) {
  enum { kCounters = 3, kMost = 2000 };
  static long seen[kMost];
  const int times = rounds(kMost, 200);
  for (int i = 0; i < kCounters; ++i) {
    const Key key = key_of(-1, i);
    long last = -1;
    shmem_barrier_all();
    for (int k = 0; k < times; ++k) {
      const int64_t one = 1;
      int64_t old = -1;
      CHECK_EQ(shmemx_kv_upsert(kv, key.text, key.n, SHMEMX_KV_INT64, SHMEMX_KV_ADD, &one, &old),
               SHMEMX_KV_OK);
      CHECK_CMP(old, >, last);
      seen[k] = last = old;
    }
    const long all = (long)times * shmem_n_pes();
    CHECK_EQ(long_at(kv, key) <= all, 1);
    long sum = 0;
    for (int k = 0; k < times; ++k) sum += seen[k];
    CHECK_EQ(sum_of_all(sum), all * (all - 1) / 2);
    CHECK_EQ(long_at(kv, key), all);
    shmem_barrier_all();
    const double half = 0.5;
    const Key real = key_of(-2, i);
    for (int k = 0; k < times; ++k)
      CHECK_EQ(shmemx_kv_upsert(kv, real.text, real.n, SHMEMX_KV_DOUBLE, SHMEMX_KV_ADD, &half, NULL),
               SHMEMX_KV_OK);
    shmem_barrier_all();
    double total = 0;
    CHECK_EQ(shmemx_kv_get(kv, real.text, real.n, &total, sizeof total, NULL), SHMEMX_KV_OK);
    CHECK_EQ(total, 0.5 * (double)all);
    shmem_barrier_all();
  }
}

int main(void) {
  shmem_init();
  me = shmem_my_pe();
  shmemx_kv_t kv = table_of(48, 64, 1000);
  for (size_t i = 0; i < sizeof tests / sizeof *tests; ++i) tests[i](kv);
  test_outcomes(kv);
  test_upsert(kv);
  test_all_at_once(kv);
  shmemx_kv_destroy(kv);
  /* A table with less room than the operand needs. */
  kv = table_of(48, 4, 100);
  const Key key = key_of(me, 0);
  const int64_t wide = 1;
  CHECK_EQ(shmemx_kv_upsert(kv, key.text, key.n, SHMEMX_KV_INT64, SHMEMX_KV_ADD, &wide, NULL),
           SHMEMX_KV_TOO_LARGE);
  CHECK_EQ(contains_key(kv, key), SHMEMX_KV_NOT_FOUND);
  shmemx_kv_destroy(kv);
  shmem_finalize();
  return 0;
}
