/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocks that the file system has no room for are NULL on all PEs, and no harm is done; others are to be had.
 */
#include <string.h>

#include "check.h"

int main(void) {
  shmem_init();
  const size_t small = 1 << 20;
  char* first = shmem_malloc(small);
  CHECK(first != NULL);
  memset(first, 1, small);
  CHECK_EQ(shmem_malloc((size_t)512 << 20), NULL);
  char* second = shmem_malloc(small);
  CHECK(second != NULL);
  memset(second, 2, small);
  CHECK_EQ(shmem_realloc(second, (size_t)512 << 20), NULL);
  shmem_barrier_all();
  for (size_t i = 0; i < small; ++i) {
    CHECK_AT(first, i, 1);
    CHECK_AT(second, i, 2);
  }
  shmem_free(second);
  for (int i = 0; i < 50; ++i) { /* what is freed is given back */
    second = shmem_malloc(small);
    CHECK(second != NULL);
    memset(second, i, small);
    shmem_free(second);
  }
  shmem_free(first);
  shmem_finalize();
  return 0;
}
