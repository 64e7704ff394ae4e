/* SPDX-License-Identifier: BSD-3-Clause */
/* What a session with SHMEM_CTX_SESSION_BATCH brings: streams of small operations from PE 0 to PE 1, with and
 * without it in turn, best of several.  The PEs must be on different (virtual) nodes; PE 1 waits inside the
 * library.
 *
 * usage: oshrun -n 2 --virtual-nodes 2 sessions */
#include <shmem.h>
#include <stdlib.h>

#include "metric.h"

enum { kOperations = 20000, kRounds = 7, kWords = 1024 };

static long old[kOperations];
static long words[kWords];

typedef void (*Work)(long i);

static void put(long i) { shmem_long_p(&words[i % kWords], i, 1); }
static void add(long i) { shmem_long_atomic_add(&words[i % kWords], i, 1); }
static void fetch_add(long i) { shmem_long_atomic_fetch_add_nbi(&old[i], &words[i % kWords], i, 1); }
static void put_with_signal(long i) {
  static uint64_t signal;
  shmem_long_put_signal(&words[i % kWords], &i, 1, &signal, 1, SHMEM_SIGNAL_ADD, 1);
}

static double rate(Work work, int session) {
  if (session) shmem_ctx_session_start(SHMEM_CTX_DEFAULT, SHMEM_CTX_SESSION_BATCH, NULL, 0);
  const double start = now();
  for (long i = 0; i < kOperations; i++) work(i);
  shmem_quiet();
  const double seconds = now() - start;
  if (session) shmem_ctx_session_stop(SHMEM_CTX_DEFAULT);
  return kOperations / seconds * 1e-6;
}

static void compare(const char* name, Work work) {
  double best[2] = {0, 0};
  for (int r = 0; r < kRounds; r++) {
    for (int session = 0; session < 2; session++) {
      const double found = rate(work, session);
      if (found > best[session]) best[session] = found;
    }
  }
  printf("%-22s %8.3f M/s without, %8.3f M/s with a session: %.1f x\n", name, best[0], best[1],
         best[1] / best[0]);
  fflush(stdout);
}

int main(void) {
  shmem_init();
  if (shmem_n_pes() != 2) {
    fprintf(stderr, "sessions: needs 2 PEs\n");
    shmem_global_exit(2);
  }
  shmem_barrier_all();
  if (shmem_my_pe() == 0) {
    compare("put of 8 bytes", put);
    compare("atomic_add", add);
    compare("atomic_fetch_add_nbi", fetch_add);
    compare("put_signal of 8 bytes", put_with_signal);
  }
  shmem_barrier_all();
  shmem_finalize();
  return 0;
}
