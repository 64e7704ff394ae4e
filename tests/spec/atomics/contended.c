/* SPDX-License-Identifier: BSD-3-Clause */
/* Semantics 79, 82: all PEs on the same words: nothing is lost, and no two get the same answer. */
#include <string.h>

#include "check.h"

enum { kMost = 100000 };
static long counter, locked, protected_word;
static unsigned bits32;
static uint64_t bits64;
static float real_token;

/* Every ticket is drawn once. */
static void test_tickets(long* word, int times) {
  static unsigned char drawn[kMost];
  memset(drawn, 0, sizeof drawn);
  *word = 0;
  shmem_barrier_all();
  for (int i = 0; i < times; ++i) {
    const long ticket = shmem_long_atomic_fetch_inc(word, i % shmem_n_pes());
    CHECK_CMP(ticket, >=, 0);
    CHECK_CMP(ticket, <, kMost);
    shmem_uchar_p(&drawn[ticket], 1, (i % shmem_n_pes()));
  }
  shmem_barrier_all();
  const long all = *word;
  for (long ticket = 0; ticket < all; ++ticket) CHECK_AT(drawn, ticket, 1);
  shmem_barrier_all();
}

static void test_sums(long* word, int times) {
  *word = 0;
  shmem_barrier_all();
  long fetched[16];
  for (int i = 0; i < times; ++i) {
    shmem_long_atomic_add(word, 1, 0);
    shmem_long_atomic_fetch_add(word, 2, 0);
    shmem_long_atomic_fetch_add_nbi(&fetched[i % 16], word, 4, 0);
    shmem_long_atomic_inc(word, 0);
  }
  shmem_barrier_all();
  if (shmem_my_pe() == 0) CHECK_EQ(*word, 8L * times * shmem_n_pes());
  shmem_barrier_all();
}

/* A spin lock of compare_swap protects a word that is changed by get and put. */
static void test_lost_updates(int times) {
  for (int i = 0; i < times; ++i) {
    while (shmem_long_atomic_compare_swap(&locked, 0, shmem_my_pe() + 1, 0) != 0) {
    }
    shmem_long_p(&protected_word, shmem_long_g(&protected_word, 0) + 1, 0);
    shmem_quiet();
    CHECK_EQ(shmem_long_atomic_swap(&locked, 0, 0), shmem_my_pe() + 1);
  }
  shmem_barrier_all();
  CHECK_EQ(shmem_long_g(&protected_word, 0), (long)times * shmem_n_pes());
  shmem_barrier_all();
}

/* Each PE toggles its own bit of words that all share. */
static void test_bits(int times) {
  const unsigned mine = 1u << shmem_my_pe();
  for (int i = 0; i < times; ++i) {
    CHECK_EQ(shmem_uint_atomic_fetch_or(&bits32, mine, 0) & mine, 0);
    CHECK_CMP(shmem_uint_atomic_fetch_xor(&bits32, mine, 0) & mine, !=, 0);
    shmem_uint64_atomic_or(&bits64, (uint64_t)mine << 32, 0);
    CHECK_CMP(shmem_uint64_atomic_fetch_and(&bits64, ~((uint64_t)mine << 32), 0) >> 32 & mine, !=, 0);
  }
  shmem_barrier_all();
  CHECK_EQ(shmem_uint_g(&bits32, 0), 0);
  CHECK_EQ(shmem_uint64_g(&bits64, 0), 0);
  shmem_barrier_all();
}

/* A token of each PE goes round by swap: none is ever there twice, none gets lost. */
static void test_swapped_tokens(int times) {
  float hand = (float)(shmem_my_pe() + 1);
  static float sum_of_hands[64];
  for (int i = 0; i < times; ++i) hand = shmem_float_atomic_swap(&real_token, hand, 0);
  shmem_barrier_all();
  shmem_float_p(&sum_of_hands[shmem_my_pe()], hand, 0);
  shmem_barrier_all();
  if (shmem_my_pe() != 0) return;
  float sum = real_token;
  for (int pe = 0; pe < shmem_n_pes(); ++pe) sum += sum_of_hands[pe];
  CHECK_EQ(sum, (float)(shmem_n_pes() * (shmem_n_pes() + 1) / 2));
}

/* The target updates its own word by the same calls while others do (semantics 79), and reads it by a test.
 */
static void test_owner_takes_part(int times) {
  static long word;
  for (int i = 0; i < times; ++i) shmem_long_atomic_inc(&word, 0);
  const long all = (long)times * shmem_n_pes();
  if (shmem_my_pe() == 0) shmem_long_wait_until(&word, SHMEM_CMP_EQ, all);
  shmem_barrier_all();
}

int main(void) {
  shmem_init();
  long* heap_word = shmem_malloc(sizeof *heap_word);
  const int times = rounds(10000, 500);
  test_tickets(heap_word, times);
  test_tickets(&counter, times);
  test_sums(heap_word, times);
  test_sums(&counter, times);
  test_lost_updates(rounds(2000, 100));
  test_bits(rounds(5000, 200));
  test_swapped_tokens(times);
  test_owner_takes_part(times);
  shmem_finalize();
  return 0;
}
