/* SPDX-License-Identifier: BSD-3-Clause */
/* SHMEM_KV_MATCH=entry where that cannot be, on one PE or on all: all PEs use the other engine, and a line
 * says so. When the obstacle is gone, the next table has what was asked for. */
#include <sys/resource.h>
#include <unistd.h>

#include "kv_check.h"

enum { kStep = 256, kSteps = 30, kKeys = 5 };

static int me;

/* Whether the requests of PE 0 come by the list. */
static int listed(shmemx_kv_t kv) {
  shmemx_stats_t before, after;
  shmem_barrier_all();
  shmemx_stats_read(&before);
  shmem_barrier_all();
  for (int i = 0; i < kKeys; ++i) CHECK_EQ(put_long(kv, key_of(me, i), i), SHMEMX_KV_OK);
  shmem_barrier_all();
  for (int i = 0; i < kKeys; ++i) CHECK_EQ(long_at(kv, key_of(right_pe(), i)), i);
  shmem_barrier_all();
  shmemx_stats_read(&after);
  CHECK_EQ(shmemx_kv_count(kv), (uint64_t)(kKeys * shmem_n_pes()));
  return sum_of_all((long)(after.kv_added - before.kv_added)) != 0;
}

static void expect(shmemx_kv_t kv, int wanted) {
  CHECK_EQ(listed(kv), wanted);
  shmemx_kv_destroy(kv);
}

/* Bytes of the largest block that the symmetric heap has. */
static size_t largest(void) {
  size_t fits = 0, too_much = (size_t)1 << 30;
  while (too_much - fits > 64) {
    const size_t bytes = fits + (too_much - fits) / 2;
    void* block = shmem_malloc(bytes);
    *(block != NULL ? &fits : &too_much) = bytes;
    shmem_free(block);
  }
  return fits;
}

/* One PE has no descriptor left for an endpoint. */
static void test_one_pe_cannot(void) {
  struct rlimit limit, low;
  CHECK_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  low = limit;
  const size_t room = largest();
  const int next = dup(0);
  CHECK(next >= 0);
  close(next);
  low.rlim_cur = (rlim_t)next;
  if (me == shmem_n_pes() - 1) CHECK_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  shmemx_kv_t kv = table_of(48, 8, 20);
  CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  expect(kv, 0);
  CHECK_EQ(largest(), room); /* nothing is left behind */
  expect(table_of(48, 8, 20), 1);
}

/* There is memory for the table, but none for what the engine needs beside it. */
static void test_no_memory(void) {
  static void* all[64];
  static void* last[kSteps];
  int n = 0;
  for (int i = 0; i < kSteps; ++i) {
    last[i] = shmem_malloc(kStep);
    CHECK(last[i] != NULL);
  }
  for (size_t bytes = (size_t)1 << 30; bytes >= 64; bytes /= 2)
    for (void* block; n < 64 && (block = shmem_malloc(bytes)) != NULL;) all[n++] = block;
  const shmemx_kv_options_t options = {.key_bytes = 48, .value_bytes = 8, .capacity = 20};
  shmemx_kv_t kv = NULL;
  int i = 0;
  while (shmemx_kv_create(&options, &kv) == SHMEMX_KV_FULL) {
    CHECK(kv == NULL);
    CHECK(i < kSteps);
    shmem_free(last[i++]);
  }
  expect(kv, 0);
  for (; i < kSteps; ++i) shmem_free(last[i]);
  while (n > 0) shmem_free(all[--n]);
  expect(table_of(48, 8, 20), 1);
}

int main(int argc, char** argv) {
  CHECK_EQ(argc, 2);
  shmem_init();
  me = shmem_my_pe();
  if (strcmp(argv[1], "descriptors") == 0)
    test_one_pe_cannot();
  else
    test_no_memory();
  shmem_finalize();
  return 0;
}
