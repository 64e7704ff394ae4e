/* SPDX-License-Identifier: BSD-3-Clause */
/* Who is in SHMEM_TEAM_SHARED has a pointer to the others' blocks (Semantics 20); `shared_team <members>`. */
#include "coll_check.h"

int main(int count, char** arguments) {
  shmem_init();
  const int members = shmem_team_n_pes(SHMEM_TEAM_SHARED), me = shmem_team_my_pe(SHMEM_TEAM_SHARED);
  CHECK_EQ(count, 2);
  CHECK_EQ(members, atoi(arguments[1]));
  long* block = shmem_malloc(sizeof *block);
  *block = shmem_my_pe();
  shmem_barrier_all();
  for (int member = 0; member < members; ++member) {
    const int pe = shmem_team_translate_pe(SHMEM_TEAM_SHARED, member, SHMEM_TEAM_WORLD);
    const long* there = shmem_team_ptr(SHMEM_TEAM_SHARED, block, member);
    CHECK(there != NULL && *there == pe);
  }
  static long mine, sum;
  mine = 1;
  CHECK_EQ(shmem_long_sum_reduce(SHMEM_TEAM_SHARED, &sum, &mine, 1), 0);
  CHECK_EQ(sum, members);
  CHECK_EQ(shmem_team_translate_pe(SHMEM_TEAM_SHARED, me, SHMEM_TEAM_WORLD), shmem_my_pe());
  shmem_finalize();
  return 0;
}
