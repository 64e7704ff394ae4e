/* SPDX-License-Identifier: BSD-3-Clause */
/* Semantics 73, 74: strided and block-strided transfers of every element size against a model. */
#include <string.h>

#include "check.h"

enum { kElements = 400, kLargest = 16, kBytes = kElements * kLargest };

/* The shape of a transfer, in elements. */
typedef struct {
  ptrdiff_t dst, sst;
  size_t block, count;
} Shape;

static unsigned char *mine, *theirs, source[kBytes], model[kBytes], copy[kBytes];

static Shape random_shape(Random* random, int blocks) {
  Shape shape = {1 + (ptrdiff_t)random_below(random, 9), 1 + (ptrdiff_t)random_below(random, 9), 1,
                 random_below(random, 20)};
  if (!blocks) return shape;
  shape.block = random_below(random, 6);
  shape.dst += (ptrdiff_t)shape.block;
  shape.sst += (ptrdiff_t)shape.block;
  if (random_below(random, 4) == 0 && shape.block > 0) shape.dst = (ptrdiff_t)shape.block;
  return shape;
}

static void copy_in_model(unsigned char* to, const unsigned char* from, Shape s, size_t element) {
  for (size_t b = 0; b < s.count; ++b)
    memcpy(to + b * (size_t)s.dst * element, from + b * (size_t)s.sst * element, s.block * element);
}

/* What both sides start from; every PE knows every PE's bytes. */
static void contents_of(int pe, uint64_t turn, unsigned char* of_mine, unsigned char* of_source) {
  Random random = {turn * 1000 + (uint64_t)pe};
  fill_random(&random, of_mine, kBytes);
  fill_random(&random, of_source, kBytes);
}

static void begin(uint64_t turn) {
  contents_of(shmem_my_pe(), turn, mine, source);
  memset(copy, 0x11, kBytes);
  shmem_barrier_all();
}

static void check_put(uint64_t turn, Shape s, size_t element) {
  static unsigned char lefts[kBytes], sent[kBytes];
  shmem_barrier_all();
  contents_of(shmem_my_pe(), turn, model, sent);
  contents_of(left_pe(), turn, lefts, sent);
  copy_in_model(model, sent, s, element);
  CHECK_BYTES(mine, model, kBytes);
  shmem_barrier_all();
}

/* Called before the put: mine is as begin() made it. */
static void check_get(uint64_t turn, Shape s, size_t element) {
  static unsigned char unused[kBytes], rights[kBytes];
  contents_of(right_pe(), turn, rights, unused);
  memset(model, 0x11, kBytes);
  copy_in_model(model, rights, s, element);
  CHECK_BYTES(copy, model, kBytes);
  shmem_barrier_all();
}

#define TEST(BITS, BYTES, UNUSED)                                      \
  static void test_strided_##BITS(uint64_t turn, Shape s) {            \
    s.block = 1;                                                       \
    begin(turn);                                                       \
    shmem_iget##BITS(copy, mine, s.dst, s.sst, s.count, right_pe());   \
    check_get(turn, s, BYTES);                                         \
    shmem_iput##BITS(mine, source, s.dst, s.sst, s.count, right_pe()); \
    check_put(turn, s, BYTES);                                         \
  }                                                                    \
  TEST_BLOCKS(BITS, BYTES)

#define TEST_BLOCKS(BITS, BYTES)                                                 \
  static void test_blocks_##BITS(uint64_t turn, Shape s) {                       \
    begin(turn);                                                                 \
    shmem_ibget##BITS(copy, mine, s.dst, s.sst, s.block, s.count, right_pe());   \
    check_get(turn, s, BYTES);                                                   \
    shmem_ibput##BITS(mine, source, s.dst, s.sst, s.block, s.count, right_pe()); \
    check_put(turn, s, BYTES);                                                   \
  }
ATOLL_UNITS_BITS(TEST, 0)

/* The typed forms, for each type: one fixed shape. */
#define TEST_TYPE(NAME, T, UNUSED)                                              \
  static void test_##NAME(void) {                                               \
    T* at = (T*)(void*)mine;                                                    \
    const T* from = (const T*)(void*)(theirs + kBytes * (size_t)shmem_my_pe()); \
    TEST_TYPE_PUT(NAME, T)                                                      \
    shmem_##NAME##_iget((T*)(void*)copy, at, 2, 3, 4, shmem_my_pe());           \
    shmem_##NAME##_ibget((T*)(void*)copy + 20, at, 3, 5, 2, 2, shmem_my_pe());  \
    expect_copies(sizeof(T));                                                   \
  }

#define TEST_TYPE_PUT(NAME, T)                                 \
  begin(5);                                                    \
  shmem_##NAME##_iput(at, from, 3, 2, 5, right_pe());          \
  shmem_##NAME##_ibput(at + 20, from, 4, 3, 2, 3, right_pe()); \
  shmem_barrier_all();                                         \
  expect_puts(sizeof(T));

static void expect_puts(size_t element) {
  static unsigned char unused[kBytes];
  const unsigned char* from = theirs + kBytes * (size_t)left_pe();
  contents_of(shmem_my_pe(), 5, model, unused);
  copy_in_model(model, from, (Shape){3, 2, 1, 5}, element);
  copy_in_model(model + 20 * element, from, (Shape){4, 3, 2, 3}, element);
  CHECK_BYTES(mine, model, kBytes);
}

static void expect_copies(size_t element) {
  memset(model, 0x11, kBytes);
  copy_in_model(model, mine, (Shape){2, 3, 1, 4}, element);
  copy_in_model(model + 20 * element, mine, (Shape){3, 5, 2, 2}, element);
  CHECK_BYTES(copy, model, kBytes);
  shmem_barrier_all();
}

ATOLL_TYPES_RMA(TEST_TYPE, 0)

int main(void) {
  shmem_init();
  Random random = {seed_of_run(7)};
  mine = shmem_malloc(kBytes);
  theirs = malloc(kBytes * (size_t)shmem_n_pes()); /* sources of every PE, the same everywhere */
  Random bytes = {17};
  fill_random(&bytes, theirs, kBytes * (size_t)shmem_n_pes());
  const int turns = rounds(100, 12);
  for (int turn = 1; turn <= turns; ++turn) {
#define RUN(BITS, BYTES, UNUSED)                                 \
  test_strided_##BITS((uint64_t)turn, random_shape(&random, 0)); \
  test_blocks_##BITS((uint64_t)turn, random_shape(&random, 1));
    ATOLL_UNITS_BITS(RUN, 0)
  }
#define RUN_TYPE(NAME, T, UNUSED) test_##NAME();
  ATOLL_TYPES_RMA(RUN_TYPE, 0)
  free(theirs);
  shmem_finalize();
  return 0;
}
