/* SPDX-License-Identifier: BSD-3-Clause */
/* get_wait: the key comes later, from another PE or from another thread of this one. */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "kv_check.h"

static int me, npes;
static shmemx_kv_t kv;

static long wait_long(Key key) {
  long value = -1;
  size_t n = 0;
  CHECK_EQ(shmemx_kv_get_wait(kv, key.text, key.n, &value, sizeof value, &n), SHMEMX_KV_OK);
  CHECK_EQ(n, sizeof value);
  return value;
}

/* What is there needs no waiting. */
static void test_there(void) {
  CHECK_EQ(put_long(kv, key_of(me, 0), me), SHMEMX_KV_OK);
  CHECK_EQ(wait_long(key_of(me, 0)), me);
  shmem_barrier_all();
  for (int pe = 0; pe < npes; ++pe) CHECK_OF_PE(pe, wait_long(key_of(pe, 0)), pe);
  shmem_barrier_all();
}

/* A token goes around the ring; everybody waits for it all the time. */
static void test_ring(void) {
  const int laps = rounds(200, 30);
  for (int lap = 0; lap < laps; ++lap) {
    if (me > 0 || lap > 0) {
      const Key from = key_of(left_pe(), 1000 + lap - (me == 0));
      CHECK_EQ(wait_long(from), lap - (me == 0));
      CHECK_EQ(remove_key(kv, from), SHMEMX_KV_OK);
    }
    const Key mine = key_of(me, 1000 + lap);
    if (lap % 3 == 0) CHECK_FOR(lap, insert_long(kv, mine, lap), SHMEMX_KV_OK);
    if (lap % 3 == 1) CHECK_FOR(lap, put_long(kv, mine, lap), SHMEMX_KV_OK);
    if (lap % 3 == 2) {
      const int64_t value = lap;
      CHECK_EQ(shmemx_kv_upsert(kv, mine.text, mine.n, SHMEMX_KV_INT64, SHMEMX_KV_ADD, &value, NULL),
               SHMEMX_KV_OK);
    }
  }
  if (me == 0) CHECK_EQ(wait_long(key_of(left_pe(), 1000 + laps - 1)), laps - 1);
  shmem_barrier_all();
}

/* All wait for one, who takes its time and does other things with the table. */
static void test_all_wait_for_one(void) {
  for (int round = 0; round < 3; ++round) {
    const Key key = key_of(-1, round);
    if (me == npes - 1) {
      usleep(30000);
      for (int i = 0; i < 20; ++i) CHECK_FOR(i, put_long(kv, key_of(-2, i), i), SHMEMX_KV_OK);
      if (round == 2) {
        int status = -1;
        const long value = round;
        shmemx_kv_put_nbi(kv, key.text, key.n, &value, sizeof value, &status);
        shmemx_kv_quiet(kv);
        CHECK_EQ(status, SHMEMX_KV_OK);
      } else {
        CHECK_FOR(round, put_long(kv, key, round), SHMEMX_KV_OK);
      }
    } else {
      CHECK_EQ(wait_long(key), round);
    }
    shmem_barrier_all();
  }
}

static void test_too_large(void) {
  char small[4];
  size_t n = 0;
  const Key key = key_of(-3, 0);
  if (me == 0) usleep(10000), CHECK_EQ(put_long(kv, key, 1), SHMEMX_KV_OK);
  CHECK_EQ(shmemx_kv_get_wait(kv, key.text, key.n, small, sizeof small, &n), SHMEMX_KV_TOO_LARGE);
  CHECK_EQ(n, sizeof(long));
  shmem_barrier_all();
}

/* A key for `pe` to wait for, which is not its own. */
static Key awaited_by(int pe) {
  for (int i = 9000;; ++i) {
    const Key key = key_of(pe, i);
    if (shmemx_kv_pe(kv, key.text, key.n) != pe) return key;
  }
}

/* Who waits for long sends one request, and gets one answer. */
static void test_few_messages(void) {
  shmemx_kv_stats_t before, after;
  const Key mine = awaited_by(right_pe()), other = awaited_by(me);
  shmem_barrier_all();
  shmemx_kv_stats(kv, &before);
  if (me % 2 == 0) {
    CHECK_EQ(wait_long(other), left_pe());
    CHECK_EQ(put_long(kv, mine, me), SHMEMX_KV_OK);
  } else {
    usleep(100000);
    CHECK_EQ(put_long(kv, mine, me), SHMEMX_KV_OK);
    CHECK_EQ(wait_long(other), left_pe());
  }
  shmemx_kv_stats(kv, &after);
  CHECK_CMP(after.packets - before.packets, <=, 2);
  shmem_barrier_all();
}

static void* waiter(void* argument) {
  const int i = *(int*)argument;
  CHECK_EQ(wait_long(key_of(me, 5000 + i)), i);
  CHECK_EQ(wait_long(key_of(right_pe(), 6000 + i)), i);
  return NULL;
}

/* Several threads wait, each for another key, while the first one works on. */
static void test_threads(void) {
  enum { kThreads = 3 };
  pthread_t threads[kThreads];
  int numbers[kThreads];
  for (int i = 0; i < kThreads; ++i) {
    numbers[i] = i;
    CHECK_EQ(pthread_create(&threads[i], NULL, waiter, &numbers[i]), 0);
  }
  for (int i = 0; i < 100; ++i) CHECK_FOR(i, put_long(kv, key_of(me, 7000 + i), i), SHMEMX_KV_OK);
  for (int i = kThreads - 1; i >= 0; --i) CHECK_FOR(i, put_long(kv, key_of(me, 6000 + i), i), SHMEMX_KV_OK);
  for (int i = 0; i < kThreads; ++i) CHECK_FOR(i, put_long(kv, key_of(me, 5000 + i), i), SHMEMX_KV_OK);
  for (int i = 0; i < kThreads; ++i) CHECK_EQ(pthread_join(threads[i], NULL), 0);
  shmem_barrier_all();
}

int main(void) {
  int provided = 0;
  CHECK_EQ(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided), 0);
  me = shmem_my_pe(), npes = shmem_n_pes();
  kv = table_of(48, 8, 4000);
  test_there();
  test_ring();
  test_all_wait_for_one();
  test_too_large();
  /* On NVM pages come, or it asks again. */
  if (npes % 2 == 0 && getenv("SHMEM_HEAP") == NULL) test_few_messages();
  test_threads();
  shmemx_kv_destroy(kv);
  shmem_finalize();
  return 0;
}
