/* SPDX-License-Identifier: BSD-3-Clause */
/* What trace_test.py and pairs_test.py know the calls of: each PE talks to the next one, to PE 0, and to itself.
 *
 * usage: talk [crash | exit | exit3 | loop CALLS]   crash: PE 1 ends by a signal; exit, exit3: no shmem_finalize; loop: so
 * many calls more */
#include <pthread.h>
#include <shmem.h>
#include <shmemx.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kElements = 16, kFromThread = 5, kPages = 4 };

static long word, many[kElements], from_thread, sum, of_team;
static uint64_t arrived;
static int me, npes, next;

static void* second_thread(void* unused) {
  (void)unused;
  for (long i = 0; i < kFromThread; i++) shmem_long_p(&from_thread, i, next);
  return NULL;
}

static void with_a_team(void) {
  shmem_team_t odd_or_even;
  shmem_ctx_t ctx;
  const long mine = me;
  if (npes < 4) return;
  if (shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, npes / 2, NULL, 0, &odd_or_even) != 0 && me % 2 == 0)
    shmem_global_exit(3);
  if (me % 2 == 0) {
    if (shmem_team_create_ctx(odd_or_even, 0, &ctx) != 0) shmem_global_exit(4);
    shmem_ctx_long_put(ctx, &of_team, &mine, 1, 1); /* the second of the team is PE 2 of the world */
    shmem_ctx_quiet(ctx);
    shmem_ctx_destroy(ctx);
    shmem_team_destroy(odd_or_even);
  }
}

static void with_a_table(void) {
  const shmemx_kv_options_t options = {.key_bytes = 8, .value_bytes = 16, .capacity = 100};
  shmemx_kv_t table;
  long key = me, value[2] = {me, me};
  size_t bytes;
  if (shmemx_kv_create(&options, &table) != SHMEMX_KV_OK) shmem_global_exit(5);
  shmemx_kv_put(table, &key, sizeof key, value, sizeof value);
  shmem_barrier_all();
  if (shmemx_kv_get(table, &key, sizeof key, value, sizeof value, &bytes) != SHMEMX_KV_OK) shmem_global_exit(6);
  shmem_barrier_all();
  shmemx_kv_destroy(table);
}

/* Pages that are first touched here. */
static void with_pages(void) {
  if (getenv("SHMEM_NVM_DIR") == NULL) return;
  const size_t page = (size_t)1 << 16;
  volatile char* block = shmem_malloc_with_hints(kPages * page, SHMEMX_MALLOC_NVM);
  if (block == NULL) shmem_global_exit(7);
  for (size_t i = 0; i < kPages; i++) block[i * page] = 1;
  shmem_barrier_all();
  shmem_free((void*)block);
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "";
  int provided;
  pthread_t thread;
  shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
  me = shmem_my_pe();
  npes = shmem_n_pes();
  next = (me + 1) % npes;
  for (long i = 0; i < 3; i++) shmem_long_p(&word, i, next);
  shmem_long_put(many, many, kElements, next);
  shmem_quiet();
  (void)shmem_long_g(&word, next);
  shmem_long_atomic_add(&sum, 1, 0);
  pthread_create(&thread, NULL, second_thread, NULL);
  pthread_join(thread, NULL);
  shmem_barrier_all();
  if (me == 0) usleep(20000); /* who waits does so for PE 0 */
  if (me == 0) {
    for (int pe = 1; pe < npes; pe++) shmem_signal_set(&arrived, 1, pe);
  } else {
    shmem_signal_wait_until(&arrived, SHMEM_CMP_EQ, 1);
  }
  if (strcmp(how, "crash") == 0) {
    shmem_barrier_all();
    if (me == 1) raise(SIGSEGV);
    sleep(60);
  }
  with_a_team();
  with_a_table();
  with_pages();
  for (long i = 0, n = strcmp(how, "loop") == 0 ? atol(argv[2]) : 0; i < n; i++) shmem_long_p(&word, i, next);
  shmem_barrier_all();
  if (strcmp(how, "exit") == 0) return 0;
  if (strcmp(how, "exit3") == 0) return 3;
  shmem_finalize();
  return 0;
}
