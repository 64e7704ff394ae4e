/* SPDX-License-Identifier: BSD-3-Clause */
/* A program from before shmem_init: start_pes, and no finalize at all. */
#include "check.h"

static long word;
static int left;

/* Runs after the library's own end, as it was registered before: all PEs' puts have arrived by then. */
static void last_words(void) {
  if (word == left + 1) return;
  fprintf(stderr, "the last put of PE %d is missing: %ld\n", left, word);
  fflush(stderr);
  _Exit(1);
}

int main(void) {
  atexit(last_words);
  start_pes(0); /* Semantics 9 */
  start_pes(17);
  start_pes(shmem_n_pes());
  CHECK_CMP(_num_pes(), >=, 1);
  left = left_pe();
  long* block = (long*)shmalloc(sizeof *block);
  *block = 0;
  shmem_barrier_all();
  shmem_long_put_nbi(&word, &(long){shmem_my_pe() + 1}, 1, right_pe());
  shmem_long_p(block, 1, right_pe());
  return 0;
}
