/* SPDX-License-Identifier: BSD-3-Clause */
/* Semantics 96, 97, 103, 105: waiting for one word, and testing it, for each type. */
#include <pthread.h>

#include "check.h"

static long area[4]; /* a symmetric word for every type */

/* Every comparison against a smaller, an equal and a larger value. */
#define TEST(NAME, T, UNUSED)                                                                               \
  static void test_##NAME(void) {                                                                           \
    static const int expected[6][3] = {{0, 1, 0}, {1, 0, 1}, {1, 0, 0}, {0, 1, 1}, {0, 0, 1}, {1, 1, 0}};   \
    T* word = (T*)(void*)area;                                                                              \
    *word = (T)20;                                                                                          \
    for (int k = 0; k < 18; ++k)                                                                            \
      CHECK_FOR(k, shmem_##NAME##_test(word, comparisons[k / 3], (T)(19 + k % 3)), expected[k / 3][k % 3]); \
    WAIT_TESTS(NAME, T)                                                                                     \
  }

/* -1 is the smallest of three for a signed type and the largest for an unsigned one. */
#define WAIT_TESTS(NAME, T)                                                 \
  *word = (T)-1;                                                            \
  CHECK_EQ(shmem_##NAME##_test(word, SHMEM_CMP_LT, (T)1), (T)-1 < (T)1);    \
  CHECK_EQ(shmem_##NAME##_test(word, SHMEM_CMP_GE, (T)1), !((T)-1 < (T)1)); \
  *word = 0;                                                                \
  shmem_barrier_all();                                                      \
  shmem_##NAME##_p(word, (T)3, right_pe());                                 \
  shmem_##NAME##_wait_until(word, SHMEM_CMP_NE, (T)0);                      \
  shmem_##NAME##_wait_until(word, SHMEM_CMP_EQ, (T)3);                      \
  shmem_barrier_all();

static const int comparisons[6] = {SHMEM_CMP_EQ, SHMEM_CMP_NE, SHMEM_CMP_GT,
                                   SHMEM_CMP_LE, SHMEM_CMP_LT, SHMEM_CMP_GE};

ATOLL_TYPES_AMO(TEST, 0)
ATOLL_TYPES_SHORT(TEST, 0)

/* The first waits: for any other value than this. */
#define TEST_CHANGE(NAME, T, UNUSED)       \
  {                                        \
    T* word = (T*)(void*)area;             \
    *word = 5;                             \
    shmem_barrier_all();                   \
    shmem_##NAME##_p(word, 6, right_pe()); \
    shmem_##NAME##_wait(word, 5);          \
    CHECK_EQ(*word, 6);                    \
    shmem_barrier_all();                   \
  }

static void test_old_waits(void) { /* Semantics 97, 105 */
  ATOLL_TYPES_OLD_WAIT(TEST_CHANGE, 0)
  area[0] = 5;
  shmem_barrier_all();
  shmem_long_p(area, 7, right_pe());
  shmem_wait(area, 5);
  (shmem_wait_until)(area, SHMEM_CMP_EQ, 7);
  shmem_barrier_all();
}

static void* update(void* unused) {
  (void)unused;
  shmem_long_atomic_set(&area[1], 1, shmem_my_pe());
  return NULL;
}

static void test_another_thread_updates(void) { /* Semantics 96 */
  pthread_t thread;
  area[1] = 0;
  CHECK_EQ(pthread_create(&thread, NULL, update, NULL), 0);
  shmem_long_wait_until(&area[1], SHMEM_CMP_EQ, 1);
  pthread_join(thread, NULL);
}

/* Round trips: each update must be seen, by waiting and by testing. */
static void test_ping_pong(int testing) {
  static long word;
  const int times = rounds(3000, 150);
  word = 0;
  shmem_barrier_all();
  for (int i = 1; i <= times; ++i) {
    shmem_long_atomic_inc(&word, right_pe());
    if (!testing) shmem_long_wait_until(&word, SHMEM_CMP_GE, i);
    while (testing && !shmem_long_test(&word, SHMEM_CMP_GE, i)) {
    }
  }
  shmem_barrier_all();
  CHECK_EQ(word, times);
}

int main(void) {
  int provided;
  CHECK_EQ(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided), 0);
#define RUN(NAME, T, UNUSED) test_##NAME();
  ATOLL_TYPES_AMO(RUN, 0)
  ATOLL_TYPES_SHORT(RUN, 0)
  test_old_waits();
  test_another_thread_updates();
  test_ping_pong(0);
  test_ping_pong(1);
  shmem_finalize();
  return 0;
}
