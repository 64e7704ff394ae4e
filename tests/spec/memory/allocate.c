/* SPDX-License-Identifier: BSD-3-Clause */
/* Each function of the symmetric heap on its own. */
#include <stddef.h>
#include <string.h>

#include "check.h"

static size_t misalignment(const void* address, size_t alignment) { return (uintptr_t)address % alignment; }

/* Semantics 27, 28: these return at once, so that one PE alone may call them. */
static void test_nothing_is_no_barrier(void) {
  if (shmem_my_pe() != 0) return;
  CHECK_EQ(shmem_malloc(0), NULL);
  CHECK_EQ(shmem_align(64, 0), NULL);
  CHECK_EQ(shmem_calloc(0, 8), NULL);
  CHECK_EQ(shmem_calloc(8, 0), NULL);
  CHECK_EQ(shmem_malloc_with_hints(0, SHMEM_MALLOC_ATOMICS_REMOTE), NULL);
  shmem_free(NULL);
}

static void test_alignment(void) { /* Semantics 31 */
  void* blocks[48];
  int count = 0;
  for (size_t alignment = sizeof(void*); alignment <= (size_t)2 << 20; alignment *= 2) {
    blocks[count] = shmem_align(alignment, 3 * alignment / 2);
    CHECK(blocks[count] != NULL);
    CHECK_FOR(alignment, misalignment(blocks[count], alignment), 0);
    memset(blocks[count++], 1, 3 * alignment / 2);
  }
  for (size_t size = 1; size <= 100; size += 9) {
    blocks[count] = shmem_malloc(size);
    CHECK_FOR(size, misalignment(blocks[count++], _Alignof(max_align_t)), 0);
  }
  blocks[count] = shmem_calloc(3, 5);
  CHECK_EQ(misalignment(blocks[count++], _Alignof(max_align_t)), 0);
  while (count > 0) shmem_free(blocks[--count]);
  /* More than the heap offers: aligned on every PE, or NULL on every PE. */
  static int nulls;
  void* block = shmem_align((size_t)1 << 30, 8);
  CHECK_EQ(misalignment(block, (size_t)1 << 30), 0);
  shmem_int_atomic_add(&nulls, block == NULL, 0);
  shmem_barrier_all();
  CHECK_EQ(shmem_int_g(&nulls, 0), block == NULL ? shmem_n_pes() : 0);
}

/* Large blocks begin at a page, which is what large copies like. */
static void test_large_blocks(void) {
  for (size_t size = (size_t)1 << 20; size <= (size_t)16 << 20; size *= 2) {
    char* block = shmem_malloc(size);
    CHECK(block != NULL);
    CHECK_EQ(misalignment(block, 4096), 0);
    block[0] = block[size - 1] = 1;
    shmem_free(block);
  }
}

/* Semantics 31, 32: zero on every PE as soon as any PE has returned. */
static void test_calloc_is_zero_everywhere(void) {
  for (int turn = 0; turn < 20; ++turn) {
    const size_t count = (size_t)turn * 100 + 1;
    long* block = shmem_calloc(count, sizeof *block);
    long copy = -1;
    shmem_long_get(&copy, &block[count - 1], 1, right_pe());
    CHECK_EQ(copy, 0);
    shmem_barrier_all();
    /* The next round shall find dirty memory; and a peer may write as soon as its own call has returned. */
    for (size_t i = 0; i < count; ++i) block[i] = -1;
    shmem_free(block);
    block = shmem_calloc(count, sizeof *block);
    shmem_long_p(&block[0], turn + 1, right_pe());
    shmem_barrier_all();
    CHECK_EQ(block[0], turn + 1);
    for (size_t i = 1; i < count; ++i) CHECK_AT(block, i, 0);
    shmem_free(block);
  }
}

