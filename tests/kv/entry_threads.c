/* SPDX-License-Identifier: BSD-3-Clause */
/* SHMEM_KV_MATCH=entry: more threads in calls at once than a list has receives. What awaits replies leaves
 * the receives for new elements their places; what finds no place goes the other way. */
#include <pthread.h>

#include "kv_check.h"

enum { kThreads = 250, kKeys = 8 };

static int me, npes, calls;
static shmemx_kv_t kv;

/* Its own keys, all calls that wait. */
static void* work(void* argument) {
  const int mine = (int)(size_t)argument;
  for (int i = 0; i < calls; ++i) {
    const Key key = key_of(me * kThreads + mine, i % kKeys);
    CHECK_FOR(i, put_long(kv, key, i), SHMEMX_KV_OK);
    if (i % 4 == 1) CHECK_EQ(long_at(kv, key), i);
    if (i % 4 == 2) CHECK_EQ(insert_long(kv, key, 0), SHMEMX_KV_EXISTS);
    if (i % 4 == 3) CHECK_EQ(remove_key(kv, key), SHMEMX_KV_OK);
  }
  return NULL;
}

/* Of all PEs since the last call: what new elements' receives took. */
static long added(void) {
  static uint64_t before;
  shmemx_stats_t stats;
  shmem_barrier_all();
  shmemx_stats_read(&stats);
  const long more = (long)(stats.kv_added - before);
  before = stats.kv_added;
  return sum_of_all(more);
}

/* One after the other, each to all PEs: all go by the list, which has what it had at first. */
static void expect_the_list_works(void) {
  shmemx_kv_stats_t before, after;
  added();
  shmemx_kv_stats(kv, &before);
  for (int i = 0; i < 200; ++i) CHECK_FOR(i, put_long(kv, key_of(-1 - me, i), i), SHMEMX_KV_OK);
  shmemx_kv_stats(kv, &after);
  const long remote = sum_of_all((long)(after.remote_calls - before.remote_calls));
  CHECK_CMP(remote, >, 0);
  CHECK_EQ(added(), remote);
}

int main(void) {
  int provided = 0;
  CHECK_EQ(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided), 0);
  me = shmem_my_pe(), npes = shmem_n_pes();
  calls = rounds(400, 40);
  kv = table_of(48, 8, (uint64_t)(kThreads * kKeys * npes));
  expect_the_list_works();
  pthread_t threads[kThreads];
  for (size_t i = 0; i < kThreads; ++i) CHECK_EQ(pthread_create(&threads[i], NULL, work, (void*)i), 0);
  for (int i = 0; i < kThreads; ++i) CHECK_EQ(pthread_join(threads[i], NULL), 0);
  expect_the_list_works();
  shmemx_kv_destroy(kv);
  shmem_finalize();
  return 0;
}
