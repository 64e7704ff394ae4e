/* SPDX-License-Identifier: BSD-3-Clause */
#include <shmem.h>
#include <stdio.h>

static int from = -1;

int main(void) {
  shmem_init();
  const int me = shmem_my_pe(), npes = shmem_n_pes();
  shmem_p(&from, me, (me + 1) % npes);
  shmem_barrier_all();
  printf("C: PE %d of %d\n", me, npes);
  shmem_finalize();
  return from == (me + npes - 1) % npes ? 0 : 1;
}
