/* SPDX-License-Identifier: BSD-3-Clause */
/* Semantics 66, 74, 75: the forms with an element size, and the untyped ones at any alignment, from one byte
 * to a MiB.
 */
#include <string.h>

#include "check.h"

enum { kLargest = 1 << 20, kGuard = 64 };

static unsigned char *mine, *source, *copy; /* kLargest bytes each, with guards */

static void prepare(size_t n) {
  memset(mine, 0xee, n + 2 * kGuard);
  Random random = {n * 64 + (uint64_t)shmem_my_pe()};
  fill_random(&random, source, n + kGuard);
  shmem_barrier_all();
}

/* Bytes [at, at + n) come from the left PE's source; around them nothing has changed. */
static void expect_from(int pe, const unsigned char* at, size_t n, size_t whole) {
  Random random = {whole * 64 + (uint64_t)pe};
  unsigned char* expected = malloc(whole + kGuard);
  fill_random(&random, expected, whole + kGuard);
  CHECK_BYTES(at, expected, n);
  free(expected);
}

static void expect_guards(const unsigned char* at, size_t n) {
  for (int i = 1; i <= kGuard / 2; ++i) {
    CHECK_AT(at, -i, 0xee);
    CHECK_AT(at, n + (size_t)i - 1, 0xee);
  }
}

#define TEST_BITS(BITS, BYTES, UNUSED)                         \
  static void test_##BITS(size_t count) {                      \
    const size_t n = count * BYTES;                            \
    prepare(n);                                                \
    shmem_put##BITS(mine + kGuard, source, count, right_pe()); \
    shmem_barrier_all();                                       \
    check_put(n);                                              \
    shmem_get##BITS(copy, mine + kGuard, count, right_pe());   \
    check_get(n);                                              \
  }                                                            \
  TEST_BITS_NBI(BITS, BYTES)

#define TEST_BITS_NBI(BITS, BYTES)                                   \
  static void test_nbi_##BITS(size_t count) {                        \
    const size_t n = count * BYTES;                                  \
    prepare(n);                                                      \
    shmem_put##BITS##_nbi(mine + kGuard, source, count, right_pe()); \
    shmem_barrier_all();                                             \
    check_put(n);                                                    \
    shmem_get##BITS##_nbi(copy, mine + kGuard, count, right_pe());   \
    shmem_quiet();                                                   \
    check_get(n);                                                    \
  }

static void check_put(size_t n) {
  expect_from(left_pe(), mine + kGuard, n, n);
  expect_guards(mine + kGuard, n);
}

/* What the right PE holds is what I put there. */
static void check_get(size_t n) {
  expect_from(shmem_my_pe(), copy, n, n);
  shmem_barrier_all();
}

ATOLL_UNITS_BITS(TEST_BITS, 0)
ATOLL_UNITS_MEM(TEST_BITS, 0)

static void test_unaligned(void) { /* Semantics 75 */
  for (size_t shift = 0; shift < 9; ++shift)
    for (size_t n = 1; n < 40; n += 1 + shift) {
      prepare(n);
      shmem_putmem(mine + kGuard + shift, source, n, right_pe());
      shmem_barrier_all();
      expect_from(left_pe(), mine + kGuard + shift, n, n);
      expect_guards(mine + kGuard + shift, n);
      shmem_getmem(copy + 3, mine + kGuard + shift, n, right_pe());
      expect_from(shmem_my_pe(), copy + 3, n, n);
      shmem_barrier_all();
    }
}

int main(void) {
  shmem_init();
  mine = shmem_malloc(kLargest + 2 * kGuard);
  source = malloc(kLargest + kGuard);
  copy = malloc(kLargest + kGuard);
  const size_t counts[] = {1, 2, 7, 8, 63, 1000, 4097, 65536};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i) {
#define RUN(NAME, BYTES, UNUSED) test_##NAME(counts[i]), test_nbi_##NAME(counts[i]);
    ATOLL_UNITS_BITS(RUN, 0)
    ATOLL_UNITS_MEM(RUN, 0)
  }
  test_mem(kLargest), test_mem(kLargest - 3), test_nbi_mem(kLargest);
  test_unaligned();
  free(source), free(copy);
  shmem_finalize();
  return 0;
}
