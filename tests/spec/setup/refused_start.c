/* SPDX-License-Identifier: BSD-3-Clause */
/* Semantics 10, 21: shmem_init_thread answers what it cannot do, and can be called again with something it
 * can: `refused_start <level> <size>`. */
#include "check.h"

int main(int count, char** arguments) {
  int provided = -1, running = -1;
  CHECK_EQ(count, 3);
  setenv("SHMEM_SYMMETRIC_SIZE", arguments[2], 1);
  CHECK_CMP(shmem_init_thread(atoi(arguments[1]), &provided), !=, 0);
  shmem_query_initialized(&running);
  CHECK_EQ(running, 0);
  setenv("SHMEM_SYMMETRIC_SIZE", "16m", 1);
  CHECK_EQ(shmem_init_thread(SHMEM_THREAD_SINGLE, &provided), 0);
  CHECK(shmem_malloc(1 << 20) != NULL);
  shmem_finalize();
  return 0;
}
