/* SPDX-License-Identifier: BSD-3-Clause */
/* What the library tells of a table: how its elements lie, what it had no memory for, who waited, and which
 * keys are used most. */
#include <unistd.h>

#include "kv_check.h"

enum { kKeys = 600, kHot = 5, kRounds = 40, kMost = 64 };

static int me, npes;

static shmemx_kv_report_t report_of(shmemx_kv_t kv) {
  shmemx_kv_report_t report;
  shmemx_kv_report(kv, &report, sizeof report);
  return report;
}

/* Its numbers fit each other, and the table. */
static void test_report(void) {
  shmemx_kv_t kv = table_of(48, 8, 100);
  for (int i = 0; i < kKeys; ++i) CHECK_FOR(i, put_long(kv, key_of(me, i), i), SHMEMX_KV_OK);
  shmem_barrier_all();
  const shmemx_kv_report_t report = report_of(kv);
  shmemx_kv_stats_t stats;
  shmemx_kv_stats(kv, &stats);
  CHECK_EQ(report.elements, shmemx_kv_count_local(kv));
  CHECK_EQ(report.slots, stats.slots);
  CHECK_EQ(report.found_in[0] + report.found_in[1], report.elements);
  CHECK_EQ(report.found_in[1] != 0 && stats.longest_probe == 0, 0);
  uint64_t groups = 0, taken = 0;
  for (uint64_t n = 0; n < 15; ++n) groups += report.groups[n], taken += n * report.groups[n];
  CHECK_EQ(taken, report.elements);
  CHECK_EQ(14 * groups, report.slots);
  CHECK_EQ(report.absent_in[0] + report.absent_in[1], 16 * groups);
  CHECK_CMP(report.absent_in[1], <=, report.found_in[1]);
  CHECK_EQ(report.absent_in[1] == 0, report.found_in[1] == 0);
  CHECK_CMP(report.segments, >=, 1);
  CHECK_CMP(report.segments, <=, report.most_segments);
  CHECK_EQ(report.slots % report.segments, 0);
  CHECK_EQ(sum_of_all((long)report.elements), kKeys * npes);
  /* A program that knows fewer members, and one that knows more. */
  struct {
    shmemx_kv_report_t report;
    uint64_t more;
  } other;
  memset(&other, 1, sizeof other);
  shmemx_kv_report(kv, &other.report, 8);
  CHECK_EQ(other.report.elements, report.elements);
  CHECK_EQ(other.report.slots, UINT64_C(0x0101010101010101));
  shmemx_kv_report(kv, &other.report, sizeof other);
  CHECK_EQ(other.report.slots, report.slots);
  CHECK_EQ(other.more, 0);
  shmemx_kv_destroy(kv);
}

/* Elements that are away from their homes are told. */
static void test_full_groups(void) {
  shmemx_kv_t kv = table_within(48, 8, 100, 16384);
  for (int i = 0; i < kKeys; ++i) {
    const int status = put_long(kv, key_of(me, i), i);
    CHECK_EITHER(status, SHMEMX_KV_OK, SHMEMX_KV_FULL);
  }
  shmem_barrier_all();
  const shmemx_kv_report_t report = report_of(kv);
  CHECK_CMP(report.found_in[1], >, 0);
  CHECK_CMP(report.absent_in[1], >, 0);
  CHECK_EQ(report.found_in[0] + report.found_in[1], report.elements);
  shmem_barrier_all();
  shmemx_kv_destroy(kv);
}

/* Each call that returns FULL is counted where the key would be, by whatever way it came: first with values
 * of some length, then with the longest, which do not fit where those are, if they are not in slots. */
