/* SPDX-License-Identifier: BSD-3-Clause */
/* What PE 0 decides in an allocation comes with the barrier: nobody asks it for that, or all PEs of other
 * nodes would have a connection to it. */
#include <shmemx.h>
#include "check.h"

int main(void) {
  shmem_init();
  void* blocks[4];
  shmemx_stats_t stats;
  shmem_barrier_all();
  shmemx_stats_reset();
  blocks[0] = shmem_malloc(1000);
  blocks[1] = shmem_calloc(10, 100);
  blocks[2] = shmem_align(4096, 5000);
  blocks[3] = shmem_realloc(shmem_malloc(16), 100000);
  for (int i = 0; i < 4; ++i) {
    CHECK_CMP(shmem_addr_accessible(blocks[i], shmem_my_pe()), ==, 1);
    /* The same place everywhere: PE 0's mark is where this PE's block is. */
    if (shmem_my_pe() == 0)
      for (int pe = 0; pe < shmem_n_pes(); ++pe) shmem_int_p(blocks[i], i + 1, pe);
  }
  shmemx_stats_read(&stats);
  CHECK_EQ(stats.gets, 0);
  if (shmem_my_pe() != 0) CHECK_EQ(stats.atomics, 0);
  shmem_barrier_all();
  for (int i = 0; i < 4; ++i) CHECK_EQ(*(int*)blocks[i], i + 1);
  shmemx_stats_reset();
  for (int i = 0; i < 4; ++i) shmem_free(blocks[i]);
  shmemx_stats_read(&stats);
  CHECK_EQ(stats.gets, 0);
  shmem_finalize();
  return 0;
}
