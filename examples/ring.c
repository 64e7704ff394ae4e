/* SPDX-License-Identifier: BSD-3-Clause
 * A token goes round a ring of PEs: put the data, fence, put the flag; the receiver waits for the flag.
 *
 *   oshcc ring.c -o ring && oshrun -n 4 ./ring [rounds] */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>

static long token[8]; /* the data */
static long turn = 0; /* the flag: which round the data belong to */

int main(int argc, char** argv) {
  const long rounds = argc > 1 ? atol(argv[1]) : 100;
  shmem_init();
  const int me = shmem_my_pe(), npes = shmem_n_pes(), next = (me + 1) % npes;
  long passed[8] = {0};
  for (long round = 1; round <= rounds; ++round) {
    if (me != 0) { /* PE 0 begins each round, the others pass on what they got */
      shmem_wait_until(&turn, SHMEM_CMP_GE, round);
      for (int i = 0; i < 8; ++i) passed[i] = token[i];
    }
    for (int i = 0; i < 8; ++i) ++passed[i];
    shmem_put(token, passed, 8, next);
    shmem_fence(); /* the flag must not overtake the data */
    shmem_p(&turn, round, next);
    if (me == 0) {
      shmem_wait_until(&turn, SHMEM_CMP_GE, round);
      for (int i = 0; i < 8; ++i) passed[i] = token[i];
    }
  }
  shmem_barrier_all();
  const int right = passed[0] == rounds * npes && passed[7] == passed[0];
  if (me == 0) {
    printf("the token went %ld times round %d PEs and counted %ld hops: %s\n", rounds, npes, passed[0],
           right ? "right" : "WRONG");
  }
  shmem_finalize();
  return me != 0 || right ? 0 : 1;
}
