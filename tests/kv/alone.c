/* SPDX-License-Identifier: BSD-3-Clause */
/* Who alone works on elements of another node asks for each of them, in memory, unless gets read them; on NVM
 * their page comes, and need not be asked for again. */
#include "kv_check.h"

enum { kTimes = 2000, kKeys = 8 };

static int is_near(int pe) {
  return shmem_team_translate_pe(SHMEM_TEAM_WORLD, pe, SHMEM_TEAM_SHARED) >= 0;
}

int main(void) {
  shmem_init();
  shmemx_kv_t kv = table_of(48, sizeof(long), 1000);
  const int on_nvm = getenv("SHMEM_HEAP") != NULL;
  Key far[kKeys];
  int keys = 0;
  for (int i = 0; i < 1000 && keys < kKeys; ++i) {
    const Key key = key_of(0, i);
    if (!is_near(shmemx_kv_pe(kv, key.text, key.n))) far[keys++] = key;
  }
  if (shmem_my_pe() == 0 && keys == kKeys) {
    for (int i = 0; i < kTimes; ++i) CHECK_FOR(i, put_long(kv, far[i % kKeys], i), SHMEMX_KV_OK);
    for (int i = 0; i < kTimes; ++i)
      CHECK_FOR(i, long_at(kv, far[i % kKeys]), kTimes - kKeys + i % kKeys);
    shmemx_kv_stats_t stats;
    shmemx_kv_stats(kv, &stats);
    CHECK_EQ(stats.local_calls + stats.remote_calls, 2 * kTimes);
    CHECK_CMP(stats.remote_calls, >, 0); /* on NVM before the page has come */
    if (on_nvm)
      CHECK_CMP(stats.remote_calls, <, kTimes / 4);
    else
      CHECK_EQ(stats.remote_calls, gets_read() ? kTimes : 2 * kTimes);
  }
  shmem_barrier_all();
  shmemx_kv_destroy(kv);
  shmem_finalize();
  return 0;
}