static void test_hints(void) { /* Semantics 35 */
  const long hints[] = {0, SHMEM_MALLOC_ATOMICS_REMOTE, SHMEM_MALLOC_SIGNAL_REMOTE,
                        SHMEM_MALLOC_ATOMICS_REMOTE | SHMEM_MALLOC_SIGNAL_REMOTE};
  for (size_t i = 0; i < 4; ++i) {
    uint64_t* block = shmem_malloc_with_hints(2 * sizeof *block, hints[i]);
    CHECK(block != NULL);
    CHECK_EQ(misalignment(block, _Alignof(max_align_t)), 0);
    block[0] = block[1] = 0;
    shmem_barrier_all();
    shmem_uint64_atomic_add(&block[0], 7, right_pe());
    shmem_signal_add(&block[1], 8, right_pe());
    shmem_barrier_all();
    CHECK_EQ(block[0], 7);
    CHECK_EQ(block[1], 8);
    block = shmem_realloc(block, 4000); /* Semantics 30 */
    CHECK(block != NULL);
    CHECK_EQ(block[0], 7);
    shmem_free(block);
  }
}

static void test_offsets_are_equal(void) {
  void* first = shmem_malloc(1);
  uint64_t* seen = shmem_malloc((size_t)shmem_n_pes() * sizeof *seen);
  Random random = {5};
  for (int i = 0; i < 30; ++i) {
    char* block = shmem_malloc(1 + random_below(&random, 100000));
    const uint64_t offset = (uint64_t)(block - (char*)first);
    for (int pe = 0; pe < shmem_n_pes(); ++pe) shmem_uint64_p(&seen[shmem_my_pe()], offset, pe);
    shmem_barrier_all();
    for (int pe = 0; pe < shmem_n_pes(); ++pe) CHECK_AT(seen, pe, offset);
    if (i % 3 != 0) shmem_free(block);
    shmem_barrier_all();
  }
  shmem_free(seen);
}

static void* allocate_somehow(int i) {
  switch (i % 4) {
    case 0: return shmem_malloc(100);
    case 1: return shmem_calloc(10, 10);
    case 2: return shmem_align(64, 100);
    default: return shmem_malloc_with_hints(100, SHMEM_MALLOC_SIGNAL_REMOTE);
  }
}

/* What the default context has issued before the call is complete after it (semantics 27, 28, 33). */
static void test_calls_are_barriers(void) {
  long* word = shmem_calloc(1, sizeof *word);
  for (int i = 1; i <= 50; ++i) {
    const long down = -i;
    shmem_long_p(word, i, right_pe());
    void* block = allocate_somehow(i);
    CHECK_EQ(*(volatile long*)word, i);
    shmem_barrier_all();
    shmem_long_put_nbi(word, &down, 1, right_pe());
    if (i % 2) shmem_free(block);
    if (i % 2 == 0) block = shmem_realloc(block, 5000);
    CHECK_EQ(*(volatile long*)word, -i);
    if (i % 2 == 0) shmem_free(block);
    shmem_barrier_all();
  }
  shmem_free(word);
}

/* Semantics 33: other contexts go on; what they have issued is complete after their own quiet. */
static void test_other_contexts_go_on(void) {
  static long words[100];
  long source[100];
  shmem_ctx_t ctx;
  CHECK_EQ(shmem_ctx_create(0, &ctx), 0);
  for (int i = 1; i <= 20; ++i) {
    for (int k = 0; k < 100; ++k) source[k] = i * 100 + k;
    shmem_ctx_long_put_nbi(ctx, words, source, 100, right_pe());
    void* block = shmem_malloc(1000);
    shmem_free(block);
    shmem_ctx_quiet(ctx);
    shmem_sync_all();
    for (int k = 0; k < 100; ++k) CHECK_AT(words, k, i * 100 + k);
    shmem_sync_all();
  }
  shmem_ctx_destroy(ctx);
}

int main(void) {
  shmem_init();
  test_nothing_is_no_barrier();
  test_alignment();
  test_large_blocks();
  test_calloc_is_zero_everywhere();
  test_hints();
  test_offsets_are_equal();
  test_calls_are_barriers();
  test_other_contexts_go_on();
  shfree(shmemalign(128, 5)); /* the old names */
  shfree(shrealloc(shmalloc(5), 50));
  shmem_finalize();
  return 0;
}
