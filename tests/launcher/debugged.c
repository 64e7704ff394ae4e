/* SPDX-License-Identifier: BSD-3-Clause */
/* What debug_test.py looks at with a debugger. */
#include <shmem.h>
#include <stdio.h>

int shmem_answer = 42;

int main(void) {
  shmem_init();
  shmem_barrier_all();
  printf("PE %d of %d\n", shmem_my_pe(), shmem_n_pes());
  shmem_finalize();
  return 0;
}
