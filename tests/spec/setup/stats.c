/* SPDX-License-Identifier: BSD-3-Clause */
/* The counters of shmemx.h: what each PE does is counted exactly, read without a change and set to 0 again,
 * by any thread.
 *
 * usage: stats         checks the values
 *        stats print   prints what stats_output.py expects */
#include <pthread.h>
#include <shmemx.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { kTimes = 100 };

static long words[8];

/* A PE of another node, or -1. */
static int across(void) {
  for (int pe = 0; pe < shmem_n_pes(); ++pe)
    if (shmem_ptr(words, pe) == NULL) return pe;
  return -1;
}

static shmemx_stats_t now(void) {
  shmemx_stats_t stats;
  memset(&stats, 0xff, sizeof stats);
  shmemx_stats_read(&stats);
  const uint64_t passed = stats.lines + stats.merged;
  const double rate = passed == 0 ? 0 : (double)stats.lines / (double)passed;
  CHECK_EQ(stats.mshr_miss_rate, rate);
  CHECK_CMP(passed, <=, stats.executed);
  return stats;
}

/* Where operations go one by one, whatever the session says. */
static int native(void) {
  const char* amo = getenv("SHMEM_AMO");
  return amo != NULL && strcmp(amo, "native") == 0;
}

static int packs_all(void) { return !native() && getenv("SHMEM_PACK") == NULL; }

static void begin(void) {
  shmem_barrier_all();
  shmemx_stats_reset();
  const shmemx_stats_t stats = now();
  CHECK_EQ(stats.puts, 0);
  CHECK_EQ(stats.gets, 0);
  CHECK_EQ(stats.atomics, 0);
  CHECK_EQ(stats.put_bytes, 0);
  CHECK_EQ(stats.get_bytes, 0);
  CHECK_EQ(stats.packets, 0);
  CHECK_EQ(stats.packed, 0);
  CHECK_EQ(stats.combined, 0);
}

/* Between PEs of a node nothing is counted. */
static void test_own_node(void) {
  begin();
  for (int i = 0; i < kTimes; ++i) {
    shmem_long_p(words, i, shmem_my_pe());
    shmem_long_g(words, shmem_my_pe());
    shmemx_long_atomic_max(&words[1], i, shmem_my_pe());
  }
  shmem_quiet();
  const shmemx_stats_t stats = now();
  CHECK_EQ(stats.puts, 0);
  CHECK_EQ(stats.gets, 0);
  CHECK_EQ(stats.atomics, 0);
}

static void test_one_by_one(int pe) {
  long back[2];
  begin();
  if (pe >= 0) {
    for (int i = 0; i < kTimes; ++i) shmem_long_p(words, i, pe);
    for (int i = 0; i < kTimes / 2; ++i) shmem_long_get(back, words, 2, pe);
    for (int i = 0; i < kTimes / 4; ++i) shmem_long_atomic_inc(&words[1], pe);
    for (int i = 0; i < kTimes / 4; ++i) shmemx_long_atomic_fetch_min(&words[1], i, pe);
    shmem_quiet();
    const shmemx_stats_t stats = now();
    CHECK_EQ(stats.puts, kTimes);
    CHECK_EQ(stats.put_bytes, kTimes * sizeof(long));
    CHECK_EQ(stats.gets, kTimes / 2);
    CHECK_EQ(stats.get_bytes, kTimes * sizeof(long));
    CHECK_EQ(stats.atomics, kTimes / 2);
    /* A get that finds nothing under way is a packet. */
    CHECK_CMP(stats.packed_gets, <=, packs_all() ? kTimes / 2 : 0);
    CHECK_EQ(stats.packed, native() ? 0 : kTimes / 2 + (packs_all() ? kTimes + stats.packed_gets : 0));
    CHECK_CMP(stats.packets, <=, stats.packed);
    CHECK_CMP(stats.combined, <, kTimes / 4);
    CHECK_CMP(stats.posts, >=, (packs_all() ? 0 : stats.puts) + stats.gets - stats.packed_gets + (native() ? stats.atomics : stats.packets));
    CHECK_EQ(now().puts, kTimes); /* reading has not changed it */
  }
}

static void test_in_packets(int pe) {
  begin();
  if (pe >= 0) {
    shmem_ctx_session_start(SHMEM_CTX_DEFAULT, SHMEM_CTX_SESSION_BATCH, NULL, 0);
    for (int i = 0; i < kTimes; ++i) shmem_long_p(words, i, pe);
    shmem_quiet();
    CHECK_EQ(now().puts, kTimes);
    CHECK_EQ(now().packed, native() ? 0 : kTimes);
    CHECK_CMP(now().packets, <, kTimes);
    for (int i = 0; i < kTimes; ++i) shmem_long_atomic_inc(&words[1], pe);
    shmem_quiet();
    CHECK_EQ(now().atomics, kTimes);
    CHECK_EQ(now().packed, native() ? 0 : 2 * kTimes);
    shmem_ctx_session_stop(SHMEM_CTX_DEFAULT);
  }
}

