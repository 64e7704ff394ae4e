/* SPDX-License-Identifier: BSD-3-Clause */
/* Thread levels, and the one question that any thread may ask at any time. */
#include <pthread.h>

#include "check.h"

/* CHECK must not be used before init on a thread: it would ask for the PE. */
static void* ask(void* answer) {
  shmem_query_initialized((int*)answer);
  return NULL;
}

static int answer_of_a_thread(void) {
  int answer = -1;
  pthread_t thread;
  CHECK_EQ(pthread_create(&thread, NULL, ask, &answer), 0);
  pthread_join(thread, NULL);
  return answer;
}

static void* keep_asking(void* stop) {
  int answer;
  while (!__atomic_load_n((int*)stop, __ATOMIC_ACQUIRE)) shmem_query_initialized(&answer);
  return NULL;
}

static void test_levels_rise(void) { /* Semantics 10 */
  CHECK_CMP(SHMEM_THREAD_SINGLE, <, SHMEM_THREAD_FUNNELED);
  CHECK_CMP(SHMEM_THREAD_FUNNELED, <, SHMEM_THREAD_SERIALIZED);
  CHECK_CMP(SHMEM_THREAD_SERIALIZED, <, SHMEM_THREAD_MULTIPLE);
}

static void test_each_level(void) { /* Semantics 8, 10, 11: this thread begins and ends */
  for (int level = SHMEM_THREAD_SINGLE; level <= SHMEM_THREAD_MULTIPLE; ++level) {
    int provided = -1, queried = -1;
    CHECK_FOR(level, shmem_init_thread(level, &provided), 0);
    CHECK_CMP(provided, >=, level);
    CHECK_CMP(provided, <=, SHMEM_THREAD_MULTIPLE);
    shmem_query_thread(&queried);
    CHECK_EQ(queried, provided);
    CHECK_CMP(answer_of_a_thread(), !=, 0);
    int again = -1;
    CHECK_EQ(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &again), 0);
    shmem_query_thread(&queried);
    CHECK_EQ(queried, again); /* what is in force */
    shmem_finalize();
    shmem_finalize();
    CHECK_EQ(answer_of_a_thread(), 0);
  }
}

static void test_plain_init_has_a_level(void) {
  int level = -1;
  shmem_init();
  shmem_query_thread(&level);
  CHECK_EQ(level, SHMEM_THREAD_MULTIPLE); /* what the library always runs as */
  CHECK_EQ(shmem_init_thread(SHMEM_THREAD_SINGLE, NULL), 0);
  shmem_finalize();
  shmem_finalize();
}

int main(void) {
  int stop = 0;
  pthread_t asker;
  CHECK_EQ(answer_of_a_thread(), 0); /* Semantics 5: before the first init */
  CHECK_EQ(pthread_create(&asker, NULL, keep_asking, &stop), 0);
  test_levels_rise();
  test_each_level();
  test_plain_init_has_a_level();
  __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
  pthread_join(asker, NULL);
  return 0;
}
