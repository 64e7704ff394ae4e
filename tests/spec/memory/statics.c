/* SPDX-License-Identifier: BSD-3-Clause */
/* Global and static variables of the program are symmetric. */
#include <string.h>

#include "check.h"

long in_data = 5;
long in_bss;
static char before[3] = "ab", text[100000] = "begin";
static double reals[3] = {1.5, 2.5, 3.5};
static const long constant = 11, table[1000] = {1, 2, 3, [998] = 4, 5};
const double real_constant = 0.75;

static void test_values_survive_init(void) {
  CHECK_EQ(in_data, 5);
  CHECK_EQ(in_bss, 0);
  CHECK_STR(text, "begin");
  CHECK_STR(before, "ab");
  CHECK_EQ(reals[2], 3.5);
}

static long* static_of_a_function(void) {
  static long variable = 3;
  return &variable;
}

static void test_put_and_get(void) {
  const int me = shmem_my_pe();
  for (int pe = 0; pe < shmem_n_pes(); ++pe) {
    CHECK_OF_PE(pe, shmem_long_g(&in_data, pe), 5);
    CHECK_OF_PE(pe, shmem_long_g(static_of_a_function(), pe), 3);
    if (shmem_ptr(&in_data, pe) != NULL) CHECK_OF_PE(pe, *(long*)shmem_ptr(&in_data, pe), 5);
  }
  shmem_barrier_all();
  shmem_long_p(&in_data, 100 + me, right_pe());
  shmem_long_p(&in_bss, 200 + me, right_pe());
  shmem_long_p(static_of_a_function(), 300 + me, right_pe());
  shmem_double_p(&reals[1], 0.25, right_pe());
  shmem_putmem(&text[99990], "the end", 8, right_pe());
  shmem_barrier_all();
  CHECK_EQ(in_data, 100 + left_pe());
  CHECK_EQ(in_bss, 200 + left_pe());
  CHECK_EQ(*static_of_a_function(), 300 + left_pe());
  CHECK_EQ(reals[0], 1.5);
  CHECK_EQ(reals[1], 0.25);
  CHECK_EQ(reals[2], 3.5);
  CHECK_STR(&text[99990], "the end");
  CHECK_STR(text, "begin");
}

static void test_atomics(void) { /* Semantics 86 */
  static long counter;
  static float real = 1;
  for (int pe = 0; pe < shmem_n_pes(); ++pe) shmem_long_atomic_fetch_add(&counter, shmem_my_pe() + 1, pe);
  shmem_barrier_all();
  CHECK_EQ(counter, shmem_n_pes() * (shmem_n_pes() + 1) / 2);
  CHECK_EQ(shmem_float_atomic_swap(&real, 2, right_pe()), 1);
  shmem_barrier_all();
  CHECK_EQ(real, 2);
}

static void test_waiting(void) {
  static long flag;
  if (shmem_my_pe() == 0) shmem_long_p(&flag, 1, right_pe());
  shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 1);
  if (shmem_my_pe() != 0) shmem_long_p(&flag, 1, right_pe());
  shmem_barrier_all();
}

/* Variables that are const are symmetric like others: a source of any kind, but nothing else. */
static void test_constants(void) {
  static long got[1000], all[8 * 3];
  const int pes = shmem_n_pes();
  shmem_long_put(&in_bss, &constant, 1, right_pe());
  shmem_barrier_all();
  CHECK_EQ(in_bss, 11);
  for (int pe = 0; pe < pes; ++pe) {
    CHECK_EQ(shmem_addr_accessible(table, pe), 1);
    CHECK_OF_PE(pe, shmem_long_g(&table[999], pe), 5);
    CHECK_OF_PE(pe, shmem_double_g(&real_constant, pe), 0.75);
    CHECK_OF_PE(pe, shmem_long_atomic_fetch(&constant, pe), 11);
    memset(got, 0, sizeof got);
    shmem_long_get(got, table, 1000, pe);
    CHECK(memcmp(got, table, sizeof got) == 0);
    memset(got, 0, sizeof got);
    shmem_long_get_nbi(got, table, 1000, pe);
    shmem_long_iget(&got[500], table, 2, 1, 2, pe);
    shmem_quiet();
    CHECK(got[2] == 3 && got[999] == 5 && got[500] == 1 && got[502] == 2);
    const long* there = shmem_ptr(table, pe);
    CHECK((there != NULL) == (shmem_ptr(&in_bss, pe) != NULL));
    if (there != NULL) CHECK_OF_PE(pe, there[998], 4);
  }
  for (int n = 1; n <= 1000; n += 999) {
    CHECK_EQ(shmem_long_sum_reduce(SHMEM_TEAM_WORLD, got, table, (size_t)n), 0);
    for (int i = 0; i < n; ++i) CHECK_AT(got, i, pes * table[i]);
    CHECK_EQ(shmem_long_broadcast(SHMEM_TEAM_WORLD, got, table, (size_t)n, pes - 1), 0);
    for (int i = 0; i < n; ++i) CHECK_AT(got, i, table[i]);
    CHECK_EQ(shmem_long_sum_inscan(SHMEM_TEAM_WORLD, got, table, (size_t)n), 0);
    for (int i = 0; i < n; ++i) CHECK_AT(got, i, (shmem_my_pe() + 1) * table[i]);
  }
  CHECK_EQ(shmem_long_fcollect(SHMEM_TEAM_WORLD, all, table, 3), 0);
  for (int i = 0; i < 3 * pes; ++i) CHECK_AT(all, i, table[i % 3]);
}

int main(void) {
  test_values_survive_init();
  in_bss = 0;
  shmem_init();
  test_values_survive_init();
  shmem_barrier_all();
  test_put_and_get();
  test_atomics();
  test_waiting();
  test_constants();
  shmem_finalize();
  CHECK_EQ(in_bss, 11); /* they outlive the library */
  return 0;
}
