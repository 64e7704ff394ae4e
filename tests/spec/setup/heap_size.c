/* SPDX-License-Identifier: BSD-3-Clause */
/* Semantics 21, 22: the heap has at least the size that the environment asks for: HEAP_AT_LEAST bytes.
 * SET_INSIDE is a value of SHMEM_SYMMETRIC_SIZE that the program sets itself. */
#include "check.h"

int main(void) {
  if (getenv("SET_INSIDE") != NULL) setenv("SHMEM_SYMMETRIC_SIZE", getenv("SET_INSIDE"), 1);
  const size_t least = strtoull(getenv("HEAP_AT_LEAST"), NULL, 10);
  shmem_init();
  for (int again = 0; again < 3; ++again) {
    char* all = shmem_malloc(least);
    CHECK(least == 0 || all != NULL);
    if (least > 0) all[0] = all[least - 1] = 1;
    shmem_free(all);
  }
  CHECK_EQ(shmem_malloc(4 * least + ((size_t)64 << 20)), NULL); /* not some default instead */
  shmem_finalize();
  return 0;
}
