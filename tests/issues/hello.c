/* SPDX-License-Identifier: BSD-3-Clause */
/* Says how many we are. */
#include "check.h"

int main(void) {
  shmem_init();
  printf("PE %d of %d\n", shmem_my_pe(), shmem_n_pes());
  shmem_finalize();
  return 0;
}
