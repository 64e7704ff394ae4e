/* SPDX-License-Identifier: BSD-3-Clause */
/* Of PEs and threads that insert, or remove, the same key at once exactly one wins: no element is lost or
 * there twice. */
#include <pthread.h>

#include "kv_check.h"

enum { kKeys = 16, kThreads = 2 };

static int me, npes;
static shmemx_kv_t kv;
static long won[2][kThreads][kKeys]; /* inserted, removed */
static pthread_barrier_t together;

/* Everybody begins with another key half of the time. */
static int place(int thread, int i, int round) { return round % 2 ? i : (i + 5 * me + 3 * thread) % kKeys; }

static void* contend(void* argument) {
  const int thread = *(int*)argument;
  for (int round = 0; round < rounds(60, 8); ++round) {
    for (int removes = 0; removes < 2; ++removes) {
      pthread_barrier_wait(&together);
      if (thread == 0) shmem_barrier_all();
      pthread_barrier_wait(&together);
      for (int i = 0; i < kKeys; ++i) {
        const int k = place(thread, i, round);
        const int status =
            removes ? remove_key(kv, key_of(-1, k)) : insert_long(kv, key_of(-1, k), me * 10 + thread);
        CHECK_EITHER(status, SHMEMX_KV_OK, (removes ? SHMEMX_KV_NOT_FOUND : SHMEMX_KV_EXISTS));
        won[removes][thread][k] = status == SHMEMX_KV_OK;
      }
      pthread_barrier_wait(&together);
      if (thread != 0) continue;
      for (int k = 0; k < kKeys; ++k) {
        long mine = 0;
        for (int t = 0; t < kThreads; ++t) {
          mine += won[removes][t][k];
          if (!removes && won[0][t][k]) CHECK_FOR(k, long_at(kv, key_of(-1, k)), me * 10 + t);
        }
        CHECK_EQ(sum_of_all(mine), 1);
      }
      CHECK_EQ(shmemx_kv_count(kv), removes ? 0 : kKeys);
      shmem_barrier_all();
    }
  }
  return NULL;
}

/* Everybody inserts and removes all the time: as many inserted as removed, but for what is there in the end.
 */
static void test_balance(void) {
  Random dice = {(uint64_t)me};
  long balance[kKeys] = {0};
  for (int i = 0; i < rounds(5000, 500); ++i) {
    const int k = (int)random_below(&dice, kKeys);
    if (random_below(&dice, 2))
      balance[k] += insert_long(kv, key_of(-1, k), i) == SHMEMX_KV_OK;
    else
      balance[k] -= remove_key(kv, key_of(-1, k)) == SHMEMX_KV_OK;
  }
  for (int k = 0; k < kKeys; ++k) {
    const long there = sum_of_all(balance[k]);
    CHECK_EITHER(there, 0, 1);
    CHECK_FOR(k, contains_key(kv, key_of(-1, k)), there ? SHMEMX_KV_OK : SHMEMX_KV_NOT_FOUND);
  }
}

static void run(uint64_t (*hash)(const void*, size_t)) {
  const shmemx_kv_options_t options = {
      .key_bytes = 48, .value_bytes = 8, .capacity = 16 * kKeys, .hash = hash};
  CHECK_EQ(shmemx_kv_create(&options, &kv), SHMEMX_KV_OK);
  pthread_t other;
  int numbers[kThreads] = {0, 1};
  pthread_barrier_init(&together, NULL, kThreads);
  CHECK_EQ(pthread_create(&other, NULL, contend, &numbers[1]), 0);
  contend(&numbers[0]);
  CHECK_EQ(pthread_join(other, NULL), 0);
  pthread_barrier_destroy(&together);
  test_balance();
  shmemx_kv_destroy(kv);
}

static uint64_t constant(const void* key, size_t n) { return (void)key, (void)n, 7; }

int main(void) {
  int provided = 0;
  CHECK_EQ(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided), 0);
  me = shmem_my_pe(), npes = shmem_n_pes();
  run(NULL);
  run(constant);
  shmem_finalize();
  return 0;
}
