/* SPDX-License-Identifier: BSD-3-Clause */
/* A table on NVM that both nodes change at the same time.  Whether a change is a request to the other node's
 * PE must not be asked of that node: no operation on a page is sent for it. */
#include "kv_check.h"

enum { kKeys = 2000, kChanges = 20000, kOthers = 20 };

static long sum_of(uint64_t counter) {
  static long sum, part;
  part = (long)counter;
  shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &sum, &part, 1);
  return sum;
}

int main(void) {
  shmem_init();
  const int me = shmem_my_pe();
  shmemx_kv_t kv = table_of(48, sizeof(long), 2 * kKeys);
  for (int i = 0; i < kKeys; ++i) CHECK_FOR(i, put_long(kv, key_of(me, i), i), SHMEMX_KV_OK);
  shmem_barrier_all();
  shmemx_stats_reset();
  for (int n = 0; n < kChanges; ++n) {
    const Key key = key_of(me, (int)(n * 7919L % kKeys));
    if (n % 4 == 0) CHECK_FOR(n, remove_key(kv, key), SHMEMX_KV_OK);
    CHECK_FOR(n, put_long(kv, key, n), SHMEMX_KV_OK);
  }
  shmemx_stats_t stats;
  shmemx_stats_read(&stats);
  const long requests = sum_of(stats.kv_requests), sent = sum_of(stats.page_sent);
  CHECK_CMP(requests, >, 16); /* as many as a page costs */
  CHECK_CMP(sent, <, requests + kOthers);
  for (int i = 0; i < kKeys; ++i) CHECK_CMP(long_at(kv, key_of(me, i)), >=, kChanges - kKeys);
  shmem_barrier_all();
  shmemx_kv_destroy(kv);
  shmem_finalize();
  return 0;
}
