/* SPDX-License-Identifier: BSD-3-Clause */
/* What a library that uses PMIx has done before shmem_init: MPI_Finalize, say.  PE 0 closes that connection
 * when the others are in shmem_init, where they wait for it. */
#include <pmix.h>
#include <unistd.h>

#include "check.h"

int main(void) {
  pmix_proc_t self;
  CHECK_EQ(PMIx_Init(&self, NULL, 0), PMIX_SUCCESS);
  if (self.rank == 0) usleep(300000);
  CHECK_EQ(PMIx_Finalize(NULL, 0), PMIX_SUCCESS);
  shmem_init();
  static long word;
  shmem_long_p(&word, shmem_my_pe() + 1, right_pe());
  shmem_barrier_all();
  CHECK_EQ(word, left_pe() + 1);
  shmem_finalize();
  return 0;
}
