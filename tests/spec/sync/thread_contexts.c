/* SPDX-License-Identifier: BSD-3-Clause */
/* 37, 39, 54, 58-60, 62: threads and contexts in every proportion: threads that share contexts, contexts that
 * share endpoints, threads that are blocked beside threads that work, and contexts that come and go. */
#include <dirent.h>
#include <pthread.h>
#include <string.h>

#include "check.h"

enum { kThreads = 6, kShared = 2, kMany = 40, kWords = 64, kLong = 20000 };

static const long kinds[] = {0, SHMEM_CTX_PRIVATE, SHMEM_CTX_SERIALIZED,
                             SHMEM_CTX_PRIVATE | SHMEM_CTX_NOSTORE};
static shmem_ctx_t shared_contexts[kShared];
static long boxes[kThreads][kWords];
static long long_boxes[kThreads][kLong];
static long counter, finished, flag, lock;
static int steps; /* of each worker */

static void run(int threads, void* (*body)(void*)) {
  pthread_t ids[kThreads];
  for (long t = 0; t < threads; ++t) CHECK_EQ(pthread_create(&ids[t], NULL, body, (void*)t), 0);
  for (int t = 0; t < threads; ++t) pthread_join(ids[t], NULL);
}

/* Every kind of operation, each completed by this context's own quiet. */
static void use(shmem_ctx_t ctx, long t, long step) {
  long source[kWords], back[kWords], old = -1;
  for (int k = 0; k < kWords; ++k) source[k] = step * 1000 + t * 100 + k;
  shmem_ctx_long_put(ctx, boxes[t], source, kWords / 2, right_pe());
  shmem_ctx_long_put_nbi(ctx, boxes[t] + kWords / 2, source + kWords / 2, kWords / 2, right_pe());
  shmem_ctx_long_atomic_inc(ctx, &counter, 0);
  shmem_ctx_long_atomic_fetch_inc_nbi(ctx, &old, &counter, 0);
  shmem_ctx_quiet(ctx);
  CHECK_CMP(old, >=, 0);
  memset(back, 0, sizeof back);
  shmem_ctx_long_get(ctx, back, boxes[t], kWords / 2, right_pe());
  shmem_ctx_long_get_nbi(ctx, back + kWords / 2, boxes[t] + kWords / 2, kWords / 2, right_pe());
  shmem_ctx_quiet(ctx);
  for (int k = 0; k < kWords; ++k) CHECK_AT(back, k, source[k]);
  CHECK_CMP(shmem_ctx_long_atomic_fetch(ctx, &counter, 0), >, old);
}

static void expect_uses(long uses) {
  shmem_barrier_all();
  CHECK_EQ(shmem_long_g(&counter, 0), 2 * uses * shmem_n_pes());
  shmem_barrier_all();
  if (shmem_my_pe() == 0) shmem_long_p(&counter, 0, 0);
  shmem_barrier_all();
}

/* 62: more threads than contexts. */
static void* use_shared(void* number) {
  for (int i = 0; i < steps; ++i) use(shared_contexts[(long)number % kShared], (long)number, i);
  return NULL;
}

/* 60: each thread has contexts of its own, together far more than there are endpoints; all are in use at
 * once. */
static void* use_many(void* number) {
  const long t = (long)number;
  shmem_ctx_t ctx[kMany / kThreads];
  for (int c = 0; c < kMany / kThreads; ++c) CHECK_FOR(c, shmem_ctx_create(kinds[(t + c) % 4], &ctx[c]), 0);
  for (int i = 0; i < steps; ++i) use(ctx[i % (kMany / kThreads)], t, i);
  /* 59: each completes its own, in any order; 58: destroying completes too. */
  long* source = malloc(sizeof long_boxes[t]);
  for (int k = 0; k < kLong; ++k) source[k] = t + k;
  for (int c = 0; c < kMany / kThreads; ++c)
    shmem_ctx_long_put_nbi(ctx[c], long_boxes[t] + c * 1000, source + c * 1000, 1000, right_pe());
  for (int c = kMany / kThreads - 1; c >= 0; --c) shmem_ctx_destroy(ctx[c]);
  long* back = calloc(kLong, sizeof *back);
  shmem_long_get(back, long_boxes[t], kMany / kThreads * 1000, right_pe());
  for (int k = 0; k < kMany / kThreads * 1000; ++k) CHECK_AT(back, k, source[k]);
  free(source);
  free(back);
  return NULL;
}

