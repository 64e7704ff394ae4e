/* SPDX-License-Identifier: BSD-3-Clause */
/* Named tables that grow, in a job that ends at any instant, and in the next one.
 *
 *   kv_grown <epochs> <kill>   that many epochs more, of so many keys of each PE more; kill > 0: each PE may
 * die within so many microseconds after the first; PE 0 prints "found <epoch> of <slots> slots"
 *
 * What is there at the beginning must be all of one epoch, and nothing of what came after it. */
#include <sys/time.h>
#include <time.h>

#include "kv_check.h"

enum { kKeysEach = 600, kTables = 2 };

static shmemx_kv_t tables[kTables];
static int me, npes;

static size_t bytes_of(int t, int i) { return t == 0 ? 16 : 8 + (size_t)i % 200; }

static void open_tables(void) {
  for (int t = 0; t < kTables; ++t) {
    const shmemx_kv_options_t options = {.key_bytes = 48,
                                         .value_bytes = t == 0 ? 16 : 208,
                                         .capacity = 100,
                                         .name = t == 0 ? "slots" : "blocks",
                                         .memory_bytes = (size_t)4 << 20};
    CHECK_EQ(shmemx_kv_create(&options, &tables[t]), SHMEMX_KV_OK);
  }
}

static void write_epoch(int t, long epoch) {
  unsigned char value[256];
  for (int i = (int)(epoch - 1) * kKeysEach; i < (int)epoch * kKeysEach; ++i) {
    const Key key = key_of(me, i);
    make_bytes(value, bytes_of(t, i), (uint64_t)i);
    CHECK_FOR(i, shmemx_kv_insert(tables[t], key.text, key.n, value, bytes_of(t, i)), SHMEMX_KV_OK);
  }
  if (me == 0) CHECK_EQ(put_long(tables[t], key_of(-1, 0), epoch), SHMEMX_KV_OK);
  shmem_barrier_all();
}

static long check_table(int t) {
  unsigned char value[256];
  long epoch = 0;
  const int status = get_long(tables[t], key_of(-1, 0), &epoch);
  CHECK_EITHER(status, SHMEMX_KV_OK, SHMEMX_KV_NOT_FOUND);
  const int keys = (int)epoch * kKeysEach;
  for (int i = 0; i < keys; ++i) {
    const Key key = key_of(right_pe(), i);
    size_t n = 0;
    CHECK_FOR(i, shmemx_kv_get(tables[t], key.text, key.n, value, sizeof value, &n), SHMEMX_KV_OK);
    CHECK_EQ(n, bytes_of(t, i));
    CHECK_MADE(value, n, (uint64_t)i);
  }
  CHECK_EQ(contains_key(tables[t], key_of(me, keys)), SHMEMX_KV_NOT_FOUND);
  CHECK_EQ(shmemx_kv_count(tables[t]), (uint64_t)(keys * npes) + (epoch > 0));
  uint64_t mine = 0;
  for (uint64_t cursor = 0;; ++mine) {
    char key[48];
    if (shmemx_kv_next_local(tables[t], &cursor, key, sizeof key, NULL, NULL, 0, NULL) != SHMEMX_KV_OK) break;
  }
  CHECK_EQ(mine, shmemx_kv_count_local(tables[t]));
  shmem_barrier_all();
  return epoch;
}

int main(int argc, char** argv) {
  CHECK_EQ(argc, 3);
  const long epochs = atol(argv[1]), kill_within = atol(argv[2]);
  shmem_init();
  me = shmem_my_pe(), npes = shmem_n_pes();
  open_tables();
  long epoch[kTables];
  shmemx_kv_stats_t stats;
  shmemx_kv_stats(tables[0], &stats);
  for (int t = 0; t < kTables; ++t) epoch[t] = check_table(t);
  CHECK_EITHER(epoch[0], epoch[1], epoch[1] + 1); /* tables are persisted one after the other */
  if (me == 0) printf("found %ld of %zu slots\n", epoch[1], (size_t)stats.slots), fflush(stdout);
  if (kill_within > 0) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    Random dice = {(uint64_t)now.tv_nsec + (uint64_t)me * 1000003};
    const long in = 1 + (long)random_below(&dice, (uint64_t)kill_within);
    printf("PE %d: %ld us\n", me, in), fflush(stdout);
    const struct itimerval timer = {.it_value = {.tv_sec = in / 1000000, .tv_usec = in % 1000000}};
    CHECK_EQ(setitimer(ITIMER_REAL, &timer, NULL), 0);
  }
  for (long n = 0; n < epochs; ++n) {
    for (int t = 0; t < kTables; ++t) {
      if (epoch[t] > epoch[1 - t]) continue; /* it has been persisted already */
      write_epoch(t, ++epoch[t]);
      shmemx_kv_persist(tables[t]);
    }
  }
  /* What is not persisted is lost, and with it the segments that it has made. */
  for (int t = 0; t < kTables; ++t) write_epoch(t, epoch[t] + 1);
  shmem_finalize();
  return 0;
}
