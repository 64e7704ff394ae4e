/* SPDX-License-Identifier: BSD-3-Clause */
/* Puts to pages of another node share messages, but with SHMEM_PACK=off, where each is one by itself. */
#include <shmemx.h>
#include <stdlib.h>
#include <string.h>

#include "../spec/check.h"

enum { kPuts = 1000, kWords = 1 << 19 };

int main(void) {
  const char* pack = getenv("SHMEM_PACK");
  shmem_init();
  long* words = shmem_calloc(kWords, sizeof *words);
  CHECK(words != NULL);
  const int other = 1 - shmem_my_pe();
  shmem_barrier_all();
  shmemx_stats_reset();
  for (long i = 0; i < kPuts; ++i) shmem_long_p(&words[i * 997 % kWords], i + 1, other);
  shmem_barrier_all();
  shmemx_stats_t stats;
  shmemx_stats_read(&stats);
  for (long i = 0; i < kPuts; ++i) CHECK_EQ(words[i * 997 % kWords], i + 1);
  CHECK_CMP(stats.page_sent, >, 0);
  const uint64_t why = stats.page_full_packets + stats.page_wanted_packets + stats.page_answered_packets +
                       stats.page_old_packets;
  if (pack != NULL && strcmp(pack, "off") == 0) {
    CHECK_EQ(stats.page_packets, stats.page_sent);
    CHECK_EQ(why, 0);
  } else {
    CHECK_CMP(stats.page_packets, <, stats.page_sent / 2);
    CHECK_CMP(why, >, 0);
    CHECK_CMP(why, <, stats.page_packets); /* the first has no reason */
  }
  shmem_barrier_all();
  shmem_finalize();
  return 0;
}
