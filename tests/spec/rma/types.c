/* SPDX-License-Identifier: BSD-3-Clause */
/* Semantics 66, 68, 75, 78: put, get, p and g and their nonblocking forms, for each type. */
#include "check.h"

enum { kCount = 37 };

static char variables[3][kCount * 16] __attribute__((aligned(16)));
static void* memory; /* symmetric: a block of the heap, then the middle one of the variables */

/* Element i of what PE `pe` sends: every type holds it exactly. */
#define VALUE(T, I, PE) ((T)(((I) + 5 * (PE)) % 100))

/* Each PE sends an array to the next one, and so receives that of the previous one. */
#define TEST_PUT(NAME, T, PUT)                                                  \
  static void test_##NAME##PUT(void) {                                          \
    T source[kCount], *dest = memory;                                           \
    for (int i = 0; i < kCount; ++i) source[i] = VALUE(T, i, shmem_my_pe());    \
    memset(dest, 0x55, sizeof source);                                          \
    shmem_barrier_all();                                                        \
    shmem_##NAME##PUT(dest, source, kCount, right_pe());                        \
    shmem_barrier_all();                                                        \
    for (int i = 0; i < kCount; ++i) CHECK_AT(dest, i, VALUE(T, i, left_pe())); \
  }

/* Each PE fetches the array of the next one. */
#define TEST_GET(NAME, T, GET)                                                   \
  static void test_##NAME##GET(void) {                                           \
    T dest[kCount], *source = memory;                                            \
    for (int i = 0; i < kCount; ++i) source[i] = VALUE(T, i, shmem_my_pe());     \
    shmem_barrier_all();                                                         \
    const T* constant = source;                                                  \
    shmem_##NAME##GET(dest, constant, kCount, right_pe());                       \
    shmem_barrier_all(); /* which completes the nonblocking form */              \
    for (int i = 0; i < kCount; ++i) CHECK_AT(dest, i, VALUE(T, i, right_pe())); \
  }

/* The same, element by element. */
#define TEST_SINGLE(NAME, T, UNUSED)                                                                     \
  static void test_##NAME##_single(void) {                                                               \
    T* dest = memory;                                                                                    \
    shmem_barrier_all();                                                                                 \
    for (int i = 0; i < kCount; ++i) shmem_##NAME##_p(&dest[i], VALUE(T, i, shmem_my_pe()), right_pe()); \
    shmem_barrier_all();                                                                                 \
    for (int i = 0; i < kCount; ++i) CHECK_AT(dest, i, VALUE(T, i, left_pe()));                          \
    const T* constant = dest;                                                                            \
    for (int i = 0; i < kCount; i += 9)                                                                  \
      CHECK_FOR(i, shmem_##NAME##_g(&constant[i], right_pe()), VALUE(T, i, shmem_my_pe()));              \
    shmem_barrier_all();                                                                                 \
  }

#define TESTS(NAME, T, UNUSED) \
  TEST_PUT(NAME, T, _put)      \
  TEST_PUT(NAME, T, _put_nbi)  \
  TEST_GET(NAME, T, _get)      \
  TEST_GET(NAME, T, _get_nbi)  \
  TEST_SINGLE(NAME, T, UNUSED)
ATOLL_TYPES_RMA(TESTS, 0)

#define RUN(NAME, T, UNUSED) \
  test_##NAME##_put();       \
  test_##NAME##_get();       \
  test_##NAME##_put_nbi();   \
  test_##NAME##_get_nbi();   \
  test_##NAME##_single();

int main(void) {
  shmem_init();
  memory = shmem_malloc(sizeof variables[0]);
  ATOLL_TYPES_RMA(RUN, 0)
  shmem_barrier_all();
  memory = variables[1];
  ATOLL_TYPES_RMA(RUN, 0)
  for (size_t i = 0; i < sizeof variables[0]; ++i) {
    CHECK_AT(variables[0], i, 0);
    CHECK_AT(variables[2], i, 0);
  }
  shmem_finalize();
  return 0;
}
