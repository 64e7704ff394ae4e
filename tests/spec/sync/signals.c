/* SPDX-License-Identifier: BSD-3-Clause */
/* Semantics 87-95: puts that announce themselves. */
#include <string.h>

#include "check.h"

enum { kCount = 300 };

static long variable[kCount];
static uint64_t variable_signal;
static long* block;
static uint64_t* block_signal;

static void fill(long* at, long salt) {
  for (int i = 0; i < kCount; ++i) at[i] = salt * 1000 + i;
}
static void expect(const long* at, long salt, int count) {
  for (int i = 0; i < count; ++i) CHECK_AT(at, i, salt * 1000 + i);
}

/* Semantics 87, 94: once the signal is there so is the payload, of any length, in heap or variable. */
static void test_payload_before_signal(long* dest, uint64_t* signal, int nbi) {
  static uint64_t may_overwrite;
  const int times = rounds(3000, 100);
  long source[kCount];
  *signal = may_overwrite = 0;
  shmem_barrier_all();
  for (int i = 1; i <= times; ++i) {
    const int count = 1 + i * 7 % kCount;
    fill(source, i);
    if (nbi)
      shmem_long_put_signal_nbi(dest, source, (size_t)count, signal, (uint64_t)i, SHMEM_SIGNAL_SET,
                                right_pe());
    if (!nbi) shmem_long_put_signal(dest, source, (size_t)count, signal, 1, SHMEM_SIGNAL_ADD, right_pe());
    CHECK_FOR(i, shmem_signal_wait_until(signal, SHMEM_CMP_EQ, (uint64_t)i), i); /* Semantics 93 */
    expect(dest, i, count);
    shmem_signal_add(&may_overwrite, 1, left_pe());
    shmem_signal_wait_until(&may_overwrite, SHMEM_CMP_GE, (uint64_t)i);
    shmem_quiet();
  }
  shmem_barrier_all();
}

static void test_operators(void) { /* Semantics 89, 92 */
  variable_signal = 5;
  shmem_barrier_all();
  shmem_long_put_signal(variable, variable + 10, 1, block_signal, 1, SHMEM_SIGNAL_SET, right_pe());
  shmem_barrier_all();
  shmem_putmem_signal(variable, variable + 10, 8, &variable_signal, UINT64_MAX, SHMEM_SIGNAL_ADD, right_pe());
  shmem_barrier_all();
  CHECK_EQ(*block_signal, 1);
  CHECK_EQ(variable_signal, 4); /* modular */
  shmem_barrier_all();
  shmem_signal_set(&variable_signal, 100, right_pe());
  shmem_fence();
  shmem_signal_add(&variable_signal, 11, right_pe());
  shmem_ctx_signal_add(SHMEM_CTX_DEFAULT, &variable_signal, 1, right_pe());
  shmem_barrier_all();
  CHECK_EQ(shmem_signal_fetch(&variable_signal), 112);
  shmem_barrier_all();
  shmem_ctx_signal_set(SHMEM_CTX_DEFAULT, &variable_signal, 0, right_pe());
  shmem_barrier_all();
  CHECK_EQ(shmem_signal_fetch(&variable_signal), 0);
  shmem_barrier_all();
}

static void test_empty_payload(void) { /* Semantics 90 */
  *block_signal = 0;
  shmem_barrier_all();
  shmem_long_put_signal(NULL, NULL, 0, block_signal, 3, SHMEM_SIGNAL_ADD, right_pe());
  shmem_putmem_signal_nbi(NULL, NULL, 0, block_signal, 4, SHMEM_SIGNAL_ADD, right_pe());
  CHECK_EQ(shmem_signal_wait_until(block_signal, SHMEM_CMP_EQ, 7), 7);
  shmem_barrier_all();
}

static void test_self(void) { /* Semantics 95 */
  long source[kCount];
  fill(source, 4);
  shmem_long_put_signal(block, source, kCount, &variable_signal, 9, SHMEM_SIGNAL_SET, shmem_my_pe());
  shmem_signal_wait_until(&variable_signal, SHMEM_CMP_EQ, 9);
  expect(block, 4, kCount);
  fill(source, 5);
  shmem_long_put_signal_nbi(block, source, kCount, &variable_signal, 10, SHMEM_SIGNAL_SET, shmem_my_pe());
  shmem_quiet();
  CHECK_EQ(shmem_signal_fetch(&variable_signal), 10);
  expect(block, 5, kCount);
  shmem_barrier_all();
}

static void test_many_senders(void) { /* Semantics 91: additions to one word, none lost */
  *block_signal = 0;
  shmem_barrier_all();
  const int times = rounds(5000, 200);
  const long word = 1;
  for (int i = 0; i < times; ++i) {
    shmem_long_put_signal(&variable[shmem_my_pe()], &word, 1, block_signal, 1, SHMEM_SIGNAL_ADD, 0);
    shmem_signal_add(block_signal, 1, 0);
  }
  if (shmem_my_pe() == 0)
    shmem_signal_wait_until(block_signal, SHMEM_CMP_GE, 2 * (uint64_t)times * (uint64_t)shmem_n_pes());
  shmem_barrier_all();
  if (shmem_my_pe() == 0) CHECK_EQ(*block_signal, 2L * times * shmem_n_pes());
  shmem_barrier_all();
}

