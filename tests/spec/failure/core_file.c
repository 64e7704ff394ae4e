/* SPDX-License-Identifier: BSD-3-Clause */
/* PE 1 ends by a signal, and leaves a core file: `core_file <signal>`.  core_file_test.py looks into it. */
#include <shmem.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

enum { kBlock = 256 << 20, kMark = 100 << 20 };

int main(int count, char** arguments) {
  if (count < 2) return 2;
  shmem_init();
  char* block = shmem_malloc(kBlock);
  snprintf(block + kMark, 64, "the heap of PE %d", shmem_my_pe());
  shmem_barrier_all();
  volatile char seen = 0;
  for (int pe = 0; pe < shmem_n_pes(); ++pe) {
    const char* there = shmem_ptr(block, pe);
    if (there != NULL) seen = (char)(seen + there[kMark]);
  }
  if (shmem_my_pe() == 1) raise(atoi(arguments[1]));
  shmem_barrier_all();
  shmem_finalize();
  return 0;
}
