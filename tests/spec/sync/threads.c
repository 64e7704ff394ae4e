/* SPDX-License-Identifier: BSD-3-Clause */
/* Semantics 37, 39, 62: many threads of each PE on the default context. */
#include <pthread.h>
#include <string.h>

#include "check.h"

enum { kThreads = 4, kWords = 64 };

static long counter, blocked_flag;
static long boxes[kThreads][kWords];
static uint64_t signals[kThreads];

static void run(void* (*body)(void*)) {
  pthread_t threads[kThreads];
  for (long t = 0; t < kThreads; ++t) CHECK_EQ(pthread_create(&threads[t], NULL, body, (void*)t), 0);
  for (int t = 0; t < kThreads; ++t) pthread_join(threads[t], NULL);
}

static void* add_put_and_get(void* number) {
  const long t = (long)number;
  const int times = rounds(2000, 60);
  long source[kWords], back[kWords];
  for (long i = 0; i < times; ++i) {
    for (int k = 0; k < kWords; ++k) source[k] = i * 1000 + t * 100 + k;
    shmem_long_put(boxes[t], source, kWords, right_pe());
    shmem_quiet();
    shmem_long_get(back, boxes[t], kWords, right_pe());
    for (int k = 0; k < kWords; ++k) CHECK_AT(back, k, source[k]);
    shmem_long_atomic_inc(&counter, 0);
    long fetched = -1;
    shmem_long_atomic_fetch_inc_nbi(&fetched, &counter, 0);
    shmem_quiet();
    CHECK_CMP(fetched, >=, 0);
  }
  return NULL;
}

/* Each thread plays ping-pong with its namesake on the next PE. */
/* Semantics 62: so is any context that is not private. */
static shmem_ctx_t shared_context;

static void* use_shared_context(void* number) {
  const long t = (long)number;
  for (long i = 1; i <= rounds(500, 40); ++i) {
    long source[kWords], back[kWords];
    for (int k = 0; k < kWords; ++k) source[k] = i * 10000 + t * 100 + k;
    shmem_ctx_long_put_nbi(shared_context, boxes[t], source, kWords, right_pe());
    shmem_ctx_quiet(shared_context);
    shmem_ctx_long_get_nbi(shared_context, back, boxes[t], kWords, right_pe());
    shmem_ctx_quiet(shared_context);
    for (int k = 0; k < kWords; ++k) CHECK_AT(back, k, source[k]);
    shmem_ctx_long_atomic_add(shared_context, &counter, 1, 0);
  }
  return NULL;
}

static void test_shared_context(void) {
  counter = 0;
  shmem_barrier_all();
  CHECK_EQ(shmem_ctx_create(0, &shared_context), 0);
  run(use_shared_context);
  shmem_ctx_destroy(shared_context);
  shmem_barrier_all();
  CHECK_EQ(shmem_long_g(&counter, 0), (long)kThreads * rounds(500, 40) * shmem_n_pes());
  shmem_barrier_all();
}

static void* signal_and_wait(void* number) {
  const long t = (long)number;
  for (uint64_t i = 1; i <= (uint64_t)rounds(500, 40); ++i) {
    shmem_long_put_signal(boxes[t], (const long*)&i, 1, &signals[t], 1, SHMEM_SIGNAL_ADD, right_pe());
    shmem_signal_wait_until(&signals[t], SHMEM_CMP_GE, i);
  }
  return NULL;
}

static void* block(void* unused) {
  (void)unused;
  shmem_long_wait_until(&blocked_flag, SHMEM_CMP_EQ, 1);
  return NULL;
}

/* Semantics 37: a thread that waits stalls neither this PE's other threads nor the other PEs. */
static void test_blocked_thread(void) {
  pthread_t waiting;
  CHECK_EQ(pthread_create(&waiting, NULL, block, NULL), 0);
  run(add_put_and_get);
  for (int i = 0; i < 20; ++i) shmem_barrier_all();
  void* memory = shmem_malloc(100);
  shmem_free(memory);
  shmem_long_p(&blocked_flag, 1, right_pe());
  pthread_join(waiting, NULL);
  shmem_barrier_all();
}

/* Semantics 39: the quiet of one thread completes what another has issued before. */
static void* issue(void* unused) {
  (void)unused;
  for (int k = 0; k < kWords; ++k) shmem_long_p(&boxes[0][k], 5000 + k, right_pe());
  return NULL;
}

static void test_quiet_of_another_thread(void) {
  pthread_t issuer;
  for (int i = 0; i < rounds(100, 10); ++i) {
    shmem_barrier_all();
    memset(boxes, 0, sizeof boxes);
    shmem_barrier_all();
    CHECK_EQ(pthread_create(&issuer, NULL, issue, NULL), 0);
    pthread_join(issuer, NULL);
    shmem_quiet();
    CHECK_EQ(shmem_long_g(&boxes[0][kWords - 1], right_pe()), 5000 + kWords - 1);
  }
  shmem_barrier_all();
}

int main(void) {
  int provided = -1;
  CHECK_EQ(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided), 0);
  CHECK_EQ(provided, SHMEM_THREAD_MULTIPLE);
  run(add_put_and_get);
  shmem_barrier_all();
  CHECK_EQ(shmem_long_g(&counter, 0), 2L * kThreads * rounds(2000, 60) * shmem_n_pes());
  shmem_barrier_all();
  test_shared_context();
  run(signal_and_wait);
  shmem_barrier_all();
  test_blocked_thread();
  test_quiet_of_another_thread();
  shmem_finalize();
  return 0;
}
