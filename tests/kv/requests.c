/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests of nonblocking calls and batches; batches in which each operation has its own arguments. */
#include <unistd.h>

#include "kv_check.h"

enum { kMany = 300, kWide = 3000 };

static int me, npes;
static int status[kWide];
static long values[kWide], keys[kWide], olds[kWide];
static size_t lengths[kWide];

static void expect_all(int count, int wanted) {
  for (int i = 0; i < count; ++i) CHECK_AT(status, i, wanted);
}
static void forget(int count) {
  for (int i = 0; i < count; ++i) status[i] = values[i] = -1, lengths[i] = 99;
}

/* Each way to end requests; those that are NULL are complete. */
static void test_each(shmemx_kv_t kv) {
  static shmemx_kv_request_t requests[kMany];
  static long numbers[kMany];
  for (int i = 0; i < kMany; ++i) {
    const Key key = key_of(me, i);
    numbers[i] = i;
    shmemx_kv_put_nbr(kv, key.text, key.n, &numbers[i], sizeof(long), &status[i], &requests[i]);
    if (requests[i] == NULL) CHECK_FOR(i, status[i], SHMEMX_KV_OK);
  }
  for (int i = 0; i < kMany; ++i) {
    shmemx_kv_request_wait(&requests[i]);
    CHECK(requests[i] == NULL);
    CHECK_AT(status, i, SHMEMX_KV_OK);
  }
  forget(kMany);
  for (int i = 0; i < kMany; ++i) {
    const Key key = key_of(me, i);
    shmemx_kv_get_nbr(kv, key.text, key.n, &values[i], sizeof(long), &lengths[i], &status[i], &requests[i]);
  }
  /* In whatever order they come. */
  int ended = 0;
  for (int i = 0; i < kMany; ++i) ended += requests[i] == NULL;
  for (;;) {
    const size_t which = shmemx_kv_request_wait_any(kMany, requests);
    if (which == kMany) break;
    CHECK_CMP(which, <, kMany);
    CHECK(requests[which] == NULL);
    CHECK_AT(status, which, SHMEMX_KV_OK);
    ++ended;
  }
  CHECK_EQ(ended, kMany);
  for (int i = 0; i < kMany; ++i) {
    CHECK_AT(values, i, i);
    CHECK_AT(lengths, i, sizeof(long));
    CHECK_EQ(shmemx_kv_request_test(&requests[i]), 1);
  }
  CHECK_EQ(shmemx_kv_request_wait_any(0, NULL), 0);
}

/* All kinds, found by test. */
static void test_kinds(shmemx_kv_t kv) {
  for (int i = 0; i < 2; ++i) CHECK_FOR(i, put_long(kv, key_of(me, i), i), SHMEMX_KV_OK);
  long old = -1, sum = -1;
  const long five = 5;
  const Key key = key_of(me, 1), other = key_of(me, kMany);
  shmemx_kv_request_t some[5];
  shmemx_kv_accumulate_nbr(kv, key.text, key.n, 0, SHMEMX_KV_INT64, SHMEMX_KV_ADD, &five, &old, &status[0],
                           &some[0]);
  shmemx_kv_upsert_nbr(kv, other.text, other.n, SHMEMX_KV_INT64, SHMEMX_KV_ADD, &five, &sum, &status[1],
                       &some[1]);
  shmemx_kv_insert_nbr(kv, key.text, key.n, &five, sizeof five, &status[2], &some[2]);
  shmemx_kv_update_nbr(kv, key.text, key.n, &five, sizeof five, &status[3], &some[3]);
  shmemx_kv_remove_nbr(kv, key.text, key.n, &status[4], &some[4]);
  for (int left = 5; left > 0;) {
    left = 0;
    for (int i = 0; i < 5; ++i) left += !shmemx_kv_request_test(&some[i]);
  }
  CHECK_EQ(old, 1);
  CHECK_EQ(sum, 0);
  for (int i = 0; i < 5; ++i) CHECK_AT(status, i, i == 2 ? SHMEMX_KV_EXISTS : SHMEMX_KV_OK);
  CHECK_EQ(contains_key(kv, key), SHMEMX_KV_NOT_FOUND);
  CHECK_EQ(remove_key(kv, other), SHMEMX_KV_OK);
  /* A value that the table has no room for. */
  const char longer[100] = "";
  shmemx_kv_put_nbr(kv, key.text, key.n, longer, sizeof longer, &status[0], &some[0]);
  CHECK_EQ(status[0], SHMEMX_KV_TOO_LARGE);
  CHECK(some[0] == NULL);
}

/* quiet, shmem_quiet and barriers complete requests, which may then be ended; and they complete by
 * themselves. */
