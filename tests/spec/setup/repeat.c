/* SPDX-License-Identifier: BSD-3-Clause */
/* Initialisation nests and repeats. */
#include <string.h>

#include "check.h"

enum { kWords = 100000 };

static int running(void) {
  int answer = -1;
  shmem_query_initialized(&answer);
  return answer;
}

static void test_nested(void) { /* Semantics 1, 2, 5 */
  CHECK_EQ(running(), 0);
  shmem_init();
  long* block = shmem_calloc(1, sizeof *block);
  const int me = shmem_my_pe(), n = shmem_n_pes();
  shmem_init();
  int provided = -1;
  CHECK_EQ(shmem_init_thread(SHMEM_THREAD_SINGLE, &provided), 0);
  CHECK_CMP(running(), !=, 0);
  shmem_finalize();
  CHECK_CMP(running(), !=, 0);
  /* A finalize that is not the last is a barrier, and leaves the heap, teams and contexts alone. */
  shmem_team_t team;
  shmem_ctx_t ctx;
  CHECK_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, n - 1, -1, n, NULL, 0, &team), 0);
  CHECK_EQ(shmem_team_create_ctx(team, 0, &ctx), 0);
  shmem_long_p(block, me + 1, right_pe());
  shmem_finalize();
  CHECK_CMP(running(), !=, 0);
  CHECK_EQ(shmem_team_my_pe(team), n - 1 - me);
  CHECK_EQ(shmem_ctx_long_g(ctx, block, shmem_team_my_pe(team)), left_pe() + 1);
  CHECK_EQ(shmem_team_sync(team), 0);
  CHECK_EQ(*block, left_pe() + 1);
  CHECK_EQ(me, shmem_my_pe());
  CHECK_EQ(n, shmem_n_pes());
  shmem_free(block);
  shmem_finalize();
  CHECK_EQ(running(), 0);
}

static void test_starts_again(void) { /* Semantics 3, 4 */
  const int times = rounds(1000, 60);
  for (int i = 0; i < times; ++i) {
    shmem_init();
    long* word = shmem_malloc(sizeof *word);
    CHECK(word != NULL);
    *word = 0;
    shmem_barrier_all();
    shmem_long_p(word, i + shmem_my_pe(), right_pe());
    shmem_barrier_all();
    CHECK_EQ(*word, i + left_pe());
    shmem_finalize(); /* what is not freed goes with the heap */
  }
}

static void test_heap_is_fresh(void) { /* Semantics 4: no page of an earlier life shines through */
  for (int life = 0; life < 4; ++life) {
    shmem_init();
    unsigned char* block = shmem_malloc(kWords);
    for (int i = 0; i < kWords; ++i) CHECK_AT(block, i, 0);
    memset(block, 0xff, kWords);
    shmem_finalize();
  }
}

static void test_statics_survive(void) {
  static long word = 5;
  shmem_init();
  word += 1;
  shmem_barrier_all();
  shmem_long_atomic_add(&word, 10, right_pe());
  shmem_finalize(); /* completes it */
  CHECK_EQ(word, 16);
  shmem_init();
  CHECK_EQ(shmem_long_g(&word, left_pe()), 16);
  shmem_finalize();
}

int main(void) {
  test_nested();
  test_starts_again();
  test_heap_is_fresh();
  test_statics_survive();
  return 0;
}
