/* SPDX-License-Identifier: BSD-3-Clause */
/* Semantics 36: a full heap says NULL, everywhere, and is good again once something is freed. */
#include "check.h"

enum { kBlock = 100000, kMost = 10000 };

static void works(void) {
  static long word;
  shmem_barrier_all();
  shmem_long_p(&word, shmem_my_pe(), right_pe());
  shmem_barrier_all();
  CHECK_EQ(word, left_pe());
}

/* Whether the answer is the same on all PEs. */
static void same_everywhere(const void* answer) {
  static int nulls;
  shmem_int_atomic_add(&nulls, answer == NULL, 0);
  shmem_barrier_all();
  const int all = shmem_int_g(&nulls, 0);
  CHECK_EITHER(all, 0, shmem_n_pes());
  shmem_barrier_all();
  nulls = 0;
  shmem_barrier_all();
}

static int fill_up(char** blocks) {
  int count = 0;
  for (; count < kMost; ++count) {
    blocks[count] = shmem_malloc(kBlock);
    if (blocks[count] == NULL) break;
    blocks[count][0] = blocks[count][kBlock - 1] = 1;
  }
  same_everywhere(blocks[count]);
  return count;
}

int main(void) {
  static char* blocks[kMost + 1];
  shmem_init();
  const size_t impossible[] = {(size_t)1 << 40, SIZE_MAX / 2, SIZE_MAX - 4096, SIZE_MAX};
  for (size_t i = 0; i < 4; ++i) {
    CHECK_FOR(i, shmem_malloc(impossible[i]), NULL);
    CHECK_FOR(i, shmem_align(4096, impossible[i]), NULL);
    CHECK_FOR(i, shmem_calloc(impossible[i], 1), NULL);
    CHECK_FOR(i, shmem_calloc(impossible[i], 16), NULL); /* more than a size_t holds */
    works();
  }
  CHECK(shmem_calloc(SIZE_MAX / 16 + 2, 16) == NULL); /* 16 bytes, if the product wrapped around */
  int first = 0;
  for (int again = 0; again < 5; ++again) {
    const int count = fill_up(blocks);
    if (again == 0) first = count;
    CHECK_CMP(count, >, 80);
    CHECK_EQ(count, first); /* 16 MiB are asked for; nothing leaks */
    works();
    shmem_free(blocks[count / 2]);
    blocks[count / 2] = shmem_malloc(kBlock);
    CHECK(blocks[count / 2] != NULL);
    CHECK_EQ(shmem_realloc(blocks[0], 4 * kBlock), NULL);
    CHECK_EQ(blocks[0][kBlock - 1], 1);
    for (int i = 0; i < count; ++i) { /* Semantics 29: either frees */
      if (i % 2 == 0) shmem_free(blocks[i]);
      if (i % 2 != 0) CHECK_FOR(i, shmem_realloc(blocks[i], 0), NULL);
    }
  }
  /* All of it in one piece again. */
  char* all = shmem_malloc((size_t)16 << 20);
  CHECK(all != NULL);
  shmem_finalize();
  return 0;
}
