/* SPDX-License-Identifier: BSD-3-Clause */
/* The yardstick: what the operations of one-sided programs cost.  Only OpenSHMEM 1.4 calls, so that every
 * implementation can run it.  tests/perf/compare.py runs it beside others and beside machine.c, which
 * measures what the machine itself can do, under the same names.
 *
 * usage: onnode [ITERATIONS] */
#include <shmem.h>
#include <stdlib.h>
#include <string.h>

#include "metric.h"

enum { kWords = 65536, kBig = 4 << 20, kMiB = 1 << 20 };

static int me, pes, peer;
static long sum; /* keeps results alive */
static char *sym, *local;
static long* words;
static long stat_word, lock;
static long bar_sync[SHMEM_BCAST_SYNC_SIZE], red_sync[SHMEM_REDUCE_SYNC_SIZE],
    all_sync[SHMEM_ALLTOALL_SYNC_SIZE];
static long col_sync[SHMEM_COLLECT_SYNC_SIZE], work[SHMEM_REDUCE_MIN_WRKDATA_SIZE];

/* One-sided: PE 0 acts, the others wait in a barrier. */
#define SOLO(ITERATIONS, BODY) BEST_OF(ITERATIONS, me == 0, shmem_barrier_all(), shmem_quiet(), BODY)
#define EVERY(ITERATIONS, BODY) BEST_OF(ITERATIONS, 1, shmem_barrier_all(), shmem_quiet(), BODY)

static void ns(const char* name, double seconds) { report(me, name, seconds * 1e9, "ns"); }
static void us(const char* name, double seconds) { report(me, name, seconds * 1e6, "us"); }

static void puts_and_gets(long n) {
  long* to = (long*)sym;
  ns("put8_quiet", SOLO(n, shmem_long_p(to, i, peer); shmem_quiet()));
  ns("put8_stream", SOLO(n, shmem_long_p(to + (i & 1023), i, peer)));
  ns("putmem_64B_quiet", SOLO(n, shmem_putmem(sym, local, 64, peer); shmem_quiet()));
  ns("putmem_4KB_quiet", SOLO(n / 4 + 1, shmem_putmem(sym, local, 4096, peer); shmem_quiet()));
  ns("get8", SOLO(n, sum += shmem_long_g(to, peer)));
  ns("getmem_4KB", SOLO(n / 4 + 1, shmem_getmem(local, sym, 4096, peer)));
  ns("put8_static", SOLO(n, shmem_long_p(&stat_word, i, peer); shmem_quiet()));
  const double put = SOLO(200, shmem_putmem(sym, local, kMiB, peer));
  report(me, "put_bw_1MB", kMiB / put / 1e9, "GB/s");
  const double get = SOLO(200, shmem_getmem(local, sym, kMiB, peer));
  report(me, "get_bw_1MB", kMiB / get / 1e9, "GB/s");
}

static void atomics(long n) {
  ns("fadd", SOLO(n, sum += shmem_long_atomic_fetch_add(words, 1, peer)));
  ns("add_stream", SOLO(n, shmem_long_atomic_add(words + (i & 4095), 1, peer)));
  ns("cswap", SOLO(n, sum += shmem_long_atomic_compare_swap(words, i, i + 1, peer)));
  ns("fadd_static", SOLO(n, sum += shmem_long_atomic_fetch_add(&stat_word, 1, peer)));
}

static unsigned long next_random(unsigned long* x) {
  *x ^= *x << 13;
  *x ^= *x >> 7;
  return *x ^= *x << 17;
}

/* All PEs update random words of random PEs, and one word of PE 0. */
static void updates(long n) {
  unsigned long x = 88172645463325252UL + (unsigned long)me * 7919;
  const double add = EVERY(n, const unsigned long q = next_random(&x); shmem_long_atomic_add(
                               words + (q & (kWords - 1)), 1, (int)((q >> 20) % (unsigned)pes)));
  report(me, "gups_add_all", pes / add / 1e6, "Mupd/s");
  const double hot = EVERY(n, sum += shmem_long_atomic_fetch_add(words, 1, 0));
  report(me, "hotspot_fadd_all", pes / hot / 1e6, "Mupd/s");
}

static void collectives(void) {
  us("barrier_all", EVERY(2000, shmem_barrier_all()));
  us("sum_reduce8+barrier",
     EVERY(2000, shmem_long_sum_to_all(words, words + 8, 1, 0, 0, pes, work, red_sync); shmem_barrier_all()));
  us("bcast64B+barrier",
     EVERY(2000, shmem_broadcast64(words + 64, words, 8, 0, 0, 0, pes, bar_sync); shmem_barrier_all()));
  us("alltoall_4KB+barrier",
     EVERY(500, shmem_alltoall64(sym, sym + kBig / 2, 512, 0, 0, pes, all_sync); shmem_barrier_all()));
  us("fcollect_4KB+barrier",
     EVERY(500, shmem_fcollect64(sym, sym + kBig / 2, 512, 0, 0, pes, col_sync); shmem_barrier_all()));
  us("lock_contended", EVERY(1000, shmem_set_lock(&lock); shmem_clear_lock(&lock)));
}

/* One way, between PEs 0 and 1, by put and wait. */
static void ping_pong(void) {
  long* flag = words + 100;
  long turn = 0;
  if (pes < 2) return;
  *flag = 0;
  shmem_barrier_all();
  const double round = BEST_OF(5000, me < 2, shmem_barrier_all(), (void)0, {
    turn++;
    if (me == 0) shmem_long_p(flag, turn, 1);
    shmem_long_wait_until(flag, SHMEM_CMP_GE, turn);
    if (me == 1) shmem_long_p(flag, turn, 0);
  });
  ns("pingpong_8B_oneway", round / 2);
}

int main(int argc, char** argv) {
  const long n = argc > 1 ? atol(argv[1]) : 20000;
  const double begin = now();
  shmem_init();
  me = shmem_my_pe();
  pes = shmem_n_pes();
  report(me, "init", (now() - begin) * 1e3, "ms");
  peer = (me + 1) % pes;
  for (size_t i = 0; i < sizeof bar_sync / sizeof *bar_sync; i++) bar_sync[i] = SHMEM_SYNC_VALUE;
  for (size_t i = 0; i < sizeof red_sync / sizeof *red_sync; i++) red_sync[i] = SHMEM_SYNC_VALUE;
  for (size_t i = 0; i < sizeof all_sync / sizeof *all_sync; i++) all_sync[i] = SHMEM_SYNC_VALUE;
  for (size_t i = 0; i < sizeof col_sync / sizeof *col_sync; i++) col_sync[i] = SHMEM_SYNC_VALUE;
  sym = shmem_malloc(kBig);
  words = shmem_malloc(kWords * sizeof *words);
  local = malloc(kBig);
  memset(sym, 1, kBig);
  memset(local, 2, kBig);
  memset(words, 0, kWords * sizeof *words);
  puts_and_gets(n);
  atomics(n);
  updates(n);
  collectives();
  ping_pong();
  us("malloc_free_pair", EVERY(200, shmem_free(shmem_malloc(1024))));
  if (sum == 42) printf("\n");
  free(local);
  shmem_finalize();
  return 0;
}
