/* SPDX-License-Identifier: BSD-3-Clause */
/* usage: kv_pauses [<elements> [<memory of a PE, MiB> [cpu]]]
 *
 * How long single calls take while a table of 1000 elements grows to so many of each PE: PE 0 inserts, and
 * looks after each tenth insertion for an element that is there; the other PEs insert and get theirs at the
 * same time.  PE 0 prints the longest of them, and percentiles, in microseconds, and how many were above 100
 * us and 1 ms. */
#include <time.h>

#include "kv_check.h"

static clockid_t clock_used = CLOCK_MONOTONIC;

static double now_us(void) {
  struct timespec time;
  clock_gettime(clock_used, &time);
  return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static int order(const void* a, const void* b) {
  const float x = *(const float*)a, y = *(const float*)b;
  return (x > y) - (x < y);
}

static void report(const char* what, float* us, size_t n) {
  size_t long_ones = 0, very_long = 0;
  for (size_t i = 0; i < n; ++i) long_ones += us[i] > 100, very_long += us[i] > 1000;
  qsort(us, n, sizeof *us, order);
  printf(
      "%s: %zu calls, us: median %.3f, p99 %.2f, p99.9 %.2f, p99.99 %.2f, longest %.1f; above 100 us: %zu, 1 "
      "ms: %zu\n",
      what, n, us[n / 2], us[n - 1 - n / 100], us[n - 1 - n / 1000], us[n - 1 - n / 10000], us[n - 1],
      long_ones, very_long);
}

int main(int argc, char** argv) {
  const long elements = argc > 1 ? atol(argv[1]) : 20000;
  const size_t memory = (size_t)(argc > 2 ? atol(argv[2]) : 4) << 20;
  if (argc > 3) clock_used = CLOCK_THREAD_CPUTIME_ID;
  shmem_init();
  const int me = shmem_my_pe(), npes = shmem_n_pes();
  shmemx_kv_t kv = table_within(8, 8, 1000, memory);
  float* puts = malloc((size_t)elements * sizeof *puts);
  float* gets = malloc(((size_t)elements / 10 + 1) * sizeof *gets);
  size_t got = 0;
  Random dice = {(uint64_t)me};
  shmemx_kv_stats_t before, after;
  shmemx_kv_stats(kv, &before);
  shmem_barrier_all();
  for (long i = 0; i < elements; ++i) {
    const uint64_t key = (uint64_t)i * (uint64_t)npes + (uint64_t)me, value = key + 1;
    const double begin = now_us();
    CHECK_FOR((int)i, shmemx_kv_put(kv, &key, sizeof key, &value, sizeof value), SHMEMX_KV_OK);
    puts[i] = (float)(now_us() - begin);
    if (i % 10 != 9) continue;
    const uint64_t there = random_below(&dice, (uint64_t)i) * (uint64_t)npes + (uint64_t)me;
    uint64_t found = 0;
    const double begin_get = now_us();
    CHECK_FOR((int)i, shmemx_kv_get(kv, &there, sizeof there, &found, sizeof found, NULL), SHMEMX_KV_OK);
    gets[got++] = (float)(now_us() - begin_get);
    CHECK_EQ(found, there + 1);
  }
  shmem_barrier_all();
  shmemx_kv_stats(kv, &after);
  CHECK_EQ(shmemx_kv_count(kv), (uint64_t)elements * (uint64_t)npes);
  if (me == 0) {
    report("put", puts, (size_t)elements);
    report("get", gets, got);
    printf("slots: %zu, then %zu\n", (size_t)before.slots, (size_t)after.slots);
  }
  shmemx_kv_destroy(kv);
  free(puts);
  free(gets);
  shmem_finalize();
  return 0;
}