static void test_completed_by_others(shmemx_kv_t kv) {
  for (int round = 0; round < 3 * npes; ++round) {
    const Key key = key_of(me, 400 + round);
    const long value = round;
    shmemx_kv_request_t request, batch;
    shmemx_kv_put_nbr(kv, key.text, key.n, &value, sizeof value, &status[0], &request);
    for (int i = 0; i < kMany; ++i) keys[i] = -(1000L * (me + 1) + i), values[i] = round;
    shmemx_kv_put_batch_nbi(kv, kMany, keys, sizeof(long), values, sizeof(long), &status[1], &batch);
    if (round % 3 == 0)
      shmemx_kv_quiet(kv);
    else if (round % 3 == 1)
      shmem_quiet();
    else
      shmem_barrier_all();
    expect_all(kMany + 1, SHMEMX_KV_OK);
    CHECK_EQ(shmemx_kv_request_test(&request), 1);
    CHECK_EQ(shmemx_kv_request_test(&batch), 1);
    /* Of which nobody wants a request. */
    shmemx_kv_put_batch_nbi(kv, kMany, keys, sizeof(long), values, sizeof(long), status, NULL);
    shmemx_kv_put_nbr(kv, key.text, key.n, &value, sizeof value, NULL, NULL);
    shmemx_kv_quiet(kv);
    expect_all(kMany, SHMEMX_KV_OK);
  }
  for (int i = 0; i < kMany; ++i) CHECK_FOR(i, shmemx_kv_remove(kv, &keys[i], sizeof(long)), SHMEMX_KV_OK);
}

/* Each kind of batch, nonblocking, wider than a packet. */
static void test_batches(shmemx_kv_t kv) {
  shmemx_kv_request_t request;
  for (int i = 0; i < kWide; ++i) keys[i] = (long)me << 32 | i, values[i] = 10L * i;
  shmemx_kv_insert_batch_nbi(kv, kWide, keys, sizeof(long), values, sizeof(long), status, &request);
  shmemx_kv_request_wait(&request);
  expect_all(kWide, SHMEMX_KV_OK);
  forget(kWide);
  shmemx_kv_get_batch_nbi(kv, kWide, keys, sizeof(long), values, sizeof(long), lengths, status, &request);
  shmemx_kv_request_wait(&request);
  expect_all(kWide, SHMEMX_KV_OK);
  for (int i = 0; i < kWide; ++i) {
    CHECK_AT(values, i, 10L * i);
    CHECK_AT(lengths, i, sizeof(long));
  }
}

/* Words of those that are there, and what is as expected, likewise. */
static void test_word_batches(shmemx_kv_t kv) {
  shmemx_kv_request_t request;
  static long operands[kWide], wanted[kWide];
  for (int i = 0; i < kWide; ++i) operands[i] = 1 + i % 3;
  CHECK_EQ(shmemx_kv_accumulate_batch(kv, kWide, keys, sizeof(long), 0, SHMEMX_KV_INT64, SHMEMX_KV_ADD,
                                      operands, olds, status),
           SHMEMX_KV_OK);
  expect_all(kWide, SHMEMX_KV_OK);
  for (int i = 0; i < kWide; ++i) CHECK_AT(olds, i, 10L * i);
  shmemx_kv_accumulate_batch_nbi(kv, kWide, keys, sizeof(long), 0, SHMEMX_KV_INT64, SHMEMX_KV_ADD, operands,
                                 olds, status, &request);
  while (!shmemx_kv_request_test(&request)) usleep(10);
  expect_all(kWide, SHMEMX_KV_OK);
  for (int i = 0; i < kWide; ++i) CHECK_AT(olds, i, 10L * i + operands[i]);
  /* Every second one is as expected. */
  for (int i = 0; i < kWide; ++i) wanted[i] = 10L * i + 2 * operands[i] + i % 2, values[i] = 7L * i;
  CHECK_EQ(shmemx_kv_compare_swap_batch(kv, kWide, keys, sizeof(long), 0, sizeof(long), wanted, values, olds,
                                        status),
           SHMEMX_KV_MISMATCH);
  for (int i = 0; i < kWide; ++i) {
    CHECK_AT(status, i, i % 2 == 0 ? SHMEMX_KV_OK : SHMEMX_KV_MISMATCH);
    CHECK_AT(olds, i, 10L * i + 2 * operands[i]);
  }
  shmemx_kv_compare_swap_batch_nbi(kv, kWide, keys, sizeof(long), 0, sizeof(long), olds, values, olds, status,
                                   &request);
  shmemx_kv_request_wait(&request);
  for (int i = 0; i < kWide; ++i) {
    CHECK_AT(status, i, i % 2 == 1 ? SHMEMX_KV_OK : SHMEMX_KV_MISMATCH);
    CHECK_AT(olds, i, i % 2 == 1 ? 10L * i + 2 * operands[i] : 7L * i);
  }
  shmemx_kv_update_batch_nbi(kv, kWide, keys, sizeof(long), values, sizeof(long), NULL, &request);
  shmemx_kv_contains_batch_nbi(kv, kWide, keys, sizeof(long), status, NULL); /* after it */
  shmemx_kv_upsert_batch_nbi(kv, kWide, keys, sizeof(long), SHMEMX_KV_INT64, SHMEMX_KV_ADD, operands, olds,
                             NULL, NULL);
  shmemx_kv_quiet(kv);
  shmemx_kv_request_wait(&request);
  expect_all(kWide, SHMEMX_KV_OK);
  for (int i = 0; i < kWide; ++i) CHECK_AT(olds, i, 7L * i);
  shmemx_kv_remove_batch_nbi(kv, kWide, keys, sizeof(long), status, &request);
  shmemx_kv_request_wait(&request);
  expect_all(kWide, SHMEMX_KV_OK);
  shmemx_kv_remove_batch_nbi(kv, kWide, keys, sizeof(long), status, &request);
  shmemx_kv_request_wait(&request);
  expect_all(kWide, SHMEMX_KV_NOT_FOUND);
  CHECK_EQ(
      shmemx_kv_compare_swap_batch(kv, 2, keys, sizeof(long), 0, sizeof values / 2, values, values, NULL, status),
      SHMEMX_KV_NOT_FOUND);
  CHECK_EQ(shmemx_kv_put_batch(kv, 0, NULL, 8, NULL, 8, NULL), SHMEMX_KV_OK);
  shmemx_kv_put_batch_nbi(kv, 2, keys, sizeof(long), values, sizeof values / 2, status, &request);
  CHECK(request == NULL);
  expect_all(2, SHMEMX_KV_TOO_LARGE);
}

