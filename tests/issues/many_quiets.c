/* SPDX-License-Identifier: BSD-3-Clause */
/* Sandia-OpenSHMEM PR 1063: thousands of quiets, then finalize.  Each one completes what came before it. */
#include "check.h"

int main(void) {
  static long word;
  shmem_init();
  for (int i = 0; i < rounds(200000, 20000); ++i) {
    if (i % 10 == 0) shmem_long_p(&word, i, right_pe());
    shmem_quiet();
    if (i % 100 == 0) CHECK_EQ(shmem_long_g(&word, right_pe()), i);
    shmem_fence();
  }
  shmem_barrier_all();
  CHECK_EQ(word, rounds(200000, 20000) - 10);
  shmem_finalize();
  return 0;
}
