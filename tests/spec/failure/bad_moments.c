/* SPDX-License-Identifier: BSD-3-Clause */
/* Semantics 6: calls before shmem_init and after the last shmem_finalize: `bad_moments before|after <name>`,
 * with one PE.
 */
#include <shmemx.h>
#include <string.h>

#include "check.h"

static long word;

static void put(void) { shmem_long_put(&word, &word, 1, 0); }
static void g(void) { shmem_long_g(&word, 0); }
static void add(void) { shmem_long_atomic_add(&word, 1, 0); }
static void max(void) { shmemx_long_atomic_max(&word, 1, 0); }
static void allocate(void) { shmem_malloc(8); }
static void align(void) { shmem_align(64, 8); }
static void barrier(void) { shmem_barrier_all(); }
static void sync(void) { shmem_sync_all(); }
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
static void my_pe(void) { printf("%d\n", shmem_my_pe()); }
static void n_pes(void) { printf("%d\n", shmem_n_pes()); }
static void iput(void) { shmem_long_iput(&word, &word, 1, 1, 1, 0); }

#define CASE(NAME) \
  { #NAME, NAME }
static const struct {
  const char* name;
  void (*call)(void);
} cases[] = {CASE(put),        CASE(g),          CASE(add),         CASE(max),
             CASE(allocate),   CASE(align),      CASE(barrier),     CASE(sync),
             CASE(finalize),   CASE(quiet),      CASE(fence),       CASE(pe_quiet),
             CASE(my_pe),      CASE(n_pes),      CASE(iput),        {"wait", wait_for_it},
             CASE(put_signal), CASE(stats_read), CASE(stats_reset), CASE(stats_print)};

int main(int count, char** arguments) {
  CHECK(count == 3);
  if (strcmp(arguments[1], "after") == 0) {
    shmem_init();
    shmem_finalize();
  }
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i)
    if (strcmp(cases[i].name, arguments[2]) == 0) cases[i].call();
  return 0;
}
