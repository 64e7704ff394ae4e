/* SPDX-License-Identifier: BSD-3-Clause */
/* A scan between nodes works part by part in memory that it has: not in vectors that it makes for each call,
 * whose pages the system would clear and map each time. */
#include <sys/resource.h>

#include "coll_check.h"

enum { kWords = 2 << 20, kMostFaults = 500 }; /* 16 MiB are 4096 pages */

static long faults(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

int main(void) {
  shmem_init();
  const int me = shmem_my_pe();
  long* source = shmem_malloc(kWords * sizeof *source);
  long* dest = shmem_calloc(kWords, sizeof *dest);
  for (size_t i = 0; i < kWords; ++i) source[i] = me + (long)i;
  for (int call = 0; call < 3; ++call) {
    shmem_barrier_all();
    const long before = faults();
    CHECK_EQ(shmem_long_sum_inscan(SHMEM_TEAM_WORLD, dest, source, kWords), 0);
    if (call > 0) CHECK_CMP(faults() - before, <=, kMostFaults); /* the first one fills what stays */
  }
  for (size_t i = 0; i < kWords; ++i) CHECK_AT(dest, i, me * (me + 1) / 2 + (me + 1) * (long)i);
  shmem_finalize();
  return 0;
}
