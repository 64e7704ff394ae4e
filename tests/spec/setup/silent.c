/* SPDX-License-Identifier: BSD-3-Clause */
/* Whatever is printed, it is not the program. */
#include <shmem.h>

int main(void) {
  shmem_init();
  shmem_finalize();
  return 0;
}
