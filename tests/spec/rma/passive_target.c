/* SPDX-License-Identifier: BSD-3-Clause */
/* Semantics 77: operations complete while the target computes and calls nothing.
 *
 * PE 0 spins on an ordinary variable until all others have put, got, added and signalled, and have seen each
 * of these complete.  If anything needed PE 0's help the job would hang. */
#include "check.h"

static long number, counter, big[20000];
static uint64_t signal_word;
static volatile long all_done; /* a plain loop looks at it */

static void use_target(int target) {
  const int times = rounds(1000, 100);
  const int me = shmem_my_pe();
  static long copy[20000];
  for (int i = 1; i <= times; ++i) {
    shmem_long_p(&big[me], i, target);
    shmem_quiet();
    CHECK_OF_PE(target, shmem_long_g(&big[me], target), i);
    shmem_long_atomic_fetch_add(&counter, 1, target);
    CHECK_OF_PE(target, shmem_long_atomic_compare_swap(&number, -1, 5, target), 0);
    if (i % 50 != 0) continue;
    shmem_long_put(big + 100 * me, copy, 100, target);
    shmem_long_get(copy, big, 20000, target);
    shmem_long_put_signal(&big[10000 + me], &(const long){i}, 1, &signal_word, 1, SHMEM_SIGNAL_ADD, target);
    shmem_quiet();
    CHECK_OF_PE(target, shmem_long_g(&big[10000 + me], target), i);
  }
  shmem_long_atomic_inc((long*)&all_done, target);
  shmem_quiet();
}

int main(void) {
  shmem_init();
  const int others = shmem_n_pes() - 1;
  const int times = rounds(1000, 100);
  if (shmem_my_pe() != 0) {
    use_target(0);
  } else {
    const double begin = now_seconds();
    while (all_done != others) CHECK_CMP(now_seconds() - begin, <, 50);
    CHECK_EQ(counter, others * times);
    CHECK_EQ(signal_word, others * (times / 50));
  }
  shmem_barrier_all();
  shmem_finalize();
  return 0;
}
