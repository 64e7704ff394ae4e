/* SPDX-License-Identifier: BSD-3-Clause */
/* Semantics 70, 72, 76: sources and targets of every kind of memory, transfers to oneself, and nothing at
 * all. */
#include <string.h>

#include "check.h"

enum { kCount = 100 };

static long variable[kCount], second_variable[kCount];
static long *block, *second_block;
static const long constants[4] = {1, 2, 3, 4};

static void fill(long* at, long salt) {
  for (int i = 0; i < kCount; ++i) at[i] = salt * 1000 + i;
}

static void expect(const long* at, long salt) {
  for (int i = 0; i < kCount; ++i) CHECK_AT(at, i, salt * 1000 + i);
}

/* Puts from `source` to `dest` of the right PE and gets it back to `local`. */
static void there_and_back(long* dest, long* source, long* local) {
  fill(source, shmem_my_pe() + 1);
  shmem_barrier_all();
  shmem_long_put(dest, source, kCount, right_pe());
  fill(source, 999); /* Semantics 66: the source may be reused at once */
  shmem_barrier_all();
  expect(dest, left_pe() + 1);
  shmem_long_get(local, dest, kCount, right_pe());
  expect(local, shmem_my_pe() + 1);
  shmem_barrier_all();
}

static void test_kinds(void) {
  long stack[kCount], stack2[kCount];
  long* private_block = malloc(sizeof stack);
  there_and_back(block, stack, stack2);
  there_and_back(block, private_block, second_block);
  there_and_back(block, variable, second_variable);
  there_and_back(block, second_block, private_block);
  there_and_back(variable, stack, stack2);
  there_and_back(variable, block, second_block);
  there_and_back(variable, second_variable, private_block);
  there_and_back(variable, private_block, block);
  free(private_block);
}

static void test_self(void) {
  const int me = shmem_my_pe();
  long stack[kCount];
  fill(stack, 5);
  shmem_long_put(block, stack, kCount, me);
  shmem_quiet();
  expect(block, 5);
  shmem_long_put_nbi(variable, block, kCount, me);
  shmem_quiet();
  expect(variable, 5);
  memset(stack, 0, sizeof stack);
  shmem_long_get_nbi(stack, variable, kCount, me);
  shmem_quiet();
  expect(stack, 5);
  shmem_long_iput(second_block, stack, 1, 1, kCount, me);
  shmem_quiet();
  expect(second_block, 5);
}

static void test_constants_as_source(void) { /* Semantics 78 */
  shmem_barrier_all();
  shmem_long_put(block, constants, 4, right_pe());
  shmem_putmem(variable, "a string literal", 17, right_pe());
  shmem_barrier_all();
  CHECK_EQ(block[0], 1);
  CHECK_EQ(block[3], 4);
  CHECK_STR((char*)variable, "a string literal");
}

static void test_nothing(void) { /* Semantics 72 */
  const int pe = right_pe();
  fill(block, 3);
  shmem_barrier_all();
  shmem_long_put(NULL, NULL, 0, pe);
  shmem_long_get(NULL, NULL, 0, pe);
  shmem_long_put(block, block + 1, 0, pe);
  shmem_putmem(NULL, NULL, 0, pe);
  shmem_getmem(NULL, NULL, 0, pe);
  shmem_long_put_nbi(NULL, NULL, 0, pe);
  shmem_getmem_nbi(NULL, NULL, 0, pe);
  shmem_long_iput(NULL, NULL, 1, 1, 0, pe);
  shmem_long_iget(NULL, NULL, 1, 1, 0, pe);
  shmem_long_ibput(NULL, NULL, 1, 1, 1, 0, pe); /* Semantics 74 */
  shmem_long_ibget(NULL, NULL, 4, 4, 0, 3, pe);
  shmem_barrier_all();
  expect(block, 3);
}

static void test_ends_of_objects(
    void) { /* Semantics 76: the very first and last element, and pointers into the middle */
  fill(block, 0);
  shmem_barrier_all();
  shmem_long_p(block + kCount - 1, 77, right_pe());
  shmem_long_p(block, 66, right_pe());
  shmem_long_put(block + 50, (const long[]){55}, 1, right_pe());
  shmem_barrier_all();
  CHECK_EQ(block[0], 66);
  CHECK_EQ(block[50], 55);
  CHECK_EQ(block[kCount - 1], 77);
  CHECK_EQ(block[1], 1);
}

int main(void) {
  shmem_init();
  block = shmem_malloc(kCount * sizeof *block);
  second_block = shmem_malloc(kCount * sizeof *block);
  test_kinds();
  test_self();
  test_constants_as_source();
  test_nothing();
  test_ends_of_objects();
  shmem_finalize();
  return 0;
}
