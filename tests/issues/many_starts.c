/* SPDX-License-Identifier: BSD-3-Clause */
/* The launcher's client library could be started only about a thousand times in a process. */
#include "check.h"

int main(void) {
  for (int i = 0; i < 1300; ++i) {
    shmem_init();
    CHECK_CMP(shmem_n_pes(), >=, 1);
    shmem_finalize();
  }
  return 0;
}