/* 37: each of these waits until PE 0 has heard from all workers of all PEs. */
static void* wait_in_barrier(void* unused) {
  shmem_barrier_all();
  return unused;
}
static void* wait_for_flag(void* unused) {
  shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 1);
  return unused;
}
static void* wait_for_lock(void* unused) {
  shmem_set_lock(&lock);
  shmem_clear_lock(&lock);
  return unused;
}

static void* work_and_report(void* number) {
  shmem_ctx_t ctx;
  CHECK_EQ(shmem_ctx_create(SHMEM_CTX_PRIVATE, &ctx), 0);
  for (int i = 0; i < steps; ++i) use(ctx, (long)number, i);
  shmem_ctx_long_atomic_inc(ctx, &finished, 0);
  shmem_ctx_destroy(ctx);
  return NULL;
}

static void test_blocked_threads(void) {
  enum { kWorkers = 3 };
  const int first = shmem_my_pe() == 0;
  pthread_t flagged, locked, in_barrier;
  if (first) shmem_set_lock(&lock);
  shmem_barrier_all();
  CHECK_EQ(pthread_create(&flagged, NULL, wait_for_flag, NULL), 0);
  if (!first) {
    CHECK_EQ(pthread_create(&locked, NULL, wait_for_lock, NULL), 0);
    CHECK_EQ(pthread_create(&in_barrier, NULL, wait_in_barrier, NULL), 0);
  }
  run(kWorkers, work_and_report);
  if (first) {
    shmem_long_wait_until(&finished, SHMEM_CMP_EQ, (long)kWorkers * shmem_n_pes());
    shmem_clear_lock(&lock);
    for (int pe = 0; pe < shmem_n_pes(); ++pe) shmem_long_p(&flag, 1, pe);
    wait_in_barrier(NULL);
  } else {
    pthread_join(locked, NULL);
    pthread_join(in_barrier, NULL);
  }
  pthread_join(flagged, NULL);
  expect_uses((long)kWorkers * steps);
}

static int descriptors(void) {
  int count = 0;
  DIR* folder = opendir("/proc/self/fd");
  CHECK(folder != NULL);
  while (readdir(folder) != NULL) ++count;
  closedir(folder);
  return count;
}

static long resident_kib(void) {
  char line[200];
  long kib = -1;
  FILE* status = fopen("/proc/self/status", "r");
  CHECK(status != NULL);
  while (fgets(line, sizeof line, status) != NULL) sscanf(line, "VmRSS: %ld", &kib);
  fclose(status);
  return kib;
}

/* 54: what a context used is used again. */
static void test_come_and_go(void) {
  enum { kTimes = 1000, kSettled = 50, kSlackKib = 32 * 1024 };
  int open = 0;
  long resident = 0;
  for (int i = 0; i < kTimes; ++i) {
    if (i == kSettled) {
      shmem_barrier_all();
      open = descriptors();
      resident = resident_kib();
    }
    shmem_ctx_t ctx;
    CHECK_FOR(i, shmem_ctx_create(kinds[i % 4], &ctx), 0);
    shmem_ctx_long_atomic_inc(ctx, &counter, right_pe());
    shmem_ctx_destroy(ctx);
  }
  shmem_barrier_all();
  CHECK_EQ(counter, kTimes);
  CHECK_CMP(descriptors() - open, <, kTimes / 10); /* a connection to wake a neighbour may come later */
  CHECK_CMP(resident_kib(), <, resident + kSlackKib);
  shmem_barrier_all();
}

int main(void) {
  int provided = -1;
  CHECK_EQ(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided), 0);
  CHECK_EQ(provided, SHMEM_THREAD_MULTIPLE);
  steps = rounds(400, 40);
  for (int c = 0; c < kShared; ++c) CHECK_FOR(c, shmem_ctx_create(0, &shared_contexts[c]), 0);
  run(kThreads, use_shared);
  expect_uses((long)kThreads * steps);
  run(kThreads, use_many);
  expect_uses((long)kThreads * steps);
  for (int c = 0; c < kShared; ++c) shmem_ctx_destroy(shared_contexts[c]);
  test_blocked_threads();
  test_come_and_go();
  shmem_finalize();
  return 0;
}
