/* SPDX-License-Identifier: BSD-3-Clause */
/* All PEs raise, or lower, the same word by the fetch-max and fetch-min of shmemx.h: none of its values is
 * lost, and none comes twice. */
#include <shmemx.h>
#include <string.h>

#include "check.h"

enum { kMost = 100000 };
enum Form { kBlocking, kLater, kForms };

/* On PE 0: which numbers the word has had, and which of them somebody has got as the old one when he changed
 * it. */
static int was_stored[kMost + 1], was_replaced[kMost + 1];

/* The numbers climb from 0 to times * PEs.  Where the word is to go down, it holds what is missing to kMost.
 */
static long mirrored(long number, int up) { return up ? number : kMost - number; }

static long number_of(int i) { return 1 + (long)i * shmem_n_pes() + shmem_my_pe(); }

static void begin(void) {
  memset(was_stored, 0, sizeof was_stored);
  memset(was_replaced, 0, sizeof was_replaced);
  shmem_barrier_all();
}

/* The numbers that the word has had are a chain: each but the last was replaced once, by one that was stored.
 */
static void check_chain(const long* old, int times) {
  for (int i = 0; i < times; ++i) {
    CHECK_CMP_AT(old, i, >=, 0);
    CHECK_CMP_AT(old, i, <=, kMost);
    if (old[i] >= number_of(i)) continue;
    CHECK_FOR(i, shmem_int_atomic_fetch_inc(&was_replaced[old[i]], 0), 0);
    shmem_int_atomic_inc(&was_stored[number_of(i)], 0);
  }
  shmem_barrier_all();
  const long last = (long)times * shmem_n_pes();
  for (long number = 0; number <= last && shmem_my_pe() == 0; ++number) {
    CHECK_AT(was_replaced, number, number != last && (number == 0 || was_stored[number]));
  }
  if (shmem_my_pe() == 0) CHECK_AT(was_stored, last, 1);
  shmem_barrier_all();
}

#define TEST_CHAIN(NAME, T)                                                                    \
  static T word_##NAME;                                                                        \
  static void test_chain_##NAME(int up, enum Form form, int times) {                           \
    static T fetched[kMost];                                                                   \
    static long old[kMost];                                                                    \
    word_##NAME = (T)mirrored(0, up);                                                          \
    begin();                                                                                   \
    for (int i = 0; i < times; ++i) CHANGE(NAME, T)                                            \
    shmem_quiet();                                                                             \
    for (int i = 0; i < times; ++i) {                                                          \
      old[i] = mirrored((long)fetched[i], up);                                                 \
      if (form == kBlocking && i > 0) {                                                        \
        CHECK_CMP_AT(old, i, >=, old[i - 1]);                                                  \
        CHECK_CMP_AT(old, i, >=, number_of(i - 1));                                            \
      }                                                                                        \
    }                                                                                          \
    check_chain(old, times);                                                                   \
    CHECK_EQ(shmem_##NAME##_g(&word_##NAME, 0), (T)mirrored(shmem_n_pes() * (long)times, up)); \
    shmem_barrier_all();                                                                       \
  }

#define CHANGE(NAME, T)                                                                                  \
  {                                                                                                      \
    const T mine = (T)mirrored(number_of(i), up);                                                        \
    if (form == kLater && up) shmemx_##NAME##_atomic_fetch_max_nbi(&fetched[i], &word_##NAME, mine, 0);  \
    if (form == kLater && !up) shmemx_##NAME##_atomic_fetch_min_nbi(&fetched[i], &word_##NAME, mine, 0); \
    if (form == kLater) continue;                                                                        \
    fetched[i] = up ? shmemx_##NAME##_atomic_fetch_max(&word_##NAME, mine, 0)                            \
                    : shmemx_##NAME##_atomic_fetch_min(&word_##NAME, mine, 0);                           \
  }

TEST_CHAIN(long, long)
TEST_CHAIN(uint, unsigned)
TEST_CHAIN(float, float)
TEST_CHAIN(double, double)

/* Without a result: every PE sends to the words of all. */
static void test_quietly(int times) {
  static long most, least;
  static double real;
  const int n = shmem_n_pes();
  most = least = 0, real = 0.5;
  shmem_barrier_all();
  for (int i = 0; i < times; ++i) {
    const long sum = 1 + (i * 7L + shmem_my_pe()) % times;
    shmemx_long_atomic_max(&most, sum, i % n);
    shmemx_long_atomic_min(&least, -sum, i % n);
    shmemx_double_atomic_max(&real, (double)i, (i + 1) % n);
  }
  for (int pe = 0; pe < n; ++pe) {
    shmemx_atomic_max(&most, (long)times + n - shmem_my_pe(), pe);
    shmemx_atomic_min(&least, -times - shmem_my_pe() - 1L, pe);
    shmemx_atomic_max(&real, (double)(times + shmem_my_pe()), pe);
  }
  shmem_barrier_all();
  CHECK_EQ(most, times + n);
  CHECK_EQ(least, -times - n);
  CHECK_EQ(real, (double)(times + n - 1));
  shmem_barrier_all();
}

/* Atomic with other operations, too: a maximum that changes nothing loses no addition. */
static void test_beside_additions(int times) {
  static long sum;
  sum = 0;
  shmem_barrier_all();
  for (int i = 0; i < times; ++i) {
    shmem_long_atomic_inc(&sum, 0);
    shmemx_long_atomic_max(&sum, -1, 0);
    CHECK_CMP(shmemx_long_atomic_fetch_min(&sum, kMost * 64L, 0), >=, 0);
  }
  shmem_barrier_all();
  CHECK_EQ(shmem_long_g(&sum, 0), (long)times * shmem_n_pes());
  shmem_barrier_all();
}

static void test_all(int times) {
  for (int up = 0; up < 2; ++up) {
    for (int form = 0; form < kForms; ++form) {
      test_chain_long(up, (enum Form)form, times);
      test_chain_uint(up, (enum Form)form, times);
      test_chain_float(up, (enum Form)form, times);
      test_chain_double(up, (enum Form)form, times);
    }
  }
  test_quietly(times);
  test_beside_additions(times);
}

int main(void) {
  shmem_init();
  const int times = rounds(5000, 200);
  test_all(times);
  shmem_ctx_session_start(SHMEM_CTX_DEFAULT, SHMEM_CTX_SESSION_BATCH, NULL, 0);
  test_all(times);
  shmem_ctx_session_stop(SHMEM_CTX_DEFAULT);
  shmem_finalize();
  return 0;
}
