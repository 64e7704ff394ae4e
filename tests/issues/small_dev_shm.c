/* SPDX-License-Identifier: BSD-3-Clause */
/* Containers give 64 MiB of /dev/shm: the heap must not live there. */
#include <string.h>

#include "check.h"

enum { kBytes = 48 << 20 };

int main(void) {
  shmem_init();
  char* block = shmem_malloc(kBytes);
  CHECK(block != NULL);
  memset(block, 1, kBytes);
  shmem_barrier_all();
  shmem_putmem(block, block + kBytes / 2, kBytes / 2, right_pe());
  shmem_finalize();
  return 0;
}
