/* SPDX-License-Identifier: BSD-3-Clause */
/* Semantics 16: variables of shared libraries are not symmetric, as they lie elsewhere in each process; local
 * memory they are. With an argument PE 0 puts to one, which is refused. */
#include "check.h"

long* variable_of_a_library(void);

int main(int count, char** arguments) {
  static long mine;
  long* theirs = variable_of_a_library();
  (void)arguments;
  shmem_init();
  if (count > 1 && shmem_my_pe() == 0) shmem_long_p(theirs, 1, right_pe());
  for (int pe = 0; pe < shmem_n_pes(); ++pe) {
    CHECK_OF_PE(pe, shmem_addr_accessible(theirs, pe), 0);
    CHECK_OF_PE(pe, shmem_ptr(theirs, pe), NULL);
  }
  CHECK_EQ(*theirs, 17);
  *theirs = 100 + shmem_my_pe();
  shmem_long_put(&mine, theirs, 1, right_pe());
  shmem_barrier_all();
  CHECK_EQ(mine, 100 + left_pe());
  mine = shmem_my_pe();
  shmem_barrier_all();
  shmem_long_get(theirs, &mine, 1, right_pe());
  CHECK_EQ(*theirs, right_pe());
  shmem_finalize();
  return 0;
}
