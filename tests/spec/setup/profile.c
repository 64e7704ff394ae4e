/* SPDX-License-Identifier: BSD-3-Clause */
/* Semantics 133: a tool replaces some functions and calls their twins; the rest stay the library's. */
#include "check.h"
#include "pshmem.h"

static int puts_seen, mallocs_seen, barriers_seen;

void shmem_long_put(long* dest, const long* source, size_t nelems, int pe) {
  ++puts_seen;
  pshmem_long_put(dest, source, nelems, pe);
}

void* shmem_malloc(size_t bytes) {
  ++mallocs_seen;
  return pshmem_malloc(bytes);
}

void shmem_barrier_all(void) {
  ++barriers_seen;
  pshmem_barrier_all();
}

int main(void) {
  shmem_init();
  long* block = shmem_malloc(2 * sizeof *block);
  const long values[2] = {shmem_my_pe(), 17};
  shmem_long_put(block, values, 2, right_pe());
  shmem_put(block, values, 2, right_pe()); /* the generic name finds the tool's function as well */
  shmem_barrier_all();
  CHECK_EQ(block[0], left_pe());
  CHECK_EQ(block[1], 17);
  CHECK_EQ(shmem_long_g(block, right_pe()), shmem_my_pe());
  CHECK_EQ(puts_seen, 2);
  CHECK_EQ(mallocs_seen, 1);
  CHECK_EQ(barriers_seen, 1);
  CHECK_EQ(pshmem_my_pe(), shmem_my_pe());
  CHECK_EQ(p_num_pes(), shmem_n_pes());
  shmem_finalize();
  return 0;
}
