/* SPDX-License-Identifier: BSD-3-Clause */
/* Semantics 29, 31, 32: thousands of random calls, the same on all PEs, against a model: blocks keep their
 * bytes, do not overlap (or they would not), and lie at the same place on all PEs. */
#include <string.h>

#include "check.h"

enum { kSlots = 64, kLargest = 1 << 17 };

static struct {
  unsigned char* at;
  size_t size;
  unsigned char first; /* byte i is first + i */
} slots[kSlots];

static uint64_t digest_of_addresses;

static void fill(int s, unsigned char first) {
  slots[s].first = first;
  for (size_t i = 0; i < slots[s].size; ++i) slots[s].at[i] = (unsigned char)(first + i);
}

static void check_slot(int s, size_t size) {
  static unsigned char expected[kLargest];
  for (size_t i = 0; i < size; ++i) expected[i] = (unsigned char)(slots[s].first + i);
  CHECK_BYTES(slots[s].at, expected, size);
}

static size_t random_size(Random* random) {
  return 1 + random_below(random, (size_t)1 << (1 + random_below(random, 17)));
}

static void allocate(Random* random, int s) {
  const size_t size = random_size(random);
  const size_t alignment = (size_t)8 << random_below(random, 9);
  switch (random_below(random, 3)) {
    case 0: slots[s].at = shmem_malloc(size); break;
    case 1: slots[s].at = shmem_align(alignment, size); break;
    default: slots[s].at = shmem_calloc(size, 1); break;
  }
  CHECK(slots[s].at != NULL);
  slots[s].size = size;
}

static void step(Random* random) {
  const int s = (int)random_below(random, kSlots);
  const unsigned char first = (unsigned char)(next_random(random) + (unsigned)shmem_my_pe());
  if (slots[s].at == NULL) {
    allocate(random, s);
  } else {
    check_slot(s, slots[s].size);
    if (random_below(random, 3) == 0) {
      const size_t size = random_size(random);
      slots[s].at = shmem_realloc(slots[s].at, size);
      CHECK(slots[s].at != NULL);
      check_slot(s, size < slots[s].size ? size : slots[s].size);
      slots[s].size = size;
    } else {
      shmem_free(slots[s].at);
      slots[s].at = NULL;
      return;
    }
  }
  fill(s, first);
}

int main(void) {
  shmem_init();
  char* base = shmem_malloc(1);
  Random random = {seed_of_run(1)};
  const int steps = rounds(5000, 1000);
  uint64_t digest = 0;
  for (int i = 0; i < steps; ++i) {
    step(&random);
    for (int s = 0; s < kSlots; ++s)
      digest = digest * 31 + (uint64_t)(slots[s].at == NULL ? 0 : slots[s].at - (unsigned char*)base);
  }
  digest_of_addresses = digest;
  shmem_barrier_all();
  for (int pe = 0; pe < shmem_n_pes(); ++pe)
    CHECK_OF_PE(pe, shmem_uint64_g(&digest_of_addresses, pe), digest);
  shmem_finalize();
  return 0;
}
