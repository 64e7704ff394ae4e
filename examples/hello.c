/* SPDX-License-Identifier: BSD-3-Clause
 * The smallest program: every PE says who it is, and writes into a variable of the next one.
 *
 *   oshcc hello.c -o hello && oshrun -n 4 ./hello */
#include <shmem.h>
#include <stdio.h>

static long greeted_by = -1; /* global and static variables are symmetric: every PE can reach everybody's */

int main(void) {
  shmem_init();
  const int me = shmem_my_pe(), npes = shmem_n_pes();
  shmem_p(&greeted_by, (long)me, (me + 1) % npes);
  shmem_barrier_all();
  printf("hello from PE %d of %d, greeted by PE %ld\n", me, npes, greeted_by);
  shmem_finalize();
  return greeted_by == (me + npes - 1) % npes ? 0 : 1;
}
