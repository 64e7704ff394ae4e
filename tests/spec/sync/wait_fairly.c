/* SPDX-License-Identifier: BSD-3-Clause */
/* Semantics 101: repeated calls return every element that satisfies, and the work of many PEs is picked up
 * once each.
 */
#include <string.h>

#include "check.h"

enum { kCount = 64 };
static long words[kCount];

static void test_any_is_fair(void) {
  int seen[kCount] = {0};
  for (int i = 0; i < kCount; ++i) words[i] = 1;
  for (int i = 0; i < 20 * kCount; ++i) ++seen[shmem_long_test_any(words, kCount, NULL, SHMEM_CMP_EQ, 1)];
  for (int i = 0; i < kCount; ++i) CHECK_CMP_AT(seen, i, >, 0);
  memset(seen, 0, sizeof seen);
  for (int i = 0; i < 20 * kCount; ++i)
    ++seen[shmem_long_wait_until_any(words, kCount, NULL, SHMEM_CMP_EQ, 1)];
  for (int i = 0; i < kCount; ++i) CHECK_CMP_AT(seen, i, >, 0);
}

/* Calls on several arrays in turn, or with several conditions on one, must not keep each other from an
 * element. */
static size_t any(int kind, long* array, size_t count, long value) {
  const long values[4] = {value, value, value, value};
  switch (kind) {
    case 0: return shmem_long_wait_until_any(array, count, NULL, SHMEM_CMP_EQ, value);
    case 1: return shmem_long_test_any(array, count, NULL, SHMEM_CMP_EQ, value);
    case 2: return shmem_long_wait_until_any_vector(array, count, NULL, SHMEM_CMP_EQ, values);
    default: return shmem_long_test_any_vector(array, count, NULL, SHMEM_CMP_EQ, values);
  }
}

static void test_arrays_in_turn(void) {
  static long both[2] = {1, 1}, last[2] = {0, 1}, unlike[4] = {1, 2, 2, 1};
  for (int kind = 0; kind < 4; ++kind) {
    int seen[2] = {0}, ones[4] = {0}, all[2][2] = {{0}};
    for (int i = 0; i < 1000; ++i) {
      ++seen[any(kind, both, 2, 1)];
      CHECK_EQ(any(kind, last, 2, 1), 1);
    }
    for (int i = 0; i < 1000; ++i) {
      ++all[0][any(kind, both, 2, 1)];
      ++all[1][any(kind, words, 2, 1)];
    }
    for (int i = 0; kind % 2 == 1 && i < 1000; ++i) { /* one array, two conditions */
      ++ones[any(kind, unlike, 4, 1 + i % 2)];
    }
    for (int i = 0; i < 2; ++i) {
      CHECK_CMP_AT(seen, i, >, 0);
      CHECK_CMP_AT(all[0], i, >, 0);
      CHECK_CMP_AT(all[1], i, >, 0);
    }
    for (int i = 0; kind % 2 == 1 && i < 4; ++i) CHECK_CMP_AT(ones, i, >, 0);
  }
}

static void test_some_are_unique(void) {
  size_t found[kCount];
  char seen[kCount] = {0};
  for (int i = 0; i < kCount; ++i) words[i] = i % 3;
  const size_t count = shmem_long_test_some(words, kCount, found, NULL, SHMEM_CMP_EQ, 1);
  CHECK_EQ(count, 21);
  for (size_t i = 0; i < count; ++i) {
    CHECK_AT(words, found[i], 1);
    CHECK_FOR(i, seen[found[i]]++, 0);
  }
}

/* The usual loop: take what has come, mask it, go on until all have come. */
static void test_all_senders_are_heard(int some) {
  static long boxes[kCount];
  const int per_pe = kCount / shmem_n_pes();
  int status[kCount], left = per_pe * shmem_n_pes();
  memset(boxes, 0, sizeof boxes);
  for (int i = 0; i < kCount; ++i) status[i] = i >= left;
  shmem_barrier_all();
  for (int i = 0; i < per_pe; ++i)
    for (int pe = 0; pe < shmem_n_pes(); ++pe)
      shmem_long_p(&boxes[shmem_my_pe() * per_pe + i], shmem_my_pe() + 1, pe);
  while (left > 0) {
    size_t found[kCount], count = 1;
    if (some) count = shmem_long_wait_until_some(boxes, kCount, found, status, SHMEM_CMP_NE, 0);
    if (!some) found[0] = shmem_long_wait_until_any(boxes, kCount, status, SHMEM_CMP_NE, 0);
    for (size_t i = 0; i < count; ++i) {
      CHECK_FOR(i, status[found[i]]++, 0);
      CHECK_AT(boxes, found[i], (long)found[i] / per_pe + 1);
    }
    left -= (int)count;
  }
  CHECK_EQ(shmem_long_test_any(boxes, kCount, status, SHMEM_CMP_NE, 0), SIZE_MAX);
  shmem_barrier_all();
}

int main(void) {
  shmem_init();
  test_any_is_fair();
  test_arrays_in_turn();
  test_some_are_unique();
  for (int turn = 0; turn < rounds(50, 5); ++turn) {
    test_all_senders_are_heard(0);
    test_all_senders_are_heard(1);
  }
  shmem_finalize();
  return 0;
}
