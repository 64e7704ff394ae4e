/* SPDX-License-Identifier: BSD-3-Clause */
/* Semantics 82, 83, 106: a fence orders atomics after puts and after each other; a quiet completes them. */
#include "check.h"

static long data[64], flag, number;

/* The left PE puts, fences and then adds to the flag: whoever sees the flag sees the data. */
static void test_put_then_atomic(int times) {
  static long acknowledged;
  for (int i = 1; i <= times; ++i) {
    for (int k = 0; k < 64; k += 9) shmem_long_p(&data[k], i + k, right_pe());
    shmem_fence();
    if (i % 2 == 0) shmem_long_atomic_inc(&flag, right_pe());
    if (i % 2 != 0) shmem_long_atomic_set(&flag, i, right_pe());
    shmem_long_wait_until(&flag, SHMEM_CMP_GE, i);
    for (int k = 0; k < 64; k += 9) CHECK_AT(data, k, i + k);
    shmem_long_atomic_inc(&acknowledged, left_pe());
    shmem_long_wait_until(&acknowledged, SHMEM_CMP_GE, i);
  }
  shmem_barrier_all();
}

/* Semantics 67: only a fence between them orders two updates of a word. Set, fence, add, fence, put: the
 * result is that of the program's order. */
static void test_atomic_then_atomic(int times) {
  static long words[64];
  const int me = shmem_my_pe();
  for (int i = 0; i < times; ++i) {
    shmem_long_atomic_set(&words[me], i, right_pe());
    shmem_fence();
    shmem_long_atomic_add(&words[me], 5, right_pe());
    shmem_fence();
    if (i % 3 == 0) shmem_long_p(&words[me], 1000, right_pe());
    shmem_quiet();
    CHECK_EQ(shmem_long_g(&words[me], right_pe()), i % 3 == 0 ? 1000 : i + 5);
  }
  shmem_barrier_all();
}

/* Updates of one word that follow each other may travel as one: it does what they would have done. */
static void test_updates_of_one_word(int times) {
  static uint64_t words[4];
  const int to = right_pe();
  for (int session = 0; session < 2; ++session) {
    if (session) shmem_ctx_session_start(SHMEM_CTX_DEFAULT, SHMEM_CTX_SESSION_BATCH, NULL, 0);
    for (int i = 0; i < times; ++i) {
      for (int k = 0; k < 4; ++k) shmem_uint64_atomic_set(&words[k], 0xf0, to);
      shmem_quiet();
      for (uint64_t k = 0; k < 2; ++k) shmem_uint64_atomic_add(&words[0], 7 + k, to);
      for (uint64_t k = 0; k < 2; ++k) shmem_uint64_atomic_and(&words[1], k ? 0x3c : 0x78, to);
      for (uint64_t k = 0; k < 2; ++k) shmem_uint64_atomic_or(&words[2], k ? 0x06 : 0x03, to);
      for (uint64_t k = 0; k < 2; ++k) shmem_uint64_atomic_xor(&words[3], k ? 0x06 : 0x03, to);
      shmem_quiet();
      const uint64_t expected[] = {0xff, 0x30, 0xf7, 0xf5};
      for (int k = 0; k < 4; ++k) CHECK_FOR(k, shmem_uint64_g(&words[k], to), expected[k]);
    }
    if (session) shmem_ctx_session_stop(SHMEM_CTX_DEFAULT);
  }
  shmem_barrier_all();
}

static void test_quiet_completes(int times) {
  long fetched[8];
  number = 0;
  shmem_barrier_all();
  for (int i = 0; i < times; ++i) {
    for (int k = 0; k < 8; ++k) fetched[k] = -1;
    for (int k = 0; k < 8; ++k) shmem_long_atomic_fetch_inc_nbi(&fetched[k], &number, right_pe());
    shmem_quiet();
    long sum = 0;
    for (int k = 0; k < 8; ++k) sum += fetched[k];
    CHECK_EQ(sum, 8 * (8L * i) + 28); /* each of 8i .. 8i+7 once */
  }
  shmem_barrier_all();
  CHECK_EQ(number, 8L * times);
}

/* ompi#6924: a target that only spins on its own word must not stall the PE that writes it. */
static void test_owner_spins(int times) {
  static long ping, pong;
  const double begin = now_seconds();
  for (int i = 1; i <= times; ++i) {
    shmem_long_atomic_set(&ping, i, right_pe());
    while (*(volatile long*)&ping != i) CHECK_CMP(now_seconds() - begin, <, 50);
    shmem_long_atomic_add(&pong, 1, left_pe());
    while (shmem_long_atomic_fetch(&pong, shmem_my_pe()) != i) CHECK_CMP(now_seconds() - begin, <, 50);
  }
  shmem_barrier_all();
}

int main(void) {
  shmem_init();
  test_put_then_atomic(rounds(5000, 200));
  test_atomic_then_atomic(rounds(2000, 100));
  test_updates_of_one_word(rounds(500, 30));
  test_quiet_completes(rounds(2000, 100));
  test_owner_spins(rounds(500, 50));
  shmem_finalize();
  return 0;
}
