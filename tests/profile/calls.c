/* SPDX-License-Identifier: BSD-3-Clause */
/* usage: calls MODE
 * Makes calls that table.py knows the numbers of.  MODE is finalize; exit: end without shmem_finalize;
 * global_exit: end with it; control: count only a part. */
#include <pthread.h>
#include <shmem.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 4
#define PUTS 1000 /* of each thread */

static long words[THREADS], source[16], dest[16];
static double _Complex complex_sum, complex_mine;
static uint64_t signal_word;

static void* put_often(void* word) {
  const int next = (shmem_my_pe() + 1) % shmem_n_pes();
  for (int i = 0; i < PUTS; i++) shmem_long_p((long*)word, i, next);
  return NULL;
}

static void put_from_threads(void) {
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, put_often, &words[i]);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
}

/* Generics, contexts, sized names, collectives, deprecated names: each reaches the tool as the function that
 * it stands for. */
static void known_calls(void) {
  const int me = shmem_my_pe();
  shmem_ctx_t ctx;
  if (shmem_ctx_create(0, &ctx) != 0) abort();
  for (int i = 0; i < 3; i++) shmem_put(ctx, dest, source, 5, me);
  for (int i = 0; i < 4; i++) shmem_iput(dest, source, 2, 2, 3, me);
  shmem_ibput(dest, source, 4, 4, 2, 3, me);
  shmem_put32(dest, source, 7, me);
  shmem_ctx_getmem_nbi(ctx, dest, source, 9, me);
  shmem_put_signal(dest, source, 2, &signal_word, 1, SHMEM_SIGNAL_ADD, me);
  shmem_wait_until(&words[0], SHMEM_CMP_GE, 0L);
  (void)shmem_atomic_fetch_add(&dest[0], 1L, me);
  shmem_ctx_quiet(ctx);
  shmem_ctx_destroy(ctx);
  shmem_broadcast(SHMEM_TEAM_WORLD, dest, source, 6, 0);
  shmem_sum_reduce(SHMEM_TEAM_WORLD, &complex_sum, &complex_mine, 1);
  shmem_sync_all();
}

int main(int argc, char** argv) {
  const char* const mode = argc > 1 ? argv[1] : "";
  int provided;
  if (shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) != 0) return 1;
  shmem_init(); /* once more: the table comes with the last finalize */
  if (strcmp(mode, "control") == 0) {
    shmem_pcontrol(0);
    known_calls();
    shmem_pcontrol(1);
    shmem_fence();
    shmem_pcontrol(2);
    shmem_fence();
  } else {
    known_calls();
    put_from_threads();
  }
  shmem_finalize();
  shmem_barrier_all();
  if (strcmp(mode, "exit") == 0) exit(0);
  if (strcmp(mode, "global_exit") == 0 && shmem_my_pe() == 0) shmem_global_exit(0);
  shmem_finalize();
  return 0;
}
