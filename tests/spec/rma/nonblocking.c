/* SPDX-License-Identifier: BSD-3-Clause */
/* Semantics 68, 107, 108: many transfers in flight, of all sizes, to all PEs; complete after quiet, pe_quiet
 * or a barrier. */
#include <string.h>

#include "check.h"

enum { kMost = 256, kLargest = 70000 };

static unsigned char *area, *sources;
static size_t sizes[kMost], starts[kMost];

static size_t lay_out(Random* random, int count) {
  size_t at = 0;
  for (int i = 0; i < count; ++i) {
    const int large = random_below(random, 16) == 0;
    starts[i] = at;
    sizes[i] = 1 + random_below(random, large ? kLargest : 200);
    at += sizes[i];
  }
  return at;
}

static void complete(int turn) {
  int* all = malloc((size_t)shmem_n_pes() * sizeof *all);
  for (int pe = 0; pe < shmem_n_pes(); ++pe) all[pe] = pe;
  if (turn % 3 == 0) shmem_quiet();
  if (turn % 3 == 1) shmem_pe_quiet(all, (size_t)shmem_n_pes());
  free(all);
  if (turn % 3 == 0) shmem_sync_all(); /* Semantics 110: quiet and sync are a barrier */
  if (turn % 3 == 1) shmem_sync_all();
  if (turn % 3 == 2) shmem_barrier_all();
}

/* Piece i goes to PE (me + i) % n, to the place of its origin there. */
static void put_all(size_t stride, int count) {
  for (int i = 0; i < count; ++i) {
    const int pe = (shmem_my_pe() + i) % shmem_n_pes();
    shmem_putmem_nbi(area + (size_t)shmem_my_pe() * stride + starts[i], sources + starts[i], sizes[i], pe);
  }
}

static void check_all(uint64_t salt, size_t stride, int count, unsigned char* expected) {
  for (int from = 0; from < shmem_n_pes(); ++from) {
    Random random = {salt + (uint64_t)from};
    fill_random(&random, expected, stride);
    for (int i = 0; i < count; ++i) {
      if ((from + i) % shmem_n_pes() != shmem_my_pe()) continue;
      CHECK_BYTES(area + (size_t)from * stride + starts[i], expected + starts[i], sizes[i]);
    }
  }
}

static void get_back(size_t stride, int count, unsigned char* back) {
  memset(back, 0, stride);
  for (int i = 0; i < count; ++i) {
    const int pe = (shmem_my_pe() + i) % shmem_n_pes();
    shmem_getmem_nbi(back + starts[i], area + (size_t)shmem_my_pe() * stride + starts[i], sizes[i], pe);
  }
  shmem_quiet();
  CHECK_BYTES(back, sources, stride);
}

int main(void) {
  shmem_init();
  Random random = {seed_of_run(3)};
  const size_t largest = (size_t)kMost * 2 * kLargest / 8;
  area = shmem_malloc((size_t)shmem_n_pes() * largest);
  sources = malloc(largest);
  unsigned char* expected = malloc(largest);
  const int turns = rounds(40, 9);
  for (int turn = 0; turn < turns; ++turn) {
    const int count = 1 + (int)random_below(&random, kMost);
    const size_t stride = lay_out(&random, count);
    CHECK_CMP(stride, <=, largest);
    Random bytes = {(uint64_t)turn * 100 + (uint64_t)shmem_my_pe()};
    fill_random(&bytes, sources, stride);
    shmem_barrier_all();
    put_all(stride, count);
    complete(turn);
    check_all((uint64_t)turn * 100, stride, count, expected);
    get_back(stride, count, expected);
    shmem_barrier_all();
  }
  free(sources), free(expected);
  shmem_finalize();
  return 0;
}
