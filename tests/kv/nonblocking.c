/* SPDX-License-Identifier: BSD-3-Clause */
/* Nonblocking calls: what they do is there after quiet, and in order after fence. */
#include <unistd.h>

#include "kv_check.h"

enum { kMany = 600 };

static int me, npes;
static int status[kMany];
static long values[kMany];
static size_t lengths[kMany];

static void expect_all(int wanted) {
  for (int i = 0; i < kMany; ++i) CHECK_AT(status, i, wanted);
  memset(status, -1, sizeof status);
}

/* Key and value of a put are copied: nothing of them lives longer than the call. */
static void put_nbi(shmemx_kv_t kv, int pe, int i, long number) {
  Key key = key_of(pe, i);
  long value = number;
  shmemx_kv_put_nbi(kv, key.text, key.n, &value, sizeof value, &status[i]);
  value = -12345;
  memset(&key, 0xee, sizeof key);
}

static Key kept[2][kMany]; /* keys of calls that may look at them until quiet */

/* insert_nbi and update_nbi do not promise to copy the key or the value. */
static void write_kept(shmemx_kv_t kv, int pe, int i, long number, int inserts) {
  Key* key = &kept[0][i];
  *key = key_of(pe, i);
  values[i] = number;
  if (inserts)
    shmemx_kv_insert_nbi(kv, key->text, key->n, &values[i], sizeof values[i], &status[i]);
  else
    shmemx_kv_update_nbi(kv, key->text, key->n, &values[i], sizeof values[i], &status[i]);
}

static void read_nbi(shmemx_kv_t kv, int pe, int i) {
  Key* key = &kept[1][i];
  *key = key_of(pe, i);
  values[i] = -1, lengths[i] = 99;
  shmemx_kv_get_nbi(kv, key->text, key->n, &values[i], sizeof values[i], &lengths[i], &status[i]);
}

static void remove_nbi(shmemx_kv_t kv, int pe, int i) {
  Key* key = &kept[1][i];
  *key = key_of(pe, i);
  shmemx_kv_remove_nbi(kv, key->text, key->n, &status[i]);
}

static void test_all_kinds(shmemx_kv_t kv) {
  for (int i = 0; i < kMany; ++i) {
    put_nbi(kv, me, i, i);
    /* The answer may be there already, and is stored by another thread. */
    CHECK_EITHER(__atomic_load_n(&status[i], __ATOMIC_ACQUIRE), SHMEMX_KV_PENDING, SHMEMX_KV_OK);
  }
  shmemx_kv_quiet(kv);
  expect_all(SHMEMX_KV_OK);
  shmem_barrier_all();
  for (int i = 0; i < kMany; ++i) read_nbi(kv, right_pe(), i);
  shmemx_kv_quiet(kv);
  expect_all(SHMEMX_KV_OK);
  for (int i = 0; i < kMany; ++i) {
    CHECK_AT(values, i, i);
    CHECK_AT(lengths, i, sizeof(long));
  }
  shmem_barrier_all();
  for (int i = 0; i < kMany; ++i) write_kept(kv, me, i, -1, 1);
  shmemx_kv_quiet(kv);
  expect_all(SHMEMX_KV_EXISTS);
  for (int i = 0; i < kMany; ++i) write_kept(kv, me, i, 2 * i, 0);
  shmemx_kv_quiet(kv);
  expect_all(SHMEMX_KV_OK);
  for (int i = 0; i < kMany; ++i) CHECK_FOR(i, long_at(kv, key_of(me, i)), 2 * i);
  shmem_barrier_all();
  for (int i = 0; i < kMany; ++i) remove_nbi(kv, left_pe(), i);
  shmemx_kv_quiet(kv);
  expect_all(SHMEMX_KV_OK);
  shmem_barrier_all();
  CHECK_EQ(shmemx_kv_count(kv), 0);
  shmem_barrier_all(); /* before others insert again */
  for (int i = 0; i < kMany; ++i) remove_nbi(kv, me, i);
  shmemx_kv_quiet(kv);
  expect_all(SHMEMX_KV_NOT_FOUND);
  for (int i = 0; i < kMany; ++i) write_kept(kv, me, i, 1, 0);
  shmemx_kv_quiet(kv);
  expect_all(SHMEMX_KV_NOT_FOUND);
  for (int i = 0; i < kMany; ++i) read_nbi(kv, me, i);
  shmemx_kv_quiet(kv);
  expect_all(SHMEMX_KV_NOT_FOUND);
  for (int i = 0; i < kMany; ++i) CHECK_AT(values, i, -1);
  for (int i = 0; i < kMany; ++i) write_kept(kv, me, i, i, 1);
  shmemx_kv_quiet(kv);
  expect_all(SHMEMX_KV_OK);
  shmem_barrier_all();
}