/* All PEs wait for one atomic after the other.  Where PEs outnumber cores those of a node share packets: each
 * PE still counts its own atomics, whoever sent them, and only the packets that it sent. */
static void test_each_counts_its_own(int pe) {
  static long sent, travelled;
  begin();
  for (int i = 0; i < kTimes && pe >= 0; ++i) shmem_long_atomic_fetch_inc(&words[2], pe);
  const shmemx_stats_t stats = now();
  CHECK_EQ(stats.atomics, pe >= 0 ? kTimes : 0);
  CHECK_EQ(stats.packed, pe >= 0 && !native() ? kTimes : 0);
  CHECK_CMP(stats.packets, <=, stats.packed);
  sent = (long)(stats.packets + stats.shared);
  travelled = (long)stats.packed;
  shmem_barrier_all();
  shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &sent, &sent, 1);
  shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &travelled, &travelled, 1);
  CHECK_EQ(sent, travelled);
}

static uint64_t number_of(const char* setting) {
  const char* text = getenv(setting);
  return text != NULL ? strtoull(text, NULL, 10) : 64;
}

/* Sends fetching atomics in packets, in turn to words of as many lines; how many the PE that executes them
 * found held already. */
static void test_merged(int pe, int lines, int merges) {
  static long block[32];
  static long old[kTimes];
  begin();
  shmem_barrier_all(); /* no atomic arrives before the counters are 0 */
  if (pe >= 0) {
    shmem_ctx_session_start(SHMEM_CTX_DEFAULT, SHMEM_CTX_SESSION_BATCH, NULL, 0);
    for (int i = 0; i < kTimes; ++i) shmem_long_atomic_fetch_inc_nbi(&old[i], &block[i % lines * 16], pe);
    shmem_quiet();
    shmem_ctx_session_stop(SHMEM_CTX_DEFAULT);
  }
  shmem_barrier_all();
  const shmemx_stats_t stats = now();
  CHECK_EQ(stats.executed, stats.lines + stats.merged);
  if (stats.executed >= kTimes) CHECK_EQ(stats.merged > 0, merges);
}

/* An entry holds as many atomics of its line as it has subentries; two lines stay only in two entries. */
static void test_lines_and_subentries(int pe) {
  const int entries = (int)number_of("SHMEM_NIC_MSHRS"), subentries = (int)number_of("SHMEM_NIC_SUBENTRIES");
  test_merged(pe, 1, subentries > 1);
  test_merged(pe, 2, entries > 1 && subentries > 1);
}

static atomic_int reading;

static void* read_often(void* unused) {
  uint64_t last = 0;
  while (reading) {
    const uint64_t puts = now().puts;
    CHECK_CMP(puts, >=, last);
    last = puts;
  }
  return unused;
}

static void test_threads(int pe) {
  pthread_t threads[2];
  begin();
  reading = 1;
  for (int i = 0; i < 2; ++i) CHECK_EQ(pthread_create(&threads[i], NULL, read_often, NULL), 0);
  for (int i = 0; i < kTimes && pe >= 0; ++i) shmem_long_p(words, i, pe);
  shmem_quiet();
  reading = 0;
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  CHECK_EQ(now().puts, pe >= 0 ? kTimes : 0);
  shmem_barrier_all();
}

/* Counting begins with the library, not with the process. */
static void test_again(void) {
  shmem_finalize();
  shmem_init();
  const shmemx_stats_t stats = now();
  CHECK_EQ(stats.puts, 0);
  CHECK_EQ(stats.gets, 0);
  CHECK_EQ(stats.atomics, 0);
  CHECK_EQ(stats.packed, 0);
}

static void put(int times, int pe) {
  for (int i = 0; i < times && pe >= 0; ++i) shmem_long_p(words, i, pe);
  shmem_quiet();
}

/* Each PE puts once more than the one before; all print at the same time; then ten more, and PE 0 starts anew
 * before. */
static void print(void) {
  const int pe = across();
  put(shmem_my_pe() + 1, pe);
  shmem_barrier_all();
  shmemx_stats_print();
  shmem_barrier_all();
  if (shmem_my_pe() == 0) shmemx_stats_reset();
  put(10, pe);
}

int main(int argc, char** argv) {
  int provided;
  CHECK_EQ(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided), 0);
  if (argc > 1 && strcmp(argv[1], "print") == 0) {
    print();
  } else {
    const int pe = across();
    test_own_node();
    test_one_by_one(pe);
    test_in_packets(pe);
    test_each_counts_its_own(pe);
    test_lines_and_subentries(pe);
    test_threads(pe);
    test_again();
  }
  shmem_finalize();
  return 0;
}