static void test_full(size_t value_bytes) {
  shmemx_kv_t kv = table_within(48, value_bytes, 10, value_bytes > 8 ? (size_t)1 << 18 : 16384);
  char* value = calloc(1, value_bytes);
  shmemx_stats_t before, after;
  shmemx_stats_read(&before);
  shmem_barrier_all();
  long refused = 0, over = 0;
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < kKeys; ++i) {
      const Key key = key_of(me, i);
      const size_t n = round == 0 ? value_bytes * 9 / 20 : value_bytes;
      const int there = contains_key(kv, key) == SHMEMX_KV_OK;
      const int status = shmemx_kv_put(kv, key.text, key.n, value, n);
      CHECK_EITHER(status, SHMEMX_KV_OK, SHMEMX_KV_FULL);
      refused += status == SHMEMX_KV_FULL;
      over += there && status == SHMEMX_KV_FULL;
    }
  }
  shmem_barrier_all();
  shmemx_stats_read(&after);
  CHECK_EQ(sum_of_all((long)(after.kv_full - before.kv_full)), sum_of_all(refused));
  CHECK_EQ(sum_of_all(over) > 0, value_bytes > 8);
  const shmemx_kv_report_t report = report_of(kv);
  const long all = sum_of_all(refused);
  CHECK_CMP(all, >, 0);
  CHECK_EQ(sum_of_all((long)report.full), all);
  for (int i = 0; i < kKeys; ++i) remove_key(kv, key_of(me, i));
  shmem_barrier_all();
  CHECK_EQ(report_of(kv).full, report.full);
  shmem_barrier_all();
  free(value);
  shmemx_kv_destroy(kv);
}

/* Who waits on another node for its element is told there. */
static void test_parked(void) {
  shmemx_kv_t kv = table_of(48, 8, 100);
  if (me == 0) {
    Key key = key_of(0, 0);
    for (int i = 1; shmemx_kv_pe(kv, key.text, key.n) != npes - 1; ++i) key = key_of(0, i);
    long value = 0;
    shmemx_kv_request_t request;
    static int status;
    /* By another PE, so that this one waits first, if it can. */
    shmemx_kv_put_nbr(kv, "put it", 6, &value, sizeof value, &status, &request);
    shmemx_kv_request_wait(&request);
    CHECK_EQ(shmemx_kv_get_wait(kv, key.text, key.n, &value, sizeof value, NULL), SHMEMX_KV_OK);
    CHECK_EQ(value, 7);
  } else if (me == npes - 1) {
    Key key = key_of(0, 0);
    for (int i = 1; shmemx_kv_pe(kv, key.text, key.n) != me; ++i) key = key_of(0, i);
    long value;
    shmemx_kv_get_wait(kv, "put it", 6, &value, sizeof value, NULL);
    for (int i = 0; i < 5000 && report_of(kv).parked == 0 && shmem_ptr(&npes, 0) == NULL; ++i) usleep(1000);
    if (shmem_ptr(&npes, 0) == NULL) CHECK_EQ(report_of(kv).parked, 1);
    shmemx_stats_t stats;
    shmemx_stats_read(&stats);
    CHECK_CMP(stats.kv_parked, >=, report_of(kv).parked);
    CHECK_EQ(put_long(kv, key, 7), SHMEMX_KV_OK);
  }
  shmem_barrier_all();
  shmemx_kv_destroy(kv);
}

static uint64_t count_of(shmemx_kv_t kv, const char* key, size_t n) {
  static char keys[kMost][48];
  size_t key_bytes[kMost];
  uint64_t counts[kMost];
  const size_t found = shmemx_kv_hot_keys(kv, kMost, keys, sizeof *keys, key_bytes, counts);
  for (size_t i = 1; i < found; ++i) CHECK_CMP(counts[i - 1], >=, counts[i]);
  for (size_t i = 0; i < found; ++i)
    if (key_bytes[i] == n && memcmp(keys[i], key, n) == 0) return counts[i];
  return 0;
}
static long sum_of_counts(shmemx_kv_t kv, const void* key, size_t n) {
  return sum_of_all((long)count_of(kv, key, n));
}

/* PE 0 alone uses it: each call is counted once, whoever has the key.  Keys of 8 bytes, which have ways of
 * their own. */