static void test_accumulate(shmemx_kv_t kv) {
  static int64_t olds[kMany], sums[kMany], operands[kMany];
  for (int i = 0; i < kMany; ++i) {
    Key* key = &kept[0][i];
    *key = key_of(me, i);
    operands[i] = 5;
    shmemx_kv_accumulate_nbi(kv, key->text, key->n, 0, SHMEMX_KV_INT64, SHMEMX_KV_ADD, &operands[i], &olds[i],
                             &status[i]);
    shmemx_kv_upsert_nbi(kv, key->text, key->n, SHMEMX_KV_INT64, SHMEMX_KV_ADD, &operands[i], &sums[i], NULL);
  }
  shmemx_kv_quiet(kv);
  expect_all(SHMEMX_KV_OK);
  for (int i = 0; i < kMany; ++i) {
    CHECK_AT(olds, i, i);
    CHECK_AT(sums, i, i + 5);
  }
  for (int i = 0; i < kMany; ++i) CHECK_FOR(i, long_at(kv, key_of(me, i)), i + 10);
  for (int i = 0; i < kMany; ++i) {
    Key* key = &kept[0][i];
    *key = key_of(me, kMany + i);
    olds[i] = 77;
    shmemx_kv_accumulate_nbi(kv, key->text, key->n, 8, SHMEMX_KV_INT64, SHMEMX_KV_ADD, &operands[i], NULL,
                             &status[i]);
  }
  shmemx_kv_quiet(kv);
  expect_all(SHMEMX_KV_NOT_FOUND);
  /* The same counters, by all. */
  shmem_barrier_all();
  for (int i = 0; i < kMany; ++i) {
    Key* key = &kept[0][i];
    *key = key_of(-1, i % 7);
    shmemx_kv_upsert_nbi(kv, key->text, key->n, SHMEMX_KV_INT64, SHMEMX_KV_ADD, &operands[i], NULL,
                         &status[i]);
  }
  shmemx_kv_quiet(kv);
  expect_all(SHMEMX_KV_OK);
  shmem_barrier_all();
  long sum = 0;
  for (int i = 0; i < 7; ++i) sum += long_at(kv, key_of(-1, i));
  CHECK_EQ(sum, 5L * kMany * npes);
  shmem_barrier_all();
}

/* Those on one key take effect in the order of their calls; no status is asked for. */
static void test_order(shmemx_kv_t kv) {
  const Key key = key_of(me, 5000);
  for (int round = 0; round < rounds(50, 10); ++round) {
    static long numbers[100];
    for (int i = 0; i < 100; ++i) {
      numbers[i] = i;
      if (i % 10 == 3)
        shmemx_kv_remove_nbi(kv, key.text, key.n, NULL);
      else if (i % 10 == 4)
        shmemx_kv_insert_nbi(kv, key.text, key.n, &numbers[i], sizeof(long), &status[i]);
      else
        shmemx_kv_put_nbi(kv, key.text, key.n, &numbers[i], sizeof(long), NULL);
      if (i % 10 == 5) shmemx_kv_get_nbi(kv, key.text, key.n, &values[i], sizeof(long), NULL, NULL);
    }
    shmemx_kv_quiet(kv);
    for (int i = 0; i < 100; ++i) {
      if (i % 10 == 4) CHECK_AT(status, i, SHMEMX_KV_OK);
      if (i % 10 == 5) CHECK_AT(values, i, i);
    }
    CHECK_EQ(long_at(kv, key), 99);
  }
}

/* A flag that is put after a fence is not seen before the data, which is on another PE. */
static void test_fence(shmemx_kv_t kv) {
  const Key flag = key_of(me, 6000), theirs = key_of(left_pe(), 6000);
  CHECK_EQ(put_long(kv, flag, 0), SHMEMX_KV_OK);
  shmem_barrier_all();
  for (int epoch = 1; epoch <= rounds(100, 15); ++epoch) {
    const long number = epoch;
    for (int i = 0; i < 30; ++i) {
      const Key data = key_of(me, 6001 + i);
      shmemx_kv_put_nbi(kv, data.text, data.n, &number, sizeof number, NULL);
    }
    shmemx_kv_fence(kv);
    if (epoch % 2) {
      CHECK_FOR(epoch, put_long(kv, flag, epoch), SHMEMX_KV_OK);
    } else {
      shmemx_kv_put_nbi(kv, flag.text, flag.n, &number, sizeof number, NULL);
      if (epoch % 4 == 0) shmemx_kv_quiet(kv);
    }
    const long seen = long_at(kv, theirs);
    for (int i = 29; seen > 0 && i >= 0; --i) CHECK_CMP(long_at(kv, key_of(left_pe(), 6001 + i)), >=, seen);
  }
  shmemx_kv_quiet(kv);
  shmem_barrier_all();
}

