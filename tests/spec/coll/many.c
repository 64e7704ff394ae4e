/* SPDX-License-Identifier: BSD-3-Clause */
/* More PEs than tell each other the sizes of their blocks in one step, where peers cannot read each other's
 * memory (semantics 117). */
#include "coll_check.h"

enum { kMost = 3 };

static size_t words_of(int pe) { return (size_t)(pe % kMost) + 1; }
static long at(int pe, size_t i) { return 100L * pe + (long)i; }

int main(void) {
  bound_time(60);
  shmem_init();
  const int me = shmem_my_pe(), np = shmem_n_pes();
  long* source = shmem_malloc(kMost * sizeof *source);
  long* dest = shmem_malloc(kMost * (size_t)np * sizeof *dest);
  for (size_t i = 0; i < kMost; ++i) source[i] = at(me, i);
  CHECK_EQ(shmem_long_collect(SHMEM_TEAM_WORLD, dest, source, words_of(me)), 0);
  size_t k = 0;
  for (int pe = 0; pe < np; ++pe)
    for (size_t i = 0; i < words_of(pe); ++i, ++k) CHECK_AT(dest, k, at(pe, i));
  shmem_finalize();
  return 0;
}
