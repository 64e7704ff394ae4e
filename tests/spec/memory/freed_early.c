/* SPDX-License-Identifier: BSD-3-Clause */
/* What others have written to a new block is mapped here at a barrier, to spare faults; not if it has been
 * freed before that. */
#include "check.h"

/* KiB of shared memory that this process has mapped pages of. */
static long mapped_kib(void) {
  long kib = -1;
  char line[200];
  FILE* status = fopen("/proc/self/status", "r");
  while (status != NULL && fgets(line, sizeof line, status) != NULL) sscanf(line, "RssShmem: %ld", &kib);
  if (status != NULL) fclose(status);
  return kib;
}

int main(void) {
  enum { kMiB = 1 << 20, kBytes = 64 * kMiB };
  shmem_init();
  char* block = shmem_malloc(kBytes);
  CHECK(block != NULL);
  if (shmem_my_pe() == 1) memset(block, 1, kBytes);
  shmem_free(block);
  const long before = mapped_kib();
  if (before < 0) return 77;
  for (int i = 0; i < 10; ++i) shmem_barrier_all();
  if (shmem_my_pe() == 0) CHECK_CMP(mapped_kib() - before, <, kBytes / 1024 / 2);
  shmem_finalize();
  return 0;
}