/* Many of them under way, ended in another order, without statuses. */
static void test_several(shmemx_kv_t kv) {
  enum { kBatches = 16, kEach = 64 };
  static long all[kBatches][kEach], found[kBatches][kEach];
  shmemx_kv_request_t requests[kBatches];
  for (int b = 0; b < kBatches; ++b) {
    for (int i = 0; i < kEach; ++i) all[b][i] = (long)me << 32 | (b * kEach + i);
    shmemx_kv_put_batch_nbi(kv, kEach, all[b], sizeof(long), all[b], sizeof(long), NULL, &requests[b]);
  }
  for (int b = kBatches; b-- > 0;) shmemx_kv_request_wait(&requests[b]);
  for (int b = 0; b < kBatches; ++b)
    shmemx_kv_get_batch_nbi(kv, kEach, all[b], sizeof(long), found[b], sizeof(long), NULL, NULL,
                            &requests[b]);
  for (int left = kBatches; left > 0; --left) {
    const size_t b = shmemx_kv_request_wait_any(kBatches, requests);
    if (b == kBatches) break; /* the others were on this node */
    for (int i = 0; i < kEach; ++i) CHECK_AT(found[b], i, all[b][i]);
  }
  for (int b = 0; b < kBatches; ++b) {
    shmemx_kv_request_wait(&requests[b]);
    for (int i = 0; i < kEach; ++i) CHECK_AT(found[b], i, all[b][i]);
    CHECK_EQ(shmemx_kv_remove_batch(kv, kEach, all[b], sizeof(long), NULL), SHMEMX_KV_OK);
  }
}

static shmemx_kv_call_t call_on(int call, const Key* key) {
  const shmemx_kv_call_t made = {.call = call, .key = key->text, .key_bytes = key->n, .status = -1};
  return made;
}

enum { kCalls = 12, kGroups = 20 };
static shmemx_kv_call_t calls[kGroups][kCalls];
static const int64_t one = 1;

/* All calls on one key, whose values have n bytes of the `most` at `at`. */
static void make_calls(shmemx_kv_call_t* c, const Key* key, unsigned char* at, size_t n, size_t most) {
  static const int kinds[kCalls] = {
      SHMEMX_KV_TAKE,          SHMEMX_KV_CONTAINS,   SHMEMX_KV_INSERT,       SHMEMX_KV_GET,
      SHMEMX_KV_GET_OR_INSERT, SHMEMX_KV_EXCHANGE,   SHMEMX_KV_COMPARE_SWAP, SHMEMX_KV_UPDATE,
      SHMEMX_KV_PUT,           SHMEMX_KV_ACCUMULATE, SHMEMX_KV_TAKE,         SHMEMX_KV_INSERT_OR_UPDATE};
  for (int i = 0; i < kCalls; ++i) {
    c[i] = call_on(kinds[i], key);
    c[i].val = at + most * (size_t)(i == 5 || i == 7 || i == 8);
    c[i].value_bytes = n;
    c[i].room = most;
    c[i].old_bytes = 99;
  }
  c[0].old = c[3].old = at + 2 * most;
  c[4].old = at + 3 * most;
  c[5].old = at + 4 * most;
  c[6].expected = at; /* not any more */
  c[9].val = &one, c[9].type = SHMEMX_KV_INT64, c[9].op = SHMEMX_KV_ADD, c[9].old = at + 5 * most;
  c[10].old = at + 6 * most;
}

