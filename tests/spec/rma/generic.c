/* SPDX-License-Identifier: BSD-3-Clause */
/* Semantics 136, 137: the names without a type, with arrays, constants, and a context as well as without. */
#include "check.h"

static long words[8];
static double reals[4];
static uint64_t signal_word;
static int numbers[4];

static void test_transfers(void) {
  const long values[4] = {1, 2, 3, 4};
  const int pe = right_pe();
  shmem_put(words, values, 4, pe);
  shmem_put(SHMEM_CTX_DEFAULT, &words[4], values, 2, pe);
  shmem_p(&words[6], 6, pe);
  shmem_p(SHMEM_CTX_DEFAULT, &words[7], 7L, pe);
  shmem_iput(reals, ((const double[]){1, 2, 3}), 1, 2, 2, pe);
  shmem_barrier_all();
  for (int i = 0; i < 4; ++i) CHECK_AT(words, i, i + 1);
  CHECK_EQ(words[4], 1);
  CHECK_EQ(words[5], 2);
  CHECK_EQ(words[6], 6);
  CHECK_EQ(words[7], 7);
  CHECK_EQ(reals[0], 1);
  CHECK_EQ(reals[1], 3);
  CHECK_EQ(reals[2], 0);
  long back[4] = {0};
  shmem_get(back, words, 4, pe);
  CHECK_EQ(back[3], 4);
  shmem_get(SHMEM_CTX_DEFAULT, back, (const long*)words, 2, pe);
  shmem_get_nbi(back, &words[6], 2, pe);
  shmem_quiet();
  CHECK_EQ(back[0], 6);
  CHECK_EQ(back[1], 7);
  const long* constant = words;
  CHECK_OF_PE(pe, shmem_g(constant, pe), 1);
  CHECK_OF_PE(pe, shmem_g(SHMEM_CTX_DEFAULT, constant, pe), 1);
  CHECK_OF_PE(pe, shmem_g(reals, pe), 1.0);
  shmem_barrier_all();
}

static void test_atomics_and_waits(void) {
  const int pe = right_pe();
  shmem_atomic_add(numbers, 3, pe);
  shmem_atomic_inc(SHMEM_CTX_DEFAULT, &numbers[0], pe);
  shmem_wait_until(&numbers[0], SHMEM_CMP_EQ, 4);
  CHECK_EQ(shmem_atomic_fetch((const int*)numbers, shmem_my_pe()), 4);
  CHECK_EQ(shmem_atomic_compare_swap(&numbers[0], 4, 5, shmem_my_pe()), 4);
  CHECK_EQ(shmem_test(&numbers[0], SHMEM_CMP_EQ, 5), 1);
  shmem_barrier_all();
  shmem_put_signal(&words[0], &(const long){44}, 1, &signal_word, 2, SHMEM_SIGNAL_ADD, pe);
  shmem_signal_add(&signal_word, 3, pe);
  shmem_signal_add(SHMEM_CTX_DEFAULT, &signal_word, 4, pe);
  CHECK_EQ(shmem_signal_wait_until(&signal_word, SHMEM_CMP_EQ, 9), 9);
  shmem_barrier_all();
  shmem_signal_set(SHMEM_CTX_DEFAULT, &signal_word, 9, pe);
  shmem_quiet();
  shmem_barrier_all();
  CHECK_EQ(signal_word, 9);
  CHECK_EQ(words[0], 44);
  shmem_barrier_all();
}

static void test_functions_of_the_same_name(void) { /* Semantics 137 */
  void (*wait)(long*, int, long) = &shmem_wait_until;
  void (*add)(uint64_t*, uint64_t, int) = shmem_signal_add;
  wait(&words[0], SHMEM_CMP_EQ, 44);
  (shmem_wait_until)(&words[0], SHMEM_CMP_GE, 44);
  add(&signal_word, 1, right_pe());
  (shmem_signal_set)(&signal_word, 1, right_pe());
  shmem_barrier_all();
}

int main(void) {
  shmem_init();
  test_transfers();
  test_atomics_and_waits();
  test_functions_of_the_same_name();
  shmem_finalize();
  return 0;
}
