/* SPDX-License-Identifier: BSD-3-Clause */
/* Sandia-OpenSHMEM 639: more threads than the network has contexts. */
#include <pthread.h>

#include "check.h"

enum { kThreads = 32 };
static long counter;

static void* add(void* unused) {
  (void)unused;
  for (int i = 0; i < rounds(500, 30); ++i) {
    shmem_long_atomic_fetch_inc(&counter, right_pe());
    shmem_long_atomic_inc(&counter, right_pe());
  }
  return NULL;
}

int main(void) {
  int provided;
  CHECK_EQ(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided), 0);
  pthread_t threads[kThreads];
  for (int t = 0; t < kThreads; ++t) CHECK_EQ(pthread_create(&threads[t], NULL, add, NULL), 0);
  for (int t = 0; t < kThreads; ++t) pthread_join(threads[t], NULL);
  shmem_barrier_all();
  CHECK_EQ(counter, 2L * kThreads * rounds(500, 30));
  shmem_finalize();
  return 0;
}
