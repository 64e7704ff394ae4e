/* SPDX-License-Identifier: BSD-3-Clause */
/* A program of OpenSHMEM's whose malloc is remote: from its shmem_init on, and until it exits.  With
 * SHMEM_REMOTE_BSS so is an array, if it is alone; else the array is symmetric. */
#include <shmem.h>
#include <shmemx.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

#define BYTES ((size_t)8 << 20)

static long symmetric;
static char* block;
static char array[BYTES];

static int all_hold(char value) {
  for (size_t i = 0; i < BYTES; i += 4096) {
    if (block[i] != value) return 0;
  }
  return 1;
}

static void use_at_exit(void) {
  if (!all_hold(5) || array[BYTES / 2] != 7) _Exit(9);
}

int main(void) {
  atexit(use_at_exit);
  char* before = malloc(BYTES);
  memset(before, 1, BYTES);
  shmem_init();
  const int me = shmem_my_pe(), n = shmem_n_pes();
  block = malloc(BYTES);
  CHECK_EQ(shmemx_remote_size(before), (size_t)0);
  CHECK_EQ(shmemx_remote_size(block), BYTES);
  memset(block, 5, BYTES);
  shmem_long_p(&symmetric, me + 1, (me + 1) % n);
  shmem_barrier_all();
  CHECK_EQ(symmetric, (long)((me + n - 1) % n + 1));
  const char seven = 7;
  if (n == 1 && getenv("SHMEM_REMOTE_BSS") != NULL) {
    shmemx_remote_put(array + BYTES / 2, &seven, 1); /* refuses what is not remote */
  } else {
    shmem_char_p(array + BYTES / 2, seven, (me + 1) % n);
    shmem_barrier_all();
  }
  CHECK_EQ(array[BYTES / 2], seven);
  free(before);
  shmem_finalize();
  CHECK(all_hold(5));
  return 0;
}
