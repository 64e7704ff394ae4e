/* SPDX-License-Identifier: BSD-3-Clause */
/* usage: kv_entry_memory [<MiB of the first table> <MiB of each other one>]
 *
 * SHMEM_KV_MATCH=entry: what a table costs in memory and descriptors, when its calls have gone both ways; at
 * most so much, where that is said.  Tables that are used at the same time have different elements. */
#include <dirent.h>
#include <unistd.h>

#include "kv_check.h"

enum { kTables = 4, kKeys = 20, kRounds = 6 };

static int me;

static long resident_mib(void) {
  long all = 0, resident = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  CHECK(file != NULL);
  CHECK_EQ(fscanf(file, "%ld %ld", &all, &resident), 2);
  fclose(file);
  return resident * (sysconf(_SC_PAGESIZE) / 1024) / 1024;
}

static int descriptors(void) {
  DIR* all = opendir("/proc/self/fd");
  CHECK(all != NULL);
  int n = 0;
  while (readdir(all) != NULL) ++n;
  closedir(all);
  return n;
}

/* On all PEs, by all PEs: what is new, and what is there. */
static void use(shmemx_kv_t kv, int table) {
  for (int i = 0; i < kKeys; ++i) CHECK_FOR(i, put_long(kv, key_of(me, i), 1000 * table + i), SHMEMX_KV_OK);
  shmem_barrier_all();
  for (int pe = 0; pe < shmem_n_pes(); ++pe)
    for (int i = 0; i < kKeys; ++i) CHECK_FOR(i, long_at(kv, key_of(pe, i)), 1000 * table + i);
  shmem_barrier_all();
}

int main(int argc, char** argv) {
  shmem_init();
  me = shmem_my_pe();
  shmemx_kv_destroy(table_of(48, 8, 100)); /* what all tables need, such as code */
  shmemx_kv_t tables[kTables];
  for (int i = 0; i < kTables; ++i) {
    const long before = resident_mib();
    const int opened = descriptors();
    tables[i] = table_of(48, 8, 100);
    use(tables[i], i);
    const long mib = resident_mib() - before;
    if (me == 0) printf("table %d: %ld MiB, %d descriptors\n", i, mib, descriptors() - opened);
    if (argc > 2) CHECK_CMP(mib, <=, strtol(argv[i == 0 ? 1 : 2], NULL, 10));
  }
  for (int i = 0; i < kTables; ++i) { /* others have not changed what is there */
    for (int k = 0; k < kKeys; ++k) CHECK_FOR(k, long_at(tables[i], key_of(right_pe(), k)), 1000 * i + k);
    shmem_barrier_all();
  }
  /* One after the other, beside one that stays: nothing is left of those that end. */
  for (int i = 1; i < kTables; ++i) shmemx_kv_destroy(tables[i]);
  const long before = resident_mib();
  const int opened = descriptors();
  for (int round = 0; round < kRounds; ++round) {
    shmemx_kv_t kv = table_of(48, 8, 100);
    use(kv, round);
    use(tables[0], round);
    shmemx_kv_destroy(kv);
  }
  if (me == 0)
    printf("after %d more: %ld MiB, %d descriptors\n", kRounds, resident_mib() - before,
           descriptors() - opened);
  CHECK_CMP(descriptors() - opened, <=, 4 + shmem_n_pes());
  /* The allocator may keep what one had. */
  if (argc > 2) CHECK_CMP(resident_mib() - before, <=, 2 * strtol(argv[2], NULL, 10));
  shmemx_kv_destroy(tables[0]);
  shmem_finalize();
  return 0;
}
