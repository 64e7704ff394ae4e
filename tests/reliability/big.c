/* SPDX-License-Identifier: BSD-3-Clause */
/* Touches 64 MiB of symmetric memory on each PE. */
#include <shmem.h>
#include <string.h>

int main(void) {
  enum { kBytes = 64 << 20 };
  shmem_init();
  char* block = shmem_malloc(kBytes);
  if (block == NULL) shmem_global_exit(3);
  memset(block, 1, kBytes);
  shmem_barrier_all();
  shmem_finalize();
  return 0;
}
