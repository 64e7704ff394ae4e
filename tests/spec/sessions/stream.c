/* SPDX-License-Identifier: BSD-3-Clause */
/* Many small operations from every PE to the one across; fewer_messages.py counts what they take.
 *
 * usage: stream put|add|fetch plain|session */
#include <string.h>

#include "check.h"

enum { kOperations = 10000, kWords = 100 };

static uint64_t words[kWords], old[kOperations];

int main(int argc, char** argv) {
  shmem_init();
  CHECK_EQ(argc, 3);
  const int n = shmem_n_pes(), across = (shmem_my_pe() + n / 2) % n;
  if (strcmp(argv[2], "session") == 0) {
    shmem_ctx_session_start(SHMEM_CTX_DEFAULT, SHMEM_CTX_SESSION_BATCH, NULL, 0);
  }
  for (uint64_t i = 0; i < kOperations; ++i) {
    if (strcmp(argv[1], "put") == 0) {
      shmem_uint64_p(&words[i % kWords], 1, across);
    } else if (strcmp(argv[1], "add") == 0) {
      shmem_uint64_atomic_inc(&words[i % kWords], across);
    } else {
      shmem_uint64_atomic_fetch_add_nbi(&old[i], &words[i % kWords], 1, across);
    }
  }
  shmem_ctx_session_stop(SHMEM_CTX_DEFAULT);
  shmem_barrier_all();
  const uint64_t each = strcmp(argv[1], "put") == 0 ? 1 : kOperations / kWords;
  for (int i = 0; i < kWords; ++i) CHECK_AT(words, i, each);
  for (int i = 0; i < kOperations && strcmp(argv[1], "fetch") == 0; ++i) CHECK_AT(old, i, i / kWords);
  shmem_finalize();
  return 0;
}
