/* SPDX-License-Identifier: BSD-3-Clause */
/* One job of two executables, made from this file with different layouts (EXTRA): the heap works between
 * them. With an argument PE 0 puts or adds to a variable of the other program, which is refused. */
#include "check.h"

char extra[EXTRA] = "x";
#ifdef SWAPPED
long other, variable;
#else
long variable, other;
#endif
static const long constant = EXTRA;

int main(int count, char** arguments) {
  shmem_init();
  long* block = shmem_calloc(2, sizeof *block);
  shmem_long_p(block, shmem_my_pe() + 1, right_pe());
  shmem_barrier_all();
  CHECK_EQ(block[0], left_pe() + 1);
  shmem_long_atomic_add(&block[1], 5, right_pe());
  shmem_barrier_all();
  CHECK_EQ(block[1], 5);
  for (int pe = 0; pe < shmem_n_pes(); ++pe) { /* Semantics 15 */
    const int same = pe == shmem_my_pe();
    CHECK_EQ(shmem_pe_accessible(pe), same);
    CHECK_EQ(shmem_addr_accessible(block, pe), 1);
    CHECK_EQ(shmem_addr_accessible(&variable, pe), same);
    CHECK_EQ(shmem_addr_accessible(&constant, pe), same);
    CHECK(same || (shmem_ptr(&variable, pe) == NULL && shmem_ptr(&constant, pe) == NULL));
  }
  shmem_long_p(&variable, 3, shmem_my_pe()); /* the own one is no problem */
  CHECK_EQ(variable, 3);
  if (count > 1 && shmem_my_pe() == 0) {
    if (strcmp(arguments[1], "put") == 0) shmem_long_p(&variable, 4, 1);
    if (strcmp(arguments[1], "get") == 0) CHECK_EQ(shmem_long_g(&constant, 1), 0);
    if (strcmp(arguments[1], "add") == 0) shmem_long_atomic_add(&variable, 4, 1);
  }
  shmem_finalize();
  return 0;
}
