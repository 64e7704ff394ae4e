/* SPDX-License-Identifier: BSD-3-Clause */
/* How long a stress test runs, decided for all PEs by the clock of one. */
#ifndef DURATION_H
#define DURATION_H
#include "check.h"

static long keep_going;

/* The same answer on all PEs, which all call: whether `end` (of now_seconds() on PE 0) is still to come. */
static int go_on(double end) {
  if (shmem_my_pe() == 0) {
    keep_going = now_seconds() < end;
    for (int pe = 1; pe < shmem_n_pes(); ++pe) shmem_long_p(&keep_going, keep_going, pe);
  }
  shmem_barrier_all();
  const int answer = (int)keep_going;
  shmem_barrier_all();
  return answer;
}

#endif
