/* SPDX-License-Identifier: BSD-3-Clause */
/* Semantics 12: one PE ends the job, whatever the others do.  Argument: the status. */
#include <unistd.h>

#include "check.h"

int main(int count, char** arguments) {
  static long never;
  (void)count;
  shmem_init();
  const int me = shmem_my_pe();
  if (me == shmem_n_pes() - 1) {
    printf("flushed without a newline");
    shmem_global_exit(atoi(arguments[1]));
  }
  if (me == 0) shmem_barrier_all();
  if (me == 1) shmem_long_wait_until(&never, SHMEM_CMP_NE, 0);
  for (;;) pause();
}
