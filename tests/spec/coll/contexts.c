/* SPDX-License-Identifier: BSD-3-Clause */
/* Contexts and sessions (semantics 25, 49-51, 54, 55, 57-61, 63-65, 68, 108). */
#include "coll_check.h"

static int me, np;
static long words[64], more[64];

/* Semantics 57: nothing happens. */
static void test_invalid(void) {
  shmem_ctx_fence(SHMEM_CTX_INVALID);
  shmem_ctx_quiet(SHMEM_CTX_INVALID);
  shmem_ctx_destroy(SHMEM_CTX_INVALID);
  shmem_ctx_session_start(SHMEM_CTX_INVALID, SHMEM_CTX_SESSION_BATCH, NULL, 0);
  shmem_ctx_session_stop(SHMEM_CTX_INVALID);
  shmem_ctx_pe_quiet(SHMEM_CTX_INVALID, NULL, 0);
  shmem_ctx_pe_quiet(SHMEM_CTX_INVALID, &me, 1);
  shmem_team_t team = SHMEM_TEAM_WORLD;
  CHECK_CMP(shmem_ctx_get_team(SHMEM_CTX_INVALID, &team), !=, 0);
  CHECK_EQ(team, SHMEM_TEAM_INVALID); /* Semantics 61 */
  CHECK_EQ(shmem_ctx_get_team(SHMEM_CTX_DEFAULT, &team), 0);
  CHECK_EQ(team, SHMEM_TEAM_WORLD);
}

/* Semantics 54: options that there are none of make no context, and harm nothing. */
static void test_failure(void) {
  shmem_ctx_t ctx = SHMEM_CTX_DEFAULT;
  CHECK_CMP(shmem_ctx_create(1L << 40, &ctx), !=, 0);
  CHECK_EQ(ctx, SHMEM_CTX_INVALID);
  ctx = SHMEM_CTX_DEFAULT;
  CHECK_CMP(shmem_team_create_ctx(SHMEM_TEAM_SHARED, 1L << 40, &ctx), !=, 0);
  CHECK_EQ(ctx, SHMEM_CTX_INVALID);
  CHECK_EQ(shmem_ctx_create(SHMEM_CTX_PRIVATE | SHMEM_CTX_SERIALIZED | SHMEM_CTX_NOSTORE, &ctx), 0);
  shmem_team_t team = SHMEM_TEAM_INVALID;
  CHECK_EQ(shmem_ctx_get_team(ctx, &team), 0);
  CHECK_EQ(team, SHMEM_TEAM_WORLD); /* Semantics 61 */
  const shmem_ctx_t copy = ctx;     /* Semantics 25 */
  shmem_ctx_long_p(copy, words, 3, me);
  shmem_ctx_quiet(ctx);
  CHECK_EQ(words[0], 3);
  CHECK_EQ(copy, ctx);
  CHECK_CMP(copy, !=, SHMEM_CTX_DEFAULT);
  shmem_ctx_destroy(copy);
}

/* Semantics 49: a team is asked for some contexts; they and more are to be had, or the answer is clear. */
static void test_requested_contexts(void) {
  enum { kAsked = 3, kTried = 10 };
  shmem_team_config_t config = {kAsked};
  shmem_team_t team;
  CHECK_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, np, &config, SHMEM_TEAM_NUM_CONTEXTS, &team), 0);
  config.num_contexts = -7;
  CHECK_EQ(shmem_team_get_config(team, 0, &config), 0);
  CHECK_EQ(config.num_contexts, -7); /* Semantics 50 */
  CHECK_EQ(shmem_team_get_config(team, SHMEM_TEAM_NUM_CONTEXTS, &config), 0);
  CHECK_EQ(config.num_contexts, kAsked);
  shmem_ctx_t ctx[kTried];
  for (int i = 0; i < kTried; ++i) {
    const int failed = shmem_team_create_ctx(team, 0, &ctx[i]) != 0;
    CHECK_EQ(failed, ctx[i] == SHMEM_CTX_INVALID);
    if (!failed) shmem_ctx_long_p(ctx[i], words + i, 70 + i, me);
  }
  for (int i = 0; i < kTried; ++i) {
    shmem_ctx_quiet(ctx[i]); /* Semantics 57 where there is none */
    CHECK(ctx[i] == SHMEM_CTX_INVALID || words[i] == 70 + i);
    shmem_ctx_destroy(ctx[i]);
  }
  shmem_team_destroy(team);
}

