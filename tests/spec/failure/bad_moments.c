/* SPDX-License-Identifier: BSD-3-Clause */
/* Semantics 6: calls before shmem_init and after the last shmem_finalize, each in a process of its own;
 * `bad_moments before|after` makes one that is refused. */
#include <shmemx.h>

#include "refused.h"

static long word;

static void put(void) { shmem_long_put(&word, &word, 1, 0); }
static void g(void) { shmem_long_g(&word, 0); }
static void add(void) { shmem_long_atomic_add(&word, 1, 0); }
static void max(void) { shmemx_long_atomic_max(&word, 1, 0); }
static void allocate(void) { shmem_malloc(8); }
static void align(void) { shmem_align(64, 8); }
static void barrier(void) { shmem_barrier_all(); }
static void sync_all(void) { shmem_sync_all(); }
static void finalize(void) { shmem_finalize(); }
static void wait_for_it(void) { shmem_long_wait_until(&word, SHMEM_CMP_EQ, 0); }
static void put_signal(void) {
  shmem_long_put_signal(&word, &word, 1, (uint64_t*)&word, 1, SHMEM_SIGNAL_SET, 0);
}
static void quiet(void) { shmem_quiet(); }
static void fence(void) { shmem_fence(); }
static void pe_quiet(void) { shmem_pe_quiet(&(int){0}, 1); }
static void stats_read(void) { shmemx_stats_read(&(shmemx_stats_t){0}); }
static void stats_reset(void) { shmemx_stats_reset(); }
static void stats_print(void) { shmemx_stats_print(); }
static void network(void) { printf("%s\n", shmemx_network()); }
static void my_pe(void) { printf("%d\n", shmem_my_pe()); }
static void n_pes(void) { printf("%d\n", shmem_n_pes()); }
static void iput(void) { shmem_long_iput(&word, &word, 1, 1, 1, 0); }
static void iget(void) { shmem_long_iget(&word, &word, 1, 1, 1, 0); }
static void get_nbi(void) { shmem_long_get_nbi(&word, &word, 1, 0); }
static void fetch_add(void) { shmem_long_atomic_fetch_add(&word, 1, 0); }
static void fetch_add_nbi(void) { shmem_long_atomic_fetch_add_nbi(&word, &word, 1, 0); }
static void signal_fetch(void) { shmem_signal_fetch((uint64_t*)&word); }
static void set_lock(void) { shmem_set_lock(&word); }
static void test_lock(void) { shmem_test_lock(&word); }
static void clear_lock(void) { shmem_clear_lock(&word); }
static void free_it(void) { shmem_free(&word); }
static void reallocate(void) { shmem_realloc(&word, 8); }
static void ctx_create(void) { shmem_ctx_create(0, &(shmem_ctx_t){0}); }
static void ctx_p(void) { shmem_ctx_long_p((shmem_ctx_t)0x100010, &word, 1, 0); }
static void team_my_pe(void) { shmem_team_my_pe(SHMEM_TEAM_WORLD); }
static void team_sync(void) { shmem_team_sync(SHMEM_TEAM_WORLD); }
static void team_destroy(void) { shmem_team_destroy(SHMEM_TEAM_SHARED); }
static void split(void) { shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 1, NULL, 0, &(shmem_team_t){0}); }
static void broadcast(void) { shmem_long_broadcast(SHMEM_TEAM_WORLD, &word, &word, 1, 0); }
static void old_barrier(void) { shmem_barrier(0, 0, 1, &word); }

/* shmem_finalize only says so, and returns. */
static const struct {
  const char* name;
  void (*call)(void);
  int code;
} calls[] = {
    {"shmem_long_put", put, kRefused},
    {"shmem_long_g", g, kRefused},
    {"shmem_long_atomic_add", add, kRefused},
    {"shmemx_long_atomic_max", max, kRefused},
    {"shmem_malloc", allocate, kRefused},
    {"shmem_align", align, kRefused},
    {"shmem_barrier_all", barrier, kRefused},
    {"shmem_sync_all", sync_all, kRefused},
    {"shmem_long_wait_until", wait_for_it, kRefused},
    {"shmem_long_put_signal", put_signal, kRefused},
    {"shmem_long_iput", iput, kRefused},
    {"shmem_long_iget", iget, kRefused},
    {"shmem_long_get_nbi", get_nbi, kRefused},
    {"shmem_long_atomic_fetch_add", fetch_add, kRefused},
    {"shmem_long_atomic_fetch_add_nbi", fetch_add_nbi, kRefused},
    {"shmem_signal_fetch", signal_fetch, kRefused},
    {"shmem_set_lock", set_lock, kRefused},
    {"shmem_test_lock", test_lock, kRefused},
    {"shmem_clear_lock", clear_lock, kRefused},
    {"shmem_free", free_it, kRefused},
    {"shmem_realloc", reallocate, kRefused},
    {"shmem_ctx_create", ctx_create, kRefused},
    {"shmem_ctx_long_p", ctx_p, kRefused},
    {"shmem_team_my_pe", team_my_pe, kRefused},
    {"shmem_team_sync", team_sync, kRefused},
    {"shmem_team_destroy", team_destroy, kRefused},
    {"shmem_team_split_strided", split, kRefused},
    {"shmem_long_broadcast", broadcast, kRefused},
    {"shmem_barrier", old_barrier, kRefused},
    {"shmem_pe_quiet", pe_quiet, kRefused},
    {"shmem_quiet", quiet, kRefused},
    {"shmem_fence", fence, kRefused},
    {"shmemx_stats_read", stats_read, kRefused},
    {"shmemx_stats_reset", stats_reset, kRefused},
    {"shmemx_stats_print", stats_print, kRefused},
    {"shmemx_network", network, kRefused},
    {"shmem_my_pe", my_pe, kRefused},
    {"shmem_n_pes", n_pes, kRefused},
    {"shmem_finalize", finalize, kReturned},
};

static void start_and_end(void) {
  shmem_init();
  shmem_finalize();
}

int main(int count, char** arguments) {
  if (count == 2) {
    if (strcmp(arguments[1], "after") == 0) start_and_end();
    put();
    return 0; /* which the test takes for a failure */
  }
  for (size_t i = 0; i < sizeof calls / sizeof *calls; ++i) {
    const char* const what = "called before shmem_init";
    expect_end(fork,
               &(struct wrong_call){calls[i].name, what, NULL, calls[i].call, NOT_STARTED, calls[i].code});
    expect_end(fork,
               &(struct wrong_call){calls[i].name, what, start_and_end, calls[i].call, ALONE, calls[i].code});
  }
  return report_cases();
}