/* An operation a key, in keys and values of any lengths: those on one key are done in their order. */
static void test_mixed(size_t most, int nonblocking) {
  shmemx_kv_t kv = table_of(48, most, 1000);
  static Key names[kGroups];
  unsigned char* bytes = calloc(kGroups, 8 * most);
  for (int g = 0; g < kGroups; ++g) {
    unsigned char* at = bytes + (size_t)g * 8 * most;
    const size_t n = 8 + (size_t)g * (most - 8) / kGroups;
    make_bytes(at, n, (uint64_t)g + 1);
    make_bytes(at + most, n, (uint64_t)g + 2);
    names[g] = key_of(me, g);
    make_calls(calls[g], &names[g], at, n, most);
  }
  if (nonblocking) {
    shmemx_kv_request_t request;
    shmemx_kv_batch_nbi(kv, kGroups * kCalls, calls[0], &request);
    shmemx_kv_request_wait(&request);
  } else {
    CHECK_EQ(shmemx_kv_batch(kv, kGroups * kCalls, calls[0]), SHMEMX_KV_NOT_FOUND);
  }
  const int wanted[kCalls] = {
      SHMEMX_KV_NOT_FOUND, SHMEMX_KV_NOT_FOUND, SHMEMX_KV_OK, SHMEMX_KV_OK, SHMEMX_KV_OK, SHMEMX_KV_OK,
      SHMEMX_KV_MISMATCH,  SHMEMX_KV_OK,        SHMEMX_KV_OK, SHMEMX_KV_OK, SHMEMX_KV_OK, SHMEMX_KV_INSERTED};
  for (int g = 0; g < kGroups; ++g) {
    const unsigned char* at = bytes + (size_t)g * 8 * most;
    const size_t n = calls[g][2].value_bytes;
    for (int i = 0; i < kCalls; ++i) CHECK_FOR(100 * g + i, calls[g][i].status, wanted[i]);
    for (int i = 3; i < 6; ++i) {
      CHECK_EQ(calls[g][i].old_bytes, n);
      CHECK_MADE(at + most * (size_t)(i - 1), n, (uint64_t)g + 1);
    }
    CHECK_BYTES(at + 5 * most, at + most, 8);
    CHECK_EQ(calls[g][10].old_bytes, n);
    CHECK_EQ(memcmp(at + 6 * most + 8, at + most + 8, n - 8), 0);
  }
  shmem_barrier_all();
  CHECK_EQ(shmemx_kv_count(kv), (uint64_t)kGroups * (uint64_t)npes);
  Key none = key_of(me, 5000);
  shmemx_kv_call_t last[2] = {call_on(SHMEMX_KV_PUT, &none), call_on(SHMEMX_KV_COMPARE_SWAP, &none)};
  for (int i = 0; i < 2; ++i) last[i].val = last[i].expected = bytes, last[i].value_bytes = most + 1;
  CHECK_EQ(shmemx_kv_batch(kv, 2, last), SHMEMX_KV_TOO_LARGE);
  CHECK_EQ(last[1].status, SHMEMX_KV_NOT_FOUND);
  CHECK_EQ(shmemx_kv_batch(kv, 0, NULL), SHMEMX_KV_OK);
  free(bytes);
  shmemx_kv_destroy(kv);
}

/* One that is complete may be ended when its table is gone. */
static void test_after_the_table(void) {
  shmemx_kv_t kv = table_of(48, 8, 1000);
  const Key key = key_of(me, 1);
  const long value = 1;
  shmemx_kv_request_t request;
  shmemx_kv_put_nbr(kv, key.text, key.n, &value, sizeof value, &status[0], &request);
  shmemx_kv_destroy(kv);
  CHECK_EQ(status[0], SHMEMX_KV_OK);
  shmemx_kv_request_wait(&request);
  CHECK(request == NULL);
}

int main(void) {
  shmem_init();
  me = shmem_my_pe(), npes = shmem_n_pes();
  shmemx_kv_t kv = table_of(48, 8, 20000);
  test_each(kv);
  test_kinds(kv);
  test_completed_by_others(kv);
  test_batches(kv);
  test_word_batches(kv);
  test_several(kv);
  shmemx_kv_destroy(kv);
  for (int nonblocking = 0; nonblocking < 2; ++nonblocking) {
    test_mixed(16, nonblocking);
    test_mixed(300, nonblocking);
    test_mixed(12000, nonblocking);
  }
  test_after_the_table();
  shmem_finalize();
  return 0;
}