/* Semantics 59, 60, 68: two streams to the same PE; each is complete after its own quiet, in either order,
 * and an ordinary store by the one that owns up to it. */
static void test_independent(long options) {
  static long from_first[64], from_second[64];
  long first[64], second[64], back[2][64];
  shmem_ctx_t ctx[2];
  for (int i = 0; i < 2; ++i) CHECK_FOR(i, shmem_ctx_create(options, &ctx[i]), 0);
  for (int round = 1; round <= 20; ++round) {
    for (int i = 0; i < 64; ++i) first[i] = round * 100 + i, second[i] = -first[i];
    shmem_ctx_long_put_nbi(ctx[0], from_first, first, 64, (me + 1) % np);
    shmem_ctx_long_put_nbi(ctx[1], from_second, second, 64, (me + 1) % np);
    shmem_ctx_quiet(ctx[round % 2]);
    shmem_ctx_long_get_nbi(ctx[round % 2], back[0], round % 2 ? from_second : from_first, 64, (me + 1) % np);
    shmem_ctx_quiet(ctx[round % 2]);
    for (int i = 0; i < 64; ++i) CHECK_AT(back[0], i, round % 2 ? second[i] : first[i]);
    shmem_ctx_quiet(ctx[1 - round % 2]);
    shmem_ctx_long_get(ctx[1 - round % 2], back[1], round % 2 ? from_first : from_second, 64, (me + 1) % np);
    for (int i = 0; i < 64; ++i) CHECK_AT(back[1], i, round % 2 ? first[i] : second[i]);
    shmem_sync_all();
  }
  for (int i = 0; i < 2; ++i) shmem_ctx_destroy(ctx[i]);
}

/* Every call counts PEs in the context's team; a session changes nothing. */
static void test_calls(shmem_team_t team, long options, int session) {
  const int mine = shmem_team_my_pe(team), n = shmem_team_n_pes(team), to = (mine + 1) % n,
            from = (mine + n - 1) % n;
  shmem_ctx_t ctx;
  CHECK_EQ(shmem_team_create_ctx(team, options, &ctx), 0);
  CHECK_CMP(ctx, !=, SHMEM_CTX_INVALID);
  if (session) {
    shmem_ctx_session_config_t config = {5};
    shmem_ctx_session_start(ctx, SHMEM_CTX_SESSION_BATCH, NULL, 0); /* Semantics 65 */
    shmem_ctx_session_start(ctx, 0, &config,
                            session > 1 ? SHMEM_CTX_SESSION_TOTAL_OPS : 0); /* Semantics 64 */
  }
  memset(words, 0, sizeof words);
  shmem_team_sync(team);
  long source[8];
  for (int i = 0; i < 8; ++i) source[i] = 100 * mine + i;
  shmem_ctx_long_put(ctx, words, source, 8, to);
  shmem_ctx_long_put_nbi(ctx, words + 8, source, 8, to);
  shmem_ctx_long_p(ctx, words + 16, mine, to);
  shmem_ctx_long_atomic_add(ctx, words + 17, mine + 1, to);
  shmem_ctx_long_iput(ctx, words + 20, source, 2, 1, 3, to);
  shmem_ctx_signal_set(ctx, (uint64_t*)words + 30, 7, to);
  shmem_ctx_fence(ctx);
  shmem_ctx_long_put_signal(ctx, words + 31, source, 2, (uint64_t*)words + 33, 9, SHMEM_SIGNAL_ADD, to);
  shmem_ctx_pe_quiet(ctx, &to, 1);
  shmem_ctx_quiet(ctx);
  shmem_team_sync(team);
  for (int i = 0; i < 8; ++i) {
    CHECK_AT(words, i, 100 * from + i);
    CHECK_AT(words, 8 + i, 100 * from + i);
  }
  CHECK_EQ(words[16], from);
  CHECK_EQ(words[17], from + 1);
  CHECK_EQ(words[20], 100 * from);
  CHECK_EQ(words[21], 0);
  CHECK_EQ(words[22], 100 * from + 1);
  CHECK_EQ(words[24], 100 * from + 2);
  CHECK_EQ(words[30], 7);
  CHECK_EQ(words[31], 100 * from);
  CHECK_EQ(words[33], 9);
  shmem_team_sync(team);
  CHECK_OF_PE(to, shmem_ctx_long_g(ctx, words + 16, to), mine);
  CHECK_OF_PE(to, shmem_ctx_long_atomic_fetch(ctx, words + 17, to), mine + 1);
  CHECK_OF_PE(to, shmem_ctx_long_atomic_fetch_add(ctx, words + 17, 5, to), mine + 1);
  shmem_team_t of;
  CHECK_EQ(shmem_ctx_get_team(ctx, &of), 0);
  CHECK_EQ(shmem_team_n_pes(of), n);
  CHECK_EQ(shmem_team_my_pe(of), mine);
  /* Semantics 58: destroy completes. */
  shmem_ctx_long_put_nbi(ctx, more, source, 8, to);
  if (session) shmem_ctx_session_stop(ctx);
  shmem_ctx_destroy(ctx);
  shmem_team_sync(team);
  for (int i = 0; i < 8; ++i) CHECK_AT(more, i, 100 * from + i);
  shmem_team_sync(team);
}

