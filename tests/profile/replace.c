/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls functions that replacement.c has replaced, in each way that a call can be written, and functions that
 * it has not. */
#include <shmem.h>
#include <stdio.h>

#include "replacement.h"

static long from[4], to[4], back[4];

int main(void) {
  shmem_init();
  const int me = shmem_my_pe(), n = shmem_n_pes(), next = (me + 1) % n;
  for (int i = 0; i < 4; i++) from[i] = 10 * me + i;
  shmem_ctx_t ctx;
  if (shmem_ctx_create(0, &ctx) != 0) shmem_global_exit(3);
  shmem_barrier_all();
  shmem_put(ctx, to, from, 2, next);
  shmem_ctx_long_put(SHMEM_CTX_DEFAULT, to + 2, from + 2, 2, next);
  shmem_put(back, from, 0, next); /* shmem_long_put: not replaced */
  shmem_ctx_quiet(ctx);
  void (*barrier)(void) = shmem_barrier_all;
  barrier();
  shmem_getmem(back, to, sizeof back, next);
  const int calls = replaced_calls();
  int good = calls == 20201;
  for (int i = 0; i < 4; i++) good = good && to[i] == 10 * ((me + n - 1) % n) + i && back[i] == 10 * me + i;
  if (!good) fprintf(stderr, "PE %d: %d calls, %ld and %ld\n", me, calls, to[0], back[3]);
  shmem_ctx_destroy(ctx);
  shmem_finalize();
  return good ? 0 : 1;
}
