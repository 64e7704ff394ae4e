/* SPDX-License-Identifier: BSD-3-Clause */
/* Semantics 29: shmem_realloc keeps what fits, wherever the block ends up. */
#include <string.h>

#include "check.h"

static void fill(unsigned char* block, size_t size, unsigned salt) {
  for (size_t i = 0; i < size; ++i) block[i] = (unsigned char)(i * 7 + salt + (unsigned)shmem_my_pe());
}

static void expect(const unsigned char* block, size_t size, unsigned salt) {
  for (size_t i = 0; i < size; ++i)
    CHECK_AT(block, i, (unsigned char)(i * 7 + salt + (unsigned)shmem_my_pe()));
}

static void test_null_and_zero(void) {
  unsigned char* block = shmem_realloc(NULL, 100);
  CHECK(block != NULL);
  fill(block, 100, 1);
  CHECK_EQ(shmem_realloc(block, 0), NULL);
  if (shmem_my_pe() == 0) CHECK_EQ(shmem_realloc(NULL, 0), NULL);
}

static void test_sizes(void) {
  const size_t sizes[] = {1, 100, 99, 5000, 16, 300000, 300001, 4096, 2, 1000000, 10};
  size_t size = 64;
  unsigned char* block = shmem_malloc(size);
  fill(block, size, 3);
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    block = shmem_realloc(block, sizes[i]);
    CHECK(block != NULL);
    expect(block, sizes[i] < size ? sizes[i] : size, 3 + (unsigned)i);
    size = sizes[i];
    fill(block, size, 4 + (unsigned)i);
  }
  shmem_free(block);
}

/* A neighbour in the way: it must move. */
static void test_moves(void) {
  unsigned char* block = shmem_malloc(5000);
  unsigned char* neighbour = shmem_malloc(5000);
  fill(block, 5000, 1);
  fill(neighbour, 5000, 2);
  unsigned char* moved = shmem_realloc(block, 2000000);
  CHECK(moved != NULL);
  expect(moved, 5000, 1);
  expect(neighbour, 5000, 2);
  shmem_barrier_all();
  /* The new block is symmetric, and what peers put before the call has moved along. */
  shmem_uchar_p(&moved[1999999], 7, right_pe());
  shmem_barrier_all();
  CHECK_EQ(moved[1999999], 7);
  shmem_free(moved);
  shmem_free(neighbour);
}

static void test_puts_before_it_arrive(void) {
  for (int i = 1; i <= 20; ++i) {
    unsigned char* block = shmem_calloc(100, 1);
    void* neighbour = shmem_malloc(1);
    shmem_uchar_p(&block[99], (unsigned char)i, right_pe());
    block = shmem_realloc(block, 100000);
    CHECK_EQ(block[99], i);
    shmem_free(block);
    shmem_free(neighbour);
  }
}

static void test_failure_keeps_the_block(void) {
  unsigned char* block = shmem_malloc(3000);
  fill(block, 3000, 9);
  CHECK_EQ(shmem_realloc(block, (size_t)1 << 44), NULL);
  CHECK_EQ(shmem_realloc(block, SIZE_MAX / 2), NULL);
  CHECK_EQ(shmem_realloc(block, SIZE_MAX), NULL);
  expect(block, 3000, 9);
  block = shmem_realloc(block, 6000);
  expect(block, 3000, 9);
  shmem_free(block);
}

int main(void) {
  shmem_init();
  test_null_and_zero();
  test_sizes();
  test_moves();
  test_puts_before_it_arrive();
  test_failure_keeps_the_block();
  shmem_finalize();
  return 0;
}
