/* SPDX-License-Identifier: BSD-3-Clause */
/* However much other nodes write back to a home at once, it takes buffers for it and no more.
 *
 * PE 0 is the home of a named object; all others write to parts of it, more than its node has memory for, and
 * persist. Meanwhile PE 0 looks at what memory of its own it has. */
#include <pthread.h>
#include <shmemx.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "check.h"

#define MIB ((size_t)1 << 20)

static const size_t kPart = 12 * MIB;                    /* of each writer; the pool is 4 MiB */
static const long kBuffers = 8 * 1024, kElse = 2 * 1024; /* KiB */

static atomic_int ended;
static long most;

/* Anonymous memory of this process in KiB. */
static long anonymous(void) {
  long kib = -1;
  char line[256];
  FILE* status = fopen("/proc/self/status", "r");
  while (fgets(line, sizeof line, status) != NULL) {
    if (sscanf(line, "RssAnon: %ld", &kib) == 1) break;
  }
  fclose(status);
  return kib;
}

static void* look(void* unused) {
  const struct timespec pause = {0, 500000};
  while (!atomic_load(&ended)) {
    const long now = anonymous();
    if (now > most) most = now;
    nanosleep(&pause, NULL);
  }
  return unused;
}

int main(void) {
  /* A huge page would count whole as soon as a byte of it is used. */
  CHECK_EQ(prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0), 0);
  shmem_init();
  const int me = shmem_my_pe(), npes = shmem_n_pes();
  char* object = shmemx_nvm_open("object", (size_t)npes * kPart);
  CHECK(object != NULL);
  pthread_t watcher;
  const long before = anonymous();
  CHECK(before > 0);
  if (me == 0) CHECK_EQ(pthread_create(&watcher, NULL, look, NULL), 0);
  char* piece = malloc(MIB);
  for (int round = 1; round <= 2; ++round) {
    memset(piece, me + round, MIB);
    for (size_t at = 0; me != 0 && at < kPart; at += MIB)
      shmem_putmem(object + (size_t)me * kPart + at, piece, MIB, 0);
    shmem_barrier_all();
    shmemx_nvm_persist(object);
  }
  if (me == 0) {
    atomic_store(&ended, 1);
    CHECK_EQ(pthread_join(watcher, NULL), 0);
    printf("anonymous_mib %.1f MiB\n", (double)(most - before) / 1024);
    if (most - before > kBuffers + kElse) {
      fprintf(stderr, "PE 0 took %ld KiB of memory for what others wrote back, more than %ld\n",
              most - before, kBuffers + kElse);
      shmem_global_exit(1);
    }
    for (int pe = 1; pe < npes; ++pe) {
      for (size_t i = 0; i < kPart; i += 4096) CHECK_AT(object, (size_t)pe * kPart + i, pe + 2);
    }
  }
  free(piece);
  shmem_free(object);
  shmem_finalize();
  return 0;
}
