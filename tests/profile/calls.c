/* SPDX-License-Identifier: BSD-3-Clause */
/* usage: calls MODE
 * Makes calls that table.py knows the numbers of.  MODE is finalize; exit: end without shmem_finalize;
 * global_exit: end with it; control: count only a part; no_room: finalize with a heap that is full. */
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

/* One of each other shape, with elements of 4 bytes where there is a choice. */
static void other_shapes(void) {
  const int me = shmem_my_pe(), np = shmem_n_pes();
  static int ints[2], more[16], result;
  static long sync[4][SHMEM_REDUCE_SYNC_SIZE], work[SHMEM_REDUCE_MIN_WRKDATA_SIZE];
  (void)shmem_int_g(ints, me);
  shmem_int_atomic_set(ints, 1, me);
  (void)shmem_int_atomic_fetch_inc(ints, me);
  shmem_int_atomic_inc(ints, me);
  (void)shmem_int_atomic_compare_swap(ints, 3, 4, me);
  shmem_int_atomic_fetch_nbi(&result, ints, me);
  shmem_int_atomic_swap_nbi(&result, ints, 5, me);
  shmem_int_atomic_compare_swap_nbi(&result, ints, 5, 6, me);
  shmem_int_atomic_fetch_inc_nbi(&result, ints, me);
  shmem_quiet();
  shmem_int_wait_until_all(ints, 2, NULL, SHMEM_CMP_GE, 0);
  (void)shmem_int_test_any(ints, 2, NULL, SHMEM_CMP_GE, 0);
  shmem_int_alltoalls(SHMEM_TEAM_WORLD, more, (const int*)source, 1, 1, 2);
  shmem_broadcast32(dest, source, 3, 0, 0, 0, np, sync[0]);
  shmem_fcollect32(dest, source, 2, 0, 0, np, sync[1]);
  shmem_alltoalls32(dest, source, 1, 1, 2, 0, 0, np, sync[2]);
  shmem_int_sum_to_all(more, (const int*)source, 3, 0, 0, np, (int*)work, sync[3]);
}

/* What is left is too little for a number of each function. */
static void fill_the_heap(void) {
  shmem_pcontrol(0);
  for (size_t size = (size_t)1 << 36; size >= 1 << 16; size /= 2) {
    while (shmem_malloc(size) != NULL) continue;
  }
}

int main(int argc, char** argv) {
  const char* const mode = argc > 1 ? argv[1] : "";
  int provided;
  if (shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) != 0) return 1;
  shmem_init(); /* once more: the table comes with the last finalize */
  /* These start nothing, so no finalize is for them. */
  start_pes(0);
  if (shmem_init_thread(-1, &provided) == 0) return 1;
  if (strcmp(mode, "control") == 0) {
    shmem_pcontrol(0);
    known_calls();
    shmem_pcontrol(1);
    shmem_fence();
    shmem_pcontrol(2);
    shmem_fence();
  } else if (strcmp(mode, "no_room") == 0) {
    fill_the_heap();
  } else {
    known_calls();
    other_shapes();
    put_from_threads();
  }
  shmem_finalize();
  shmem_barrier_all();
  if (strcmp(mode, "exit") == 0) exit(0);
  if (strcmp(mode, "global_exit") == 0 && shmem_my_pe() == 0) shmem_global_exit(0);
  shmem_finalize();
  return 0;
}
