/* SPDX-License-Identifier: BSD-3-Clause */
/* What instructions.py counts: PE 0 does N atomics on PE 1's memory, or puts there, which waits in a barrier.  Of iput
 * and iget N is the number of elements.
 *
 * usage: oshrun -n 2 --virtual-nodes 2 instructions add|fetch_add_nbi|fetch_add|p|iput|iget N [session] */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kWords = 4096, kElements = kWords / 2 };

static long words[kWords], old[kWords], ones[kWords];

static void work(const char* what, long n) {
  if (strcmp(what, "add") == 0) {
    for (long i = 0; i < n; i++) shmem_long_atomic_add(&words[i % kWords], 1, 1);
  } else if (strcmp(what, "fetch_add_nbi") == 0) {
    for (long i = 0; i < n; i++) {
      shmem_long_atomic_fetch_add_nbi(&old[i % kWords], &words[i % kWords], 1, 1);
      if (i % kWords == kWords - 1) shmem_quiet(); /* the places for results are used again */
    }
  } else if (strcmp(what, "p") == 0) {
    for (long i = 0; i < n; i++) shmem_long_p(&words[i % kWords], 1, 1);
  } else if (strcmp(what, "iput") == 0) {
    for (long i = 0; i < n; i += kElements) shmem_long_iput(words, ones, 2, 2, kElements, 1);
  } else if (strcmp(what, "iget") == 0) {
    for (long i = 0; i < n; i += kElements) shmem_long_iget(old, words, 2, 2, kElements, 1);
  } else {
    for (long i = 0; i < n; i++) old[0] += shmem_long_atomic_fetch_add(&words[i % kWords], 1, 1);
  }
  shmem_quiet();
}

static long expected_sum(const char* what, long n) {
  if (strcmp(what, "iget") == 0) return 0;
  const long most = strcmp(what, "p") == 0 ? kWords : strcmp(what, "iput") == 0 ? kElements : n;
  return n > most ? most : n;
}

int main(int argc, char** argv) {
  shmem_init();
  if (argc < 3 || shmem_n_pes() != 2) {
    fprintf(stderr, "usage: oshrun -n 2 --virtual-nodes 2 instructions add|fetch_add_nbi|fetch_add|p|iput|iget N [session]\n");
    shmem_global_exit(2);
  }
  const long n = atol(argv[2]);
  for (int i = 0; i < kWords; i++) ones[i] = 1;
  shmem_barrier_all();
  if (argc > 3) shmem_ctx_session_start(SHMEM_CTX_DEFAULT, SHMEM_CTX_SESSION_BATCH, NULL, 0);
  if (shmem_my_pe() == 0) work(argv[1], n);
  shmem_barrier_all();
  long sum = 0;
  for (long i = 0; i < kWords; i++) sum += words[i];
  const long expected = expected_sum(argv[1], n);
  const int wrong = shmem_my_pe() == 1 && sum != expected;
  if (wrong) fprintf(stderr, "instructions: the words add up to %ld instead of %ld\n", sum, expected);
  shmem_finalize();
  return wrong;
}
