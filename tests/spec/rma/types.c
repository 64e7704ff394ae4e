/* SPDX-License-Identifier: BSD-3-Clause */
/* Semantics 66, 68, 75, 78: put, get, p and g and their nonblocking forms, for each type. */
#include <string.h>

#include "check.h"

enum { kCount = 37 };

static char heap_like[2][kCount * 16] __attribute__((aligned(16)));
static char* target; /* symmetric, in the heap and then in a static variable */

static void expect_bytes(const char* what, const void* left, const void* right, size_t n) {
  if (memcmp(left, right, n) == 0) return;
  fprintf(stderr, "shmem_%s\n", what);
  CHECK(!"the bytes are equal");
}

/* Values that every type holds exactly, different for each PE. */
#define VALUE(T, I, PE) ((T)(((I) + 5 * (PE)) % 100))

#define FILL(T, ARRAY, PE) \
  for (int i = 0; i < kCount; ++i) (ARRAY)[i] = VALUE(T, i, PE)

#define EXPECT(NAME, T, ARRAY, PE) \
  for (int i = 0; i < kCount; ++i) \
    if ((ARRAY)[i] != VALUE(T, i, PE)) expect_bytes(#NAME, "a", "b", 1)

#define TEST_PUT(NAME, T, PUT)                           \
  static void test_##NAME##PUT(void) {                   \
    T source[kCount], *dest = (T*)(void*)target;         \
    FILL(T, source, shmem_my_pe());                      \
    memset(dest, 0x55, sizeof source);                   \
    shmem_barrier_all();                                 \
    shmem_##NAME##PUT(dest, source, kCount, right_pe()); \
    shmem_barrier_all();                                 \
    EXPECT(NAME##PUT, T, dest, left_pe());               \
  }

#define TEST_GET(NAME, T, GET)                             \
  static void test_##NAME##GET(void) {                     \
    T dest[kCount], *source = (T*)(void*)target;           \
    FILL(T, source, shmem_my_pe());                        \
    shmem_barrier_all();                                   \
    const T* constant = source;                            \
    shmem_##NAME##GET(dest, constant, kCount, right_pe()); \
    shmem_barrier_all();                                   \
    EXPECT(NAME##GET, T, dest, right_pe());                \
  }

#define TEST_SINGLE(NAME, T, UNUSED)                                                                     \
  static void test_##NAME##_single(void) {                                                               \
    T* dest = (T*)(void*)target;                                                                         \
    shmem_barrier_all();                                                                                 \
    for (int i = 0; i < kCount; ++i) shmem_##NAME##_p(&dest[i], VALUE(T, i, shmem_my_pe()), right_pe()); \
    shmem_barrier_all();                                                                                 \
    EXPECT(NAME##_p, T, dest, left_pe());                                                                \
    for (int i = 0; i < kCount; i += 9)                                                                  \
      CHECK(shmem_##NAME##_g((const T*)&dest[i], right_pe()) == VALUE(T, i, shmem_my_pe()));             \
    shmem_barrier_all();                                                                                 \
  }

#define TESTS(NAME, T, UNUSED) \
  TEST_PUT(NAME, T, _put)      \
  TEST_PUT(NAME, T, _put_nbi) TEST_GET(NAME, T, _get) TEST_GET(NAME, T, _get_nbi) TEST_SINGLE(NAME, T, UNUSED)
SHMEM_TYPES_RMA(TESTS, 0)

#define RUN(NAME, T, UNUSED)                                                                  \
  test_##NAME##_put(), test_##NAME##_get(), test_##NAME##_put_nbi(), test_##NAME##_get_nbi(), \
      test_##NAME##_single();

int main(void) {
  shmem_init();
  target = shmem_malloc(kCount * 16);
  SHMEM_TYPES_RMA(RUN, 0)
  shmem_barrier_all();
  target = heap_like[1];
  SHMEM_TYPES_RMA(RUN, 0)
  shmem_barrier_all();
  for (size_t i = 0; i < sizeof heap_like[0]; ++i) CHECK_EQ(heap_like[0][i], 0);
  shmem_finalize();
  return 0;
}
