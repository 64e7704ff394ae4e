/* SPDX-License-Identifier: BSD-3-Clause */
/* Two threads of each PE make, use and end tables at the same time, in random order, each those of another
 * team: of its row and of its column of PEs.  Teams of one kind share no PE and do not wait for each other;
 * each PE is in one of either.  What is done follows from ATOLL_TEST_SEED, but not how it interleaves. */
#include <pthread.h>

#include "kv_check.h"

enum { kTables = 4, kKeys = 24 };

typedef struct {
  shmem_team_t team;
  Random common, own; /* the same for all members; for this PE */
  long made, used;
} Side;

static int me, times;

static shmemx_kv_t make(shmem_team_t team, int shape) {
  const shmemx_kv_options_t options = {.key_bytes = shape % 2 == 0 ? 8 : 16,
                                       .value_bytes = shape == 3 ? 3000 : 8,
                                       .capacity = 32,
                                       .memory_bytes = (size_t)1 << 18};
  shmemx_kv_t kv = NULL;
  CHECK_EQ(shmemx_kv_team_create(team, &options, &kv), SHMEMX_KV_OK);
  return kv;
}

/* Each member has keys of its own, and looks at those of the next one. */
static void use(Side* side, shmemx_kv_t kv, uint64_t round) {
  const int my = shmem_team_my_pe(side->team), n = shmem_team_n_pes(side->team);
  uint64_t value, key;
  for (uint64_t i = 0; i < kKeys; ++i) {
    key = (uint64_t)my << 32 | i, value = round << 16 | i;
    if (next_random(&side->own) % 2 == 0)
      CHECK_EQ(shmemx_kv_put(kv, &key, 8, &value, 8), SHMEMX_KV_OK);
    else
      shmemx_kv_put_nbi(kv, &key, 8, &value, 8, NULL);
  }
  shmemx_kv_quiet(kv);
  shmem_team_sync(side->team);
  for (uint64_t i = 0; i < kKeys; ++i) {
    key = (uint64_t)((my + 1) % n) << 32 | i;
    CHECK_EQ(shmemx_kv_get(kv, &key, 8, &value, 8, NULL), SHMEMX_KV_OK);
    CHECK_EQ(value, round << 16 | i);
  }
  CHECK_EQ(shmemx_kv_count(kv), (uint64_t)(kKeys * n));
  ++side->used;
  shmem_team_sync(side->team);
}

static void* work(void* of) {
  Side* side = (Side*)of;
  shmemx_kv_t tables[kTables] = {NULL};
  for (int i = 0; i < times; ++i) {
    const uint64_t dice = next_random(&side->common);
    shmemx_kv_t* kv = &tables[dice % kTables];
    if (*kv == NULL) {
      *kv = make(side->team, (int)(dice >> 8) % 4);
      ++side->made;
    } else if (dice >> 16 & 1) {
      use(side, *kv, (uint64_t)i);
    } else if (dice >> 17 & 1) {
      shmemx_kv_destroy(*kv);
      *kv = NULL;
    } else if (dice >> 18 & 1) {
      shmemx_kv_leave(*kv);
      *kv = NULL;
    } else if (dice >> 19 & 1) {
      CHECK_EQ(shmemx_kv_resize(*kv, 32 + (dice >> 24) % 200), SHMEMX_KV_OK);
    } else {
      shmemx_kv_clear(*kv);
    }
  }
  for (int i = 0; i < kTables; ++i)
    if (tables[i] != NULL) shmemx_kv_destroy(tables[i]);
  return NULL;
}

int main(void) {
  int provided;
  shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
  CHECK_EQ(provided, SHMEM_THREAD_MULTIPLE);
  me = shmem_my_pe();
  times = rounds(400, 60);
  static long clock_of_one;
  clock_of_one = (long)time(NULL);
  shmem_barrier_all();
  const uint64_t seed = seed_of_run((uint64_t)shmem_long_g(&clock_of_one, 0));
  Side row = {.own = {seed * 1000 + (uint64_t)me}}, column = {.own = {seed * 2000 + (uint64_t)me}};
  shmem_team_split_2d(SHMEM_TEAM_WORLD, 2, NULL, 0, &row.team, NULL, 0, &column.team);
  row.common.state = seed * 10 + (uint64_t)shmem_team_translate_pe(row.team, 0, SHMEM_TEAM_WORLD);
  column.common.state = seed * 20 + (uint64_t)shmem_team_translate_pe(column.team, 0, SHMEM_TEAM_WORLD) + 9;
  pthread_t thread;
  CHECK_EQ(pthread_create(&thread, NULL, work, &column), 0);
  work(&row);
  pthread_join(thread, NULL);
  CHECK(row.used > 0 && column.used > 0);
  const long made = sum_of_all(row.made + column.made), used = sum_of_all(row.used + column.used);
  if (me == 0) printf("%ld tables made, %ld times used\n", made, used);
  shmem_finalize();
  return 0;
}