/* quiet and fence where nothing is under way; blocking calls between nonblocking ones. */
static void test_nothing_under_way(shmemx_kv_t kv) {
  shmemx_kv_quiet(kv);
  shmemx_kv_fence(kv);
  shmemx_kv_quiet(kv);
  for (int i = 0; i < 20; ++i) {
    put_nbi(kv, me, i, i);
    CHECK_FOR(i, put_long(kv, key_of(me, 8000 + i), i), SHMEMX_KV_OK);
    CHECK_FOR(i, long_at(kv, key_of(me, 8000 + i)), i);
  }
  shmemx_kv_fence(kv);
  for (int i = 0; i < 20; ++i) CHECK_FOR(i, long_at(kv, key_of(me, i)), i);
  shmemx_kv_quiet(kv);
}

/* More under way than any queue has room for. */
static void test_flood(shmemx_kv_t kv) {
  static long number[20000];
  shmem_barrier_all();
  enum { kKeys = 500 };
  const int times = kKeys * rounds(40, 10);
  for (int i = 0; i < times; ++i) {
    const Key key = key_of(me, i % kKeys);
    number[i] = i;
    shmemx_kv_put_nbi(kv, key.text, key.n, &number[i], sizeof(long), NULL);
  }
  shmemx_kv_quiet(kv);
  shmem_barrier_all();
  for (int i = 0; i < kKeys; ++i) CHECK_FOR(i, long_at(kv, key_of(left_pe(), i)), times - kKeys + i);
  shmem_barrier_all();
}

/* More than the table's values have room for: the status says so at once, and nothing is stored. */
static void test_too_long(shmemx_kv_t kv) {
  const char value[9] = "too long";
  const Key key = key_of(me, 9000);
  int told[3] = {-1, -1, -1};
  shmemx_kv_put_nbi(kv, key.text, key.n, value, sizeof value, &told[0]);
  shmemx_kv_insert_nbi(kv, key.text, key.n, value, sizeof value, &told[1]);
  shmemx_kv_update_nbi(kv, key.text, key.n, value, sizeof value, &told[2]);
  for (int i = 0; i < 3; ++i) CHECK_AT(told, i, SHMEMX_KV_TOO_LARGE);
  shmemx_kv_put_nbi(kv, key.text, key.n, value, sizeof value, NULL);
  shmemx_kv_quiet(kv);
  CHECK_EQ(contains_key(kv, key), SHMEMX_KV_NOT_FOUND);
}

/* Barriers and shmem_quiet complete what was issued. */
static void test_completed_by_order(shmemx_kv_t kv) {
  for (int i = 0; i < 2 * npes; ++i) {
    int status = -1;
    const Key key = key_of(me, 9100 + i);
    const long value = i;
    shmemx_kv_put_nbi(kv, key.text, key.n, &value, sizeof value, &status);
    if (i % 2 == 0)
      shmem_quiet();
    else
      shmem_barrier_all();
    CHECK_FOR(i, status, SHMEMX_KV_OK);
  }
}

/* And nobody needs to: a PE that issues a put and computes on keeps nobody waiting. */
static void test_leaves_by_itself(shmemx_kv_t kv) {
  static long seen;
  shmem_barrier_all();
  for (int i = 0; i < rounds(20, 5); ++i) {
    const Key key = key_of(-9, i);
    if (me == 0) {
      int status = -1;
      const long value = i;
      shmemx_kv_put_nbi(kv, key.text, key.n, &value, sizeof value, &status);
      while (__atomic_load_n(&seen, __ATOMIC_ACQUIRE) < (long)(i + 1) * (npes - 1)) usleep(100);
      shmemx_kv_quiet(kv);
      CHECK_FOR(i, status, SHMEMX_KV_OK);
    } else {
      long value = -1;
      CHECK_FOR(i, shmemx_kv_get_wait(kv, key.text, key.n, &value, sizeof value, NULL), SHMEMX_KV_OK);
      CHECK_FOR(i, value, i);
      shmem_long_atomic_inc(&seen, 0);
    }
  }
  shmem_barrier_all();
}

int main(void) {
  shmem_init();
  me = shmem_my_pe(), npes = shmem_n_pes();
  shmemx_kv_t kv = table_of(48, 8, 20000);
  test_all_kinds(kv);
  test_accumulate(kv);
  test_order(kv);
  test_fence(kv);
  test_nothing_under_way(kv);
  test_flood(kv);
  test_too_long(kv);
  test_completed_by_order(kv);
  test_leaves_by_itself(kv);
  /* What is under way when the table ends is completed. */
  int last = -1;
  const Key key = key_of(me, 1);
  const long value = 1;
  shmemx_kv_put_nbi(kv, key.text, key.n, &value, sizeof value, &last);
  shmemx_kv_destroy(kv);
  CHECK_EQ(last, SHMEMX_KV_OK);
  shmem_finalize();
  return 0;
}