/* More than any network has endpoints; places are used again. */
static void test_many(void) {
  enum { kMany = 300 };
  static shmem_ctx_t ctx[kMany];
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < kMany; ++i)
      CHECK_FOR(i, shmem_ctx_create(i % 2 ? SHMEM_CTX_PRIVATE : SHMEM_CTX_SERIALIZED, &ctx[i]), 0);
    for (int i = 0; i < kMany; ++i) {
      for (int k = 0; k < i; ++k) CHECK_CMP_AT(ctx, i, !=, ctx[k]); /* Semantics 25 */
      shmem_ctx_long_atomic_inc(ctx[i], words, (me + 1) % np);
    }
    for (int i = 0; i < kMany; ++i) shmem_ctx_destroy(ctx[i]);
    shmem_barrier_all();
    CHECK_EQ(words[0], kMany * (round + 1));
    shmem_barrier_all();
  }
}

int main(void) {
  bound_time(60);
  shmem_init();
  me = shmem_my_pe();
  np = shmem_n_pes();
  test_invalid();
  test_failure();
  test_requested_contexts();
  test_independent(0);
  test_independent(SHMEM_CTX_NOSTORE);
  memset(words, 0, sizeof words);
  shmem_barrier_all();
  shmem_team_t teams[kTeams];
  const int count = make_teams(teams);
  for (int t = 0; t < count; ++t) {
    if (teams[t] == SHMEM_TEAM_INVALID) continue;
    for (int session = 0; session < 3; ++session) {
      test_calls(teams[t], 0, session);
      test_calls(teams[t], SHMEM_CTX_PRIVATE | SHMEM_CTX_NOSTORE, session);
      test_calls(teams[t], SHMEM_CTX_SERIALIZED, session);
    }
  }
  memset(words, 0, sizeof words);
  shmem_barrier_all();
  test_many();
  /* Semantics 51: what is left goes with the team; the rest with the library. */
  shmem_ctx_t left;
  if (teams[3] != SHMEM_TEAM_INVALID) CHECK_EQ(shmem_team_create_ctx(teams[3], 0, &left), 0);
  CHECK_EQ(shmem_ctx_create(0, &left), 0);
  shmem_ctx_long_atomic_inc(left, words + 1, (me + 1) % np);
  destroy_teams(teams, count);
  shmem_finalize();
  return 0;
}
