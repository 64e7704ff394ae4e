/* SPDX-License-Identifier: BSD-3-Clause */
/* Semantics 98-102: waiting for many words, and testing them, for each type: what the calls answer. */
#include "check.h"

enum { kCount = 5 };

static long long area[kCount]; /* symmetric words for every type */
static const int all_masked[kCount] = {1, 2, -1, 1, 1};
static const int some_masked[kCount] = {0, 1, 0, 7, 0};

/* Words 0 10 20 30 40; those above 15 are 2, 3 and 4, and of these 3 is masked. */
#define TEST_TEST(NAME, T, UNUSED)                                              \
  static void test_test_##NAME(void) {                                          \
    T* words = (T*)(void*)area;                                                 \
    size_t found[kCount];                                                       \
    for (int i = 0; i < kCount; ++i) words[i] = (T)(10 * i);                    \
    CHECK_EQ(shmem_##NAME##_test_all(words, kCount, NULL, SHMEM_CMP_GE, 0), 1); \
    CHECK_EQ(shmem_##NAME##_test_all(words, kCount, NULL, SHMEM_CMP_GT, 0), 0); \
    TEST_ANY_SOME(NAME)                                                         \
    TEST_EMPTY(NAME)                                                            \
  }

#define TEST_ANY_SOME(NAME)                                                                        \
  CHECK_EQ(shmem_##NAME##_test_any(words, kCount, NULL, SHMEM_CMP_EQ, 30), 3);                     \
  CHECK_EQ(shmem_##NAME##_test_any(words, kCount, NULL, SHMEM_CMP_EQ, 31), SIZE_MAX);              \
  CHECK_EQ(shmem_##NAME##_test_any(words, kCount, some_masked, SHMEM_CMP_EQ, 30), SIZE_MAX);       \
  CHECK_EQ(shmem_##NAME##_test_some(words, kCount, found, some_masked, SHMEM_CMP_GT, 15), 2);      \
  CHECK_EQ(found[0] + found[1], 6);                                                                \
  CHECK_EQ(shmem_##NAME##_test_some(words, kCount, found, NULL, SHMEM_CMP_GT, 40), 0);             \
  CHECK_EQ(shmem_##NAME##_wait_until_some(words, kCount, found, some_masked, SHMEM_CMP_LT, 5), 1); \
  CHECK_EQ(found[0], 0);                                                                           \
  CHECK_EQ(shmem_##NAME##_wait_until_any(words, kCount, NULL, SHMEM_CMP_EQ, 20), 2);

/* Semantics 99: no element, or none that counts */
#define TEST_EMPTY(NAME)                                                                          \
  CHECK_EQ(shmem_##NAME##_test_all(NULL, 0, NULL, SHMEM_CMP_EQ, 1), 1);                           \
  CHECK_EQ(shmem_##NAME##_test_any(words, kCount, all_masked, SHMEM_CMP_GE, 0), SIZE_MAX);        \
  CHECK_EQ(shmem_##NAME##_test_some(words, kCount, found, all_masked, SHMEM_CMP_GE, 0), 0);       \
  CHECK_EQ(shmem_##NAME##_test_some(NULL, 0, NULL, NULL, SHMEM_CMP_GE, 0), 0);                    \
  CHECK_EQ(shmem_##NAME##_wait_until_any(NULL, 0, NULL, SHMEM_CMP_EQ, 1), SIZE_MAX);              \
  CHECK_EQ(shmem_##NAME##_wait_until_some(words, kCount, found, all_masked, SHMEM_CMP_EQ, 1), 0); \
  shmem_##NAME##_wait_until_all(words, kCount, all_masked, SHMEM_CMP_EQ, 1);

#define TEST_EMPTY_VECTOR(NAME)                                                                             \
  shmem_##NAME##_wait_until_all_vector(NULL, 0, NULL, SHMEM_CMP_EQ, NULL);                                  \
  CHECK_EQ(shmem_##NAME##_wait_until_any_vector(words, kCount, all_masked, SHMEM_CMP_EQ, other), SIZE_MAX); \
  CHECK_EQ(shmem_##NAME##_wait_until_some_vector(NULL, 0, NULL, NULL, SHMEM_CMP_EQ, NULL), 0);              \
  CHECK_EQ(shmem_##NAME##_test_all_vector(words, kCount, all_masked, SHMEM_CMP_EQ, other), 1);              \
  CHECK_EQ(shmem_##NAME##_test_any_vector(NULL, 0, NULL, SHMEM_CMP_EQ, NULL), SIZE_MAX);                    \
  CHECK_EQ(shmem_##NAME##_test_some_vector(words, kCount, found, all_masked, SHMEM_CMP_EQ, other), 0);

/* Semantics 102: each element with its own value */
#define TEST_VECTOR(NAME, T, UNUSED)                                                       \
  static void test_vector_##NAME(void) {                                                   \
    T* words = (T*)(void*)area;                                                            \
    const T same[kCount] = {0, 10, 20, 30, 40}, other[kCount] = {1, 10, 21, 31, 41};       \
    size_t found[kCount];                                                                  \
    for (int i = 0; i < kCount; ++i) words[i] = (T)(10 * i);                               \
    CHECK_EQ(shmem_##NAME##_test_all_vector(words, kCount, NULL, SHMEM_CMP_EQ, same), 1);  \
    CHECK_EQ(shmem_##NAME##_test_all_vector(words, kCount, NULL, SHMEM_CMP_EQ, other), 0); \
    TEST_VECTOR_ANSWERS(NAME)                                                              \
    TEST_EMPTY_VECTOR(NAME)                                                                \
  }

#define TEST_VECTOR_ANSWERS(NAME)                                                                      \
  CHECK_EQ(shmem_##NAME##_test_any_vector(words, kCount, NULL, SHMEM_CMP_EQ, other), 1);               \
  CHECK_EQ(shmem_##NAME##_test_any_vector(words, kCount, some_masked, SHMEM_CMP_EQ, other), SIZE_MAX); \
  CHECK_EQ(shmem_##NAME##_test_some_vector(words, kCount, found, NULL, SHMEM_CMP_NE, other), 4);       \
  shmem_##NAME##_wait_until_all_vector(words, kCount, NULL, SHMEM_CMP_EQ, same);                       \
  CHECK_EQ(shmem_##NAME##_wait_until_any_vector(words, kCount, NULL, SHMEM_CMP_EQ, other), 1);         \
  CHECK_EQ(shmem_##NAME##_wait_until_some_vector(words, kCount, found, NULL, SHMEM_CMP_EQ, other), 1); \
  CHECK_EQ(found[0], 1);

/* Semantics 103: -1 compares as the type says, also here */
#define TEST_SIGNS(NAME, T, UNUSED)                                                                  \
  static void test_signs_##NAME(void) {                                                              \
    T* words = (T*)(void*)area;                                                                      \
    for (int i = 0; i < kCount; ++i) words[i] = (T)-1;                                               \
    CHECK_EQ(shmem_##NAME##_test_all(words, kCount, NULL, SHMEM_CMP_LT, 1), (T)-1 < (T)1);           \
    CHECK_EQ(shmem_##NAME##_test_any(words, 1, NULL, SHMEM_CMP_GT, 1), (T)-1 < (T)1 ? SIZE_MAX : 0); \
  }

/* Updates from another PE, seen by each kind of wait. */
#define TEST_REMOTE(NAME, T, UNUSED)                                                               \
  static void test_remote_##NAME(void) {                                                           \
    T* words = (T*)(void*)area;                                                                    \
    size_t found[kCount];                                                                          \
    for (int i = 0; i < kCount; ++i) words[i] = 0;                                                 \
    shmem_barrier_all();                                                                           \
    for (int i = 0; i < kCount; ++i) shmem_##NAME##_atomic_set(&words[i], (T)(i + 1), right_pe()); \
    CHECK_CMP(shmem_##NAME##_wait_until_any(words, kCount, NULL, SHMEM_CMP_NE, 0), <, kCount);     \
    CHECK_CMP(shmem_##NAME##_wait_until_some(words, kCount, found, NULL, SHMEM_CMP_NE, 0), >=, 1); \
    EXPECT_ALL(NAME, T)                                                                            \
  }

#define EXPECT_ALL(NAME, T)                                                                      \
  shmem_##NAME##_wait_until_all(words, kCount, NULL, SHMEM_CMP_GT, 0);                           \
  for (int i = 0; i < kCount; ++i) CHECK_AT(words, i, (T)(i + 1));                               \
  CHECK_EQ(shmem_##NAME##_wait_until_some(words, kCount, found, NULL, SHMEM_CMP_NE, 0), kCount); \
  shmem_barrier_all();

#define TESTS(NAME, T, UNUSED) \
  TEST_TEST(NAME, T, 0) TEST_VECTOR(NAME, T, 0) TEST_SIGNS(NAME, T, 0) TEST_REMOTE(NAME, T, 0)
ATOLL_TYPES_AMO(TESTS, 0)

int main(void) {
  shmem_init();
#define RUN(NAME, T, UNUSED) \
  test_test_##NAME(), test_vector_##NAME(), test_signs_##NAME(), test_remote_##NAME();
  ATOLL_TYPES_AMO(RUN, 0)
  shmem_finalize();
  return 0;
}
