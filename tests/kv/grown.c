/* SPDX-License-Identifier: BSD-3-Clause */
/* Named tables that grow, in a job that ends at any instant, and in the next one.
 *
 *   kv_grown <epochs> <kill>
 *
 * that many epochs more, of so many keys of each PE more.  kill > 0: each PE dies within so many microseconds
 * after the first; "split": while it splits a segment of the table with slots.  PE 0 prints
 * "found <epoch> of <slots> slots".
 *
 * What is there at the beginning must be all of one epoch, and nothing of what came after it. */
#include <signal.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "kv_check.h"

enum { kKeysEach = 600, kTables = 2, kHashesOfASplit = 500 /* at least */ };

static shmemx_kv_t tables[kTables];
static int me, npes;

/* While a thread inserts one key the library asks for the hash of that one, and where it splits a segment for
 * it, for those of all elements of the segment. */
static int dies_at; /* that hash of an insertion; 0: at none */
static _Thread_local int is_inserting, hashed;

static Random dice;

static void die_within(long most) {
  const long in = 1 + (long)random_below(&dice, (uint64_t)most);
  const struct itimerval timer = {.it_value = {.tv_sec = in / 1000000, .tv_usec = in % 1000000}};
  CHECK_EQ(setitimer(ITIMER_REAL, &timer, NULL), 0);
}

static void die_here(void) {
  static const char in_split[] = "dies while it splits\n";
  if (write(STDERR_FILENO, in_split, sizeof in_split - 1) < 0) _exit(1);
  raise(SIGALRM);
}

static uint64_t hash(const void* key, size_t n) {
  if (is_inserting && ++hashed == dies_at) die_here();
  uint64_t bits = 1469598103934665603u; /* FNV-1a */
  for (size_t i = 0; i < n; ++i) bits = (bits ^ ((const unsigned char*)key)[i]) * 1099511628211u;
  return bits;
}

static int insert(shmemx_kv_t kv, Key key, const void* value, size_t n) {
  is_inserting = 1;
  const int status = shmemx_kv_insert(kv, key.text, key.n, value, n);
  is_inserting = hashed = 0;
  return status;
}

static size_t bytes_of(int t, int i) { return t == 0 ? 16 : 8 + (size_t)i % 200; }

static void open_tables(void) {
  for (int t = 0; t < kTables; ++t) {
    const shmemx_kv_options_t options = {.key_bytes = 48,
                                         .value_bytes = t == 0 ? 16 : 208,
                                         .capacity = 100,
                                         .hash = t == 0 ? hash : NULL,
                                         .name = t == 0 ? "slots" : "blocks",
                                         .memory_bytes = (size_t)8 << 20};
    CHECK_EQ(shmemx_kv_create(&options, &tables[t]), SHMEMX_KV_OK);
  }
}

static void write_epoch(int t, long epoch) {
  unsigned char value[256];
  for (int i = (int)(epoch - 1) * kKeysEach; i < (int)epoch * kKeysEach; ++i) {
    const Key key = key_of(me, i);
    make_bytes(value, bytes_of(t, i), (uint64_t)i);
    CHECK_FOR(i, insert(tables[t], key, value, bytes_of(t, i)), SHMEMX_KV_OK);
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
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  dice.state = (uint64_t)now.tv_nsec + (uint64_t)me * 1000003;
  open_tables();
  long epoch[kTables];
  shmemx_kv_stats_t stats;
  shmemx_kv_stats(tables[0], &stats);
  for (int t = 0; t < kTables; ++t) epoch[t] = check_table(t);
  CHECK_EITHER(epoch[0], epoch[1], epoch[1] + 1); /* tables are persisted one after the other */
  if (me == 0) printf("found %ld of %zu slots\n", epoch[1], (size_t)stats.slots), fflush(stdout);
  if (kill_within > 0) die_within(kill_within);
  enum { kOfTheKey = 3 }; /* more are of a split */
  if (strcmp(argv[2], "split") == 0) dies_at = kOfTheKey + 1 + (int)random_below(&dice, kHashesOfASplit);
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
