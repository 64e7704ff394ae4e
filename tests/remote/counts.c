/* SPDX-License-Identifier: BSD-3-Clause */
/* What is moved for loads and stores of memory on memory servers, counted (shmemx_stats_read).  32 pages of
 * 64 KiB are local, and nothing is read ahead; the argument says by which kind of protocol pages come:
 * direct, or paper; or how many of them may be read at a time: reads_1, reads_64. */
#include <pthread.h>
#include <shmem.h>
#include <shmemx.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

enum { kPage = 64 * 1024, kPages = 128, kLocal = 32, kThreads = 16, kWords = kPage / sizeof(uint64_t) };

static uint64_t* words;

static shmemx_stats_t counted(void) {
  shmemx_stats_t stats;
  shmemx_stats_read(&stats);
  CHECK(stats.remote_read_bytes == stats.remote_reads * kPage);
  CHECK(stats.remote_write_bytes == stats.remote_writes * kPage);
  return stats;
}

static uint64_t times_of(const shmemx_stats_t* stats) {
  return stats->swap_queued_ns + stats->swap_received_ns + stats->swap_kept_ns + stats->swap_placed_ns +
         stats->swap_ended_ns;
}

static void store_all(uint64_t value) {
  for (uint64_t page = 0; page < kPages; ++page) words[page * kWords + 5] = value + page;
}
static void load_all(uint64_t value) {
  for (uint64_t page = 0; page < kPages; ++page) CHECK(words[page * kWords + 5] == value + page);
}

static void direct(void) {
  /* What was never stored is nowhere, and is moved nowhere, however often it comes and leaves. */
  for (uint64_t page = 0; page < kPages; ++page) CHECK(words[page * kWords + 5] == 0);
  for (uint64_t page = 0; page < kPages; ++page) CHECK(words[page * kWords + 5] == 0);
  shmemx_stats_t now = counted();
  CHECK(now.remote_zeroed >= 2 * kPages - kLocal && now.remote_reads == 0 && now.remote_writes == 0);
  CHECK(now.remote_dropped >= kPages);
  CHECK(now.swaps == now.remote_zeroed && times_of(&now) > 0);

  /* A sequential pass over pages that were stored reads each of those that are not here, once, and writes
   * each that is dirty, once: clean ones leave unwritten in however many passes. */
  store_all(100);
  const shmemx_stats_t stored = counted();
  CHECK(stored.remote_reads == 0);
  for (int pass = 1; pass <= 4; ++pass) {
    const shmemx_stats_t before = counted();
    load_all(100);
    now = counted();
    CHECK(now.remote_reads - before.remote_reads <= kPages);
    CHECK(now.remote_reads - before.remote_reads >= kPages - kLocal);
    CHECK(now.remote_writes <= kPages && now.remote_writes >= kPages - kLocal);
  }
  /* One thread: each fault found its page, or brought it. */
  CHECK(now.remote_faults == now.remote_hits + now.remote_reads + now.remote_zeroed);
  CHECK(now.swaps == now.remote_reads + now.remote_zeroed);
  CHECK(now.remote_zeroed <= 4 * kPages && now.remote_ahead == 0);

  /* As many pages as are local: some are to leave, are used before, and stay. */
  for (int round = 0; round < 1000 && counted().remote_kept == now.remote_kept; ++round) {
    for (uint64_t page = kPages - kLocal; page < kPages; ++page)
      CHECK(words[page * kWords + 5] == 100 + page);
    usleep(1000);
  }
  CHECK(counted().remote_kept > now.remote_kept && counted().remote_kept <= counted().remote_hits);
  now = counted();

  /* What will be overwritten is not read. */
  const uint64_t reads = now.remote_reads;
  shmemx_overwrite(words, (size_t)kPages * kPage);
  store_all(200);
  CHECK(counted().remote_reads == reads);

  /* Past the cache: as many bytes as were asked for, and no page comes. */
  shmemx_stats_reset();
  uint64_t some[10];
  for (uint64_t page = 0; page < kPages; ++page) {
    shmemx_remote_get(some, &words[page * kWords + 5], sizeof some);
    CHECK(some[0] == 200 + page);
  }
  shmemx_stats_read(&now);
  CHECK(now.remote_faults == 0 && now.swaps == 0);
  CHECK(now.remote_reads >= kPages - kLocal && now.remote_read_bytes == now.remote_reads * sizeof some);
}

/* Whatever has to leave is sent, written to or not, and nothing begins as zeros that a server has. */
static void paper(void) {
  store_all(100);
  shmemx_stats_reset();
  for (int pass = 1; pass <= 3; ++pass) load_all(100);
  const shmemx_stats_t now = counted();
  CHECK(now.remote_reads >= 3 * (kPages - kLocal) && now.remote_reads <= 3 * kPages);
  CHECK(now.remote_writes + 1 >= now.remote_reads && now.remote_writes <= now.remote_reads + 1);
  CHECK(now.remote_zeroed == 0 && now.remote_dropped == 0 && now.remote_ahead == 0 && now.remote_kept == 0);
  CHECK(now.swaps == now.remote_reads && now.swaps == now.remote_faults - now.remote_hits);
  CHECK(now.swap_received_ns > 0 && now.swap_queued_ns > 0 && now.swap_placed_ns > 0 &&
        now.swap_ended_ns > 0);
}

/* More threads than may read at a time wait for each other; as many as may, never. */
static void* load_from(void* first) {
  for (uint64_t i = 0; i < kPages; ++i) {
    const uint64_t page = ((uint64_t)(uintptr_t)first + i) % kPages;
    CHECK(words[page * kWords + 5] == 100 + page);
  }
  return NULL;
}
static void load_by_threads(void) {
  pthread_t thread[kThreads];
  for (uintptr_t t = 0; t < kThreads; ++t)
    CHECK(pthread_create(&thread[t], NULL, load_from, (void*)(t * kPages / kThreads)) == 0);
  for (int t = 0; t < kThreads; ++t) CHECK(pthread_join(thread[t], NULL) == 0);
}
static void reads(int may_wait) {
  store_all(100);
  for (int round = 0; round < (may_wait ? 1000 : 8); ++round) {
    load_by_threads();
    if (may_wait && counted().remote_slot_waits > 0) return;
  }
  CHECK(!may_wait && counted().remote_slot_waits == 0 && counted().remote_reads > 0);
}

int main(int argc, char** argv) {
  CHECK(argc == 2);
  shmem_init();
  words = shmemx_remote_alloc((size_t)kPages * kPage);
  CHECK(words != NULL);
  shmemx_stats_reset();
  if (strncmp(argv[1], "reads", 5) == 0) {
    reads(strcmp(argv[1], "reads_1") == 0);
  } else {
    strcmp(argv[1], "paper") == 0 ? paper() : direct();
  }
  shmemx_remote_free(words);
  shmem_finalize();
  return 0;
}