static void test_hot_keys(void) {
  shmemx_kv_t kv = table_of(8, 8, 4000);
  long keys[kHot], values[kHot];
  for (int i = 0; i < kHot; ++i) keys[i] = 1000 + i, values[i] = i;
  shmemx_kv_watch(kv, 1);
  shmem_barrier_all();
  for (int round = 0; me == 0 && round < kRounds; ++round)
    for (int i = 0; i < kHot; ++i)
      for (int calls = 0; calls <= i; ++calls) {
        long value = 0;
        CHECK_EQ(shmemx_kv_put(kv, &keys[i], 8, &values[i], 8), SHMEMX_KV_OK);
        CHECK_EQ(shmemx_kv_get(kv, &keys[i], 8, &value, 8, NULL), SHMEMX_KV_OK);
        shmemx_kv_get_nbi(kv, &keys[i], 8, &value, 8, NULL, NULL);
        shmemx_kv_quiet(kv);
        CHECK_EQ(value, values[i]);
      }
  shmem_barrier_all();
  for (int i = 0; i < kHot; ++i) CHECK_FOR(i, sum_of_counts(kv, &keys[i], 8), 3 * kRounds * (i + 1));
  for (int round = 0; me == 0 && round < kRounds; ++round) {
    CHECK_EQ(shmemx_kv_get_batch(kv, kHot, keys, 8, values, 8, NULL, NULL), SHMEMX_KV_OK);
    CHECK_EQ(shmemx_kv_exchange(kv, &keys[0], 8, &values[0], 8, &values[0], 8, NULL), SHMEMX_KV_OK);
  }
  shmem_barrier_all();
  for (int i = 1; i < kHot; ++i) CHECK_FOR(i, sum_of_counts(kv, &keys[i], 8), kRounds * (3 * (i + 1) + 1));
  CHECK_EQ(sum_of_counts(kv, &keys[0], 8), kRounds * 5);
  /* Nobody counts any more; what was counted stays, until it begins again. */
  shmemx_kv_watch(kv, 0);
  shmem_barrier_all();
  for (int i = 0; me == 0 && i < kHot; ++i)
    CHECK_EQ(shmemx_kv_get(kv, &keys[i], 8, values, 8, NULL), SHMEMX_KV_OK);
  shmem_barrier_all();
  CHECK_EQ(sum_of_counts(kv, &keys[0], 8), kRounds * 5);
  shmemx_kv_watch(kv, 1);
  CHECK_EQ(sum_of_counts(kv, &keys[0], 8), 0);
  shmem_barrier_all();
  shmemx_kv_destroy(kv);
}

/* A sample, with many more keys than it keeps: a third of all calls are on one.  The same calls come again
 * and again, in step with what one might take as a sample. */
static void test_sample(void) {
  shmemx_kv_t kv = table_of(8, 8, 8000);
  const long calls = rounds(48000, 12000), hot = -1;
  shmemx_kv_watch(kv, 8);
  shmem_barrier_all();
  for (long i = 0; me == 0 && i < calls; ++i) {
    const long key = i % 4 == 1 ? hot : i;
    CHECK_FOR(i, shmemx_kv_put(kv, &key, 8, &i, 8), SHMEMX_KV_OK);
  }
  shmem_barrier_all();
  const long counted = sum_of_counts(kv, &hot, 8);
  CHECK_CMP(counted, >, calls / 4 * 8 / 10);
  CHECK_CMP(counted, <, calls / 4 * 12 / 10);
  shmemx_kv_watch(kv, 0);
  shmem_barrier_all();
  shmemx_kv_destroy(kv);
}

int main(void) {
  shmem_init();
  me = shmem_my_pe(), npes = shmem_n_pes();
  const char* match = getenv("SHMEM_KV_MATCH");
  const int entry =
      match != NULL && strcmp(match, "entry") == 0; /* has no segments, and its network counts no keys */
  if (!entry) {
    test_report();
    test_full_groups();
    test_full(8);
    test_full(2000);
    test_full(20000);
    test_hot_keys();
    test_sample();
  }
  if (npes > 1 && getenv("SHMEM_HEAP") == NULL) test_parked();
  shmem_finalize();
  return 0;
}
