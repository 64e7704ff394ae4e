/* SPDX-License-Identifier: BSD-3-Clause */
/* Nonblocking calls of several threads: quiet waits for what was issued before it, and for nothing else.  And
 * calls while another thread begins and ends to watch the table, so that they go now one way and now the
 * other. */
#include <pthread.h>

#include "kv_check.h"

enum { kKeys = 16 }; /* fewer than rounds: each key is written again and again */

static shmemx_kv_t kv;
static int me, times;
static pthread_barrier_t meeting;
static int stop; /* atomic */

static void issue(int number, long value, int* status) {
  const Key key = key_of(me, number);
  shmemx_kv_put_nbi(kv, key.text, key.n, &value, sizeof value, status);
}

/* Issues while the other thread is in quiet, and does nothing more until both have met. */
static void* issue_and_rest(void* none) {
  for (int i = 0; i < times; ++i) {
    pthread_barrier_wait(&meeting);
    for (int k = 0; k < 1 + i % 8; ++k) issue(kKeys + k, i, NULL);
    pthread_barrier_wait(&meeting);
  }
  return none;
}

static void* issue_without_end(void* none) {
  for (int i = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); ++i) issue(kKeys + i % kKeys, i, NULL);
  shmemx_kv_quiet(kv);
  return none;
}

static void expect_quiet(int i, long value) {
  int status = -1;
  issue(i % kKeys, value, &status);
  shmemx_kv_quiet(kv);
  CHECK_EQ(status, SHMEMX_KV_OK);
  CHECK_EQ(long_at(kv, key_of(me, i % kKeys)), value);
}

static void* watch_on_and_off(void* table) {
  char keys[4][8];
  size_t key_bytes[4];
  uint64_t counts[4];
  while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
    shmemx_kv_watch(table, 1);
    CHECK_CMP(shmemx_kv_hot_keys(table, 4, keys, sizeof *keys, key_bytes, counts), <=, 4);
    shmemx_kv_watch(table, 0);
  }
  return NULL;
}

static void test_watch(void) {
  shmemx_kv_t watched = table_of(8, 8, (uint64_t)(kKeys * shmem_n_pes()));
  pthread_t thread;
  stop = 0;
  CHECK_EQ(pthread_create(&thread, NULL, watch_on_and_off, watched), 0);
  for (int i = 0; i < times; ++i) {
    const long key = (long)me * kKeys + i % kKeys;
    long value = 0;
    CHECK_FOR(i, shmemx_kv_put(watched, &key, sizeof key, &(long){i}, sizeof(long)), SHMEMX_KV_OK);
    CHECK_FOR(i, shmemx_kv_get(watched, &key, sizeof key, &value, sizeof value, NULL), SHMEMX_KV_OK);
    CHECK_EQ(value, i);
  }
  __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
  pthread_join(thread, NULL);
  shmemx_kv_destroy(watched);
}

int main(void) {
  int provided;
  shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
  CHECK_EQ(provided, SHMEM_THREAD_MULTIPLE);
  me = shmem_my_pe();
  times = rounds(2000, 60);
  kv = table_of(48, sizeof(long), (uint64_t)(2 * kKeys * shmem_n_pes()));
  pthread_t thread;
  pthread_barrier_init(&meeting, NULL, 2);
  CHECK_EQ(pthread_create(&thread, NULL, issue_and_rest, NULL), 0);
  for (int i = 0; i < times; ++i) {
    pthread_barrier_wait(&meeting);
    expect_quiet(i, i);
    pthread_barrier_wait(&meeting);
  }
  pthread_join(thread, NULL);
  shmem_barrier_all();
  CHECK_EQ(pthread_create(&thread, NULL, issue_without_end, NULL), 0);
  for (int i = 0; i < times; ++i) expect_quiet(i, times + i);
  __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
  pthread_join(thread, NULL);
  shmem_barrier_all();
  test_watch();
  /* Without quiet: test completes, too. */
  int status = -1;
  issue(0, -1, &status);
  while (!shmemx_kv_test(kv)) continue;
  CHECK_EQ(status, SHMEMX_KV_OK);
  CHECK_EQ(shmemx_kv_test(kv), 1);
  /* What is left to shmem_finalize is completed there. */
  issue(1, -2, &status);
  shmem_finalize();
  CHECK_EQ(status, SHMEMX_KV_OK);
  return 0;
}