/* Semantics 91: of values that are set by many, one is there at the end, and never a mixture. */
static void test_many_setters(void) {
  const uint64_t mine = (uint64_t)(shmem_my_pe() + 1) * 0x0101010101010101u;
  *block_signal = 0x0101010101010101u;
  shmem_barrier_all();
  for (int i = 0; i < rounds(5000, 200); ++i) {
    shmem_signal_set(block_signal, mine, 0);
    const long word = i;
    shmem_long_put_signal(&variable[shmem_my_pe()], &word, 1, block_signal, mine, SHMEM_SIGNAL_SET, 0);
    const uint64_t seen = shmem_my_pe() == 0 ? shmem_signal_fetch(block_signal) : mine;
    CHECK_EQ(seen % 0x0101010101010101u, 0);
    CHECK_CMP(seen / 0x0101010101010101u, <=, (uint64_t)shmem_n_pes());
  }
  shmem_barrier_all();
}

static void test_fence_orders_signals(void) { /* Semantics 88 */
  const int times = rounds(2000, 100);
  for (int i = 1; i <= times; ++i) {
    const long even = 2 * i, odd = 2 * i + 1;
    shmem_long_put_signal_nbi(variable, &even, 1, &variable_signal, 1000 + 2 * (uint64_t)i, SHMEM_SIGNAL_SET,
                              right_pe());
    shmem_fence();
    shmem_long_put_signal_nbi(variable, &odd, 1, &variable_signal, 1001 + 2 * (uint64_t)i, SHMEM_SIGNAL_SET,
                              right_pe());
    shmem_quiet();
    CHECK_EQ(shmem_long_g(variable, right_pe()), odd);
    CHECK_EQ(shmem_uint64_g(&variable_signal, right_pe()), 1001 + 2 * i);
  }
  shmem_barrier_all();
}

#define TEST_TYPE(NAME, T, UNUSED)                                                                     \
  {                                                                                                    \
    T value = (T)17, *dest = (T*)(void*)block;                                                         \
    shmem_##NAME##_put_signal(dest, &value, 1, block_signal, 1, SHMEM_SIGNAL_ADD, right_pe());         \
    shmem_##NAME##_put_signal_nbi(dest + 1, &value, 1, block_signal, 1, SHMEM_SIGNAL_ADD, right_pe()); \
    shmem_signal_wait_until(block_signal, SHMEM_CMP_EQ, 2);                                            \
    CHECK_EQ(dest[0], (T)17);                                                                          \
    CHECK_EQ(dest[1], (T)17);                                                                          \
    reset();                                                                                           \
  }

#define TEST_SIZE(BITS, BYTES, UNUSED)                                                                   \
  {                                                                                                      \
    const char source[16 * 16] = "a payload";                                                            \
    shmem_put##BITS##_signal(block, source, 16, block_signal, 1, SHMEM_SIGNAL_ADD, right_pe());          \
    shmem_put##BITS##_signal_nbi(block + 64, source, 16, block_signal, 1, SHMEM_SIGNAL_ADD, right_pe()); \
    shmem_signal_wait_until(block_signal, SHMEM_CMP_EQ, 2);                                              \
    CHECK_BYTES(block, source, 16 * BYTES);                                                              \
    CHECK_BYTES(block + 64, source, 16 * BYTES);                                                         \
    reset();                                                                                             \
  }

static void reset(void) {
  shmem_barrier_all();
  memset(block, 0, kCount * sizeof *block);
  *block_signal = 0;
  shmem_barrier_all();
}

static void test_types(void) {
  reset();
  ATOLL_TYPES_RMA(TEST_TYPE, 0)
  ATOLL_UNITS_BITS(TEST_SIZE, 0)
  ATOLL_UNITS_MEM(TEST_SIZE, 0)
}

int main(void) {
  shmem_init();
  block = shmem_calloc(kCount, sizeof *block);
  block_signal = shmem_calloc(1, sizeof *block_signal);
  test_operators();
  test_empty_payload();
  test_self();
  for (int nbi = 0; nbi < 2; ++nbi) {
    test_payload_before_signal(block, block_signal, nbi);
    test_payload_before_signal(variable, &variable_signal, nbi);
    test_payload_before_signal(variable, block_signal, nbi); /* Semantics 89 */
    test_payload_before_signal(block, &variable_signal, nbi);
  }
  test_many_senders();
  test_many_setters();
  test_fence_orders_signals();
  test_types();
  shmem_finalize();
  return 0;
}
