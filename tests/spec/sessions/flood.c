/* SPDX-License-Identifier: BSD-3-Clause */
/* All PEs send to all, with sessions on the default context and on one of each thread's own, and several
 * threads on the default context at once: nobody waits for ever, and nothing is lost. */
#include <pthread.h>
#include <string.h>

#include "check.h"

enum { kThreads = 3, kMostPes = 16, kSpread = 64 };

static uint64_t sums[kSpread], last[kMostPes][kThreads];
static long operations;

static void* flood(void* number) {
  const int thread = (int)(intptr_t)number, me = shmem_my_pe(), n = shmem_n_pes();
  shmem_ctx_t ctx = SHMEM_CTX_DEFAULT;
  if (thread == 0) CHECK_EQ(shmem_ctx_create(0, &ctx), 0);
  shmem_ctx_session_start(ctx, SHMEM_CTX_SESSION_BATCH, NULL, 0);
  for (long i = 1; i <= operations; ++i) {
    for (int k = 1; k <= n; ++k) {
      const int pe = (me + k) % n;
      shmem_ctx_uint64_atomic_add(ctx, &sums[i % kSpread], (uint64_t)i, pe);
      if (i % 1000 == 0 || i == operations) shmem_ctx_fence(ctx);
      if (i % 1000 == 0 || i == operations) shmem_ctx_uint64_p(ctx, &last[me][thread], (uint64_t)i, pe);
    }
    if (i % 5000 == 0) shmem_ctx_quiet(ctx);
    if (i % 3000 == 0) { /* other threads may be using the session */
      shmem_ctx_session_stop(ctx);
      shmem_ctx_session_start(ctx, SHMEM_CTX_SESSION_BATCH, NULL, 0);
    }
  }
  shmem_ctx_session_stop(ctx);
  shmem_ctx_quiet(ctx);
  if (thread == 0) shmem_ctx_destroy(ctx);
  return NULL;
}

int main(void) {
  int provided;
  CHECK_EQ(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided), 0);
  const int n = shmem_n_pes();
  CHECK_CMP(n, <=, kMostPes);
  operations = rounds(20000, 12000);
  pthread_t threads[kThreads];
  for (int t = 0; t < kThreads; ++t)
    CHECK_EQ(pthread_create(&threads[t], NULL, flood, (void*)(intptr_t)t), 0);
  for (int t = 0; t < kThreads; ++t) pthread_join(threads[t], NULL);
  shmem_barrier_all();
  uint64_t sum = 0;
  for (int i = 0; i < kSpread; ++i) sum += sums[i];
  CHECK_EQ(sum, (uint64_t)n * kThreads * (uint64_t)operations * ((uint64_t)operations + 1) / 2);
  for (int pe = 0; pe < n; ++pe) {
    for (int t = 0; t < kThreads; ++t) CHECK_AT(last[pe], t, operations);
  }
  shmem_finalize();
  return 0;
}
