/* SPDX-License-Identifier: BSD-3-Clause */
/* Semantics 79, 81-86: each atomic operation on each of its types, on the heap and on a variable, on every
 * PE. */
#include <limits.h>

#include "check.h"

/* One word per calling PE, so that everybody can tell what comes back. */
static union {
  char bytes[16];
  long double align;
} variable_area[64];
static void* area; /* 16 bytes per PE */

#define WORD(T) ((T*)(void*)((char*)area + 16 * shmem_my_pe()))

/* Of type T whatever C promotes it to. */
#define AS(T, VALUE) ((T)(VALUE))

#define TEST_MOVE(NAME, T, UNUSED)                                               \
  static void test_move_##NAME(int pe) {                                         \
    T* word = WORD(T);                                                           \
    T fetched = 0;                                                               \
    shmem_##NAME##_atomic_set(word, AS(T, 11), pe);                              \
    CHECK_OF_PE(pe, shmem_##NAME##_atomic_fetch((const T*)word, pe), AS(T, 11)); \
    CHECK_OF_PE(pe, shmem_##NAME##_atomic_swap(word, AS(T, 22), pe), AS(T, 11)); \
    TEST_MOVE_NBI(NAME, T)                                                       \
  }

#define TEST_MOVE_NBI(NAME, T)                                   \
  shmem_##NAME##_atomic_fetch_nbi(&fetched, (const T*)word, pe); \
  shmem_quiet();                                                 \
  CHECK_EQ(fetched, AS(T, 22));                                  \
  shmem_##NAME##_atomic_swap_nbi(&fetched, word, AS(T, 33), pe); \
  shmem_quiet();                                                 \
  CHECK_EQ(fetched, AS(T, 22));                                  \
  CHECK_OF_PE(pe, shmem_##NAME##_g(word, pe), AS(T, 33));

/* Adding 1 to the largest value of an unsigned type gives 0, and -1 plus 1 is 0 for all (semantics 85). */
#define TEST_ADD(NAME, T, UNUSED)                                                   \
  static void test_add_##NAME(int pe) {                                             \
    T* word = WORD(T);                                                              \
    shmem_##NAME##_atomic_set(word, AS(T, -1), pe);                                 \
    CHECK_OF_PE(pe, shmem_##NAME##_atomic_fetch_inc(word, pe), AS(T, -1));          \
    CHECK_OF_PE(pe, shmem_##NAME##_atomic_fetch_add(word, AS(T, 5), pe), AS(T, 0)); \
    shmem_##NAME##_atomic_inc(word, pe);                                            \
    shmem_##NAME##_atomic_add(word, AS(T, -2), pe);                                 \
    CHECK_OF_PE(pe, shmem_##NAME##_atomic_fetch(word, pe), AS(T, 4));               \
    TEST_ADD_NBI(NAME, T)                                                           \
  }

#define TEST_ADD_NBI(NAME, T)                                           \
  T fetched[2] = {0};                                                   \
  shmem_##NAME##_atomic_fetch_add_nbi(&fetched[0], word, AS(T, 6), pe); \
  shmem_fence();                                                        \
  shmem_##NAME##_atomic_fetch_inc_nbi(&fetched[1], word, pe);           \
  shmem_quiet();                                                        \
  CHECK_EQ(fetched[0], AS(T, 4));                                       \
  CHECK_EQ(fetched[1], AS(T, 10));                                      \
  CHECK_OF_PE(pe, shmem_##NAME##_g(word, pe), AS(T, 11));

#define TEST_COMPARE(NAME, T, UNUSED)                                                              \
  static void test_compare_##NAME(int pe) {                                                        \
    T *word = WORD(T), fetched = 0;                                                                \
    shmem_##NAME##_atomic_set(word, AS(T, -7), pe);                                                \
    CHECK_OF_PE(pe, shmem_##NAME##_atomic_compare_swap(word, AS(T, 1), AS(T, 2), pe), AS(T, -7));  \
    CHECK_OF_PE(pe, shmem_##NAME##_atomic_compare_swap(word, AS(T, -7), AS(T, 2), pe), AS(T, -7)); \
    shmem_##NAME##_atomic_compare_swap_nbi(&fetched, word, AS(T, 2), AS(T, 9), pe);                \
    shmem_quiet();                                                                                 \
    CHECK_EQ(fetched, AS(T, 2));                                                                   \
    CHECK_OF_PE(pe, shmem_##NAME##_atomic_fetch(word, pe), AS(T, 9));                              \
  }

#define TEST_BITS(NAME, T, UNUSED)                                                        \
  static void test_bits_##NAME(int pe) {                                                  \
    T* word = WORD(T);                                                                    \
    shmem_##NAME##_atomic_set(word, AS(T, 0xf0), pe);                                     \
    CHECK_OF_PE(pe, shmem_##NAME##_atomic_fetch_or(word, AS(T, 0x0f), pe), AS(T, 0xf0));  \
    CHECK_OF_PE(pe, shmem_##NAME##_atomic_fetch_and(word, AS(T, 0x3c), pe), AS(T, 0xff)); \
    CHECK_OF_PE(pe, shmem_##NAME##_atomic_fetch_xor(word, AS(T, -1), pe), AS(T, 0x3c));   \
    TEST_BITS_QUIETLY(NAME, T)                                                            \
  }

#define TEST_BITS_QUIETLY(NAME, T)                                     \
  CHECK_OF_PE(pe, shmem_##NAME##_g(word, pe), AS(T, ~(T)0x3c));        \
  shmem_##NAME##_atomic_and(word, AS(T, 0xff), pe);                    \
  shmem_##NAME##_atomic_or(word, AS(T, 0x100), pe);                    \
  shmem_##NAME##_atomic_xor(word, AS(T, 0x103), pe);                   \
  CHECK_OF_PE(pe, shmem_##NAME##_atomic_fetch(word, pe), AS(T, 0xc0)); \
  TEST_BITS_NBI(NAME, T)

#define TEST_BITS_NBI(NAME, T)                                             \
  T fetched[3] = {0};                                                      \
  shmem_##NAME##_atomic_fetch_or_nbi(&fetched[0], word, AS(T, 1), pe);     \
  shmem_fence();                                                           \
  shmem_##NAME##_atomic_fetch_and_nbi(&fetched[1], word, AS(T, 0x41), pe); \
  shmem_fence();                                                           \
  shmem_##NAME##_atomic_fetch_xor_nbi(&fetched[2], word, AS(T, 1), pe);    \
  shmem_quiet();                                                           \
  CHECK_EQ(fetched[0], AS(T, 0xc0));                                       \
  CHECK_EQ(fetched[1], AS(T, 0xc1));                                       \
  CHECK_EQ(fetched[2], AS(T, 0x41));                                       \
  CHECK_OF_PE(pe, shmem_##NAME##_g(word, pe), AS(T, 0x40));

ATOLL_TYPES_AMO_EXT(TEST_MOVE, 0)
ATOLL_TYPES_AMO(TEST_ADD, 0)
ATOLL_TYPES_AMO(TEST_COMPARE, 0)
ATOLL_TYPES_BITWISE(TEST_BITS, 0)
ATOLL_TYPES_BITWISE_EXTRA(TEST_BITS, 0) /* as Open MPI has them */

/* The names from before 1.4. */
#define TEST_OLD(NAME, T, UNUSED)                             \
  static void test_old_##NAME(int pe) {                       \
    T* word = WORD(T);                                        \
    shmem_##NAME##_set(word, 1, pe);                          \
    CHECK_OF_PE(pe, shmem_##NAME##_swap(word, 2, pe), 1);     \
    CHECK_OF_PE(pe, shmem_##NAME##_cswap(word, 2, 3, pe), 2); \
    shmem_##NAME##_add(word, 4, pe);                          \
    shmem_##NAME##_inc(word, pe);                             \
    TEST_OLD_FETCH(NAME)                                      \
  }
#define TEST_OLD_FETCH(NAME)                            \
  CHECK_OF_PE(pe, shmem_##NAME##_finc(word, pe), 8);    \
  CHECK_OF_PE(pe, shmem_##NAME##_fadd(word, 2, pe), 9); \
  CHECK_OF_PE(pe, shmem_##NAME##_fetch(word, pe), 11);
ATOLL_TYPES_OLD_AMO(TEST_OLD, 0)

static void test_on_area(void) {
  for (int pe = 0; pe < shmem_n_pes(); ++pe) {
#define RUN(NAME, T, TEST) test_##TEST##_##NAME(pe);
    ATOLL_TYPES_AMO_EXT(RUN, move)
    ATOLL_TYPES_AMO(RUN, add)
    ATOLL_TYPES_AMO(RUN, compare)
    ATOLL_TYPES_BITWISE(RUN, bits)
    ATOLL_TYPES_BITWISE_EXTRA(RUN, bits)
    ATOLL_TYPES_OLD_AMO(RUN, old)
  }
}

int main(void) {
  shmem_init();
  area = shmem_calloc(64, 16);
  test_on_area();
  shmem_barrier_all();
  area = variable_area;
  test_on_area();
  shmem_finalize();
  return 0;
}
