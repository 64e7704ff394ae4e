/* SPDX-License-Identifier: BSD-3-Clause */
/* Teams and contexts that are SHMEM_..._INVALID, freed, of an earlier life of the library, or no handles at
 * all, in every call that takes one (Semantics 41, 56).  Where the
 * specification defines an answer for an invalid handle, coll/teams.c and coll/contexts.c look at it. */
#include "refused.h"

enum { kInvalid, kFreed, kTeamFreed, kEarlier, kForeign, kSmall, kKinds };
static const char* const kind_names[kKinds] = {"INVALID", "freed", "of a freed team", "earlier", "foreign", "small"};

static shmem_team_t team;
static shmem_ctx_t ctx;
static long word, more[8], *block;
static uint64_t signal_word;

static void make(void) {
  shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 1, NULL, 0, &team);
  shmem_ctx_create(0, &ctx);
}

static int kind;

/* Leaves a handle of the kind in `team` and `ctx`; another team and context may be where it was. */
static void prepare(void) {
  block = shmem_calloc(8, sizeof *block);
  make();
  switch (kind) {
    case kInvalid: team = SHMEM_TEAM_INVALID, ctx = SHMEM_CTX_INVALID; break;
    case kTeamFreed: shmem_team_create_ctx(team, 0, &ctx); break;
    case kForeign: team = (shmem_team_t)&word, ctx = (shmem_ctx_t)&word; break;
    case kSmall: team = (shmem_team_t)9, ctx = (shmem_ctx_t)9; break;
    default: break;
  }
  const shmem_team_t wrong_team = team;
  const shmem_ctx_t wrong_ctx = ctx;
  if (kind == kFreed) shmem_team_destroy(team), shmem_ctx_destroy(ctx);
  if (kind == kTeamFreed) shmem_team_destroy(team); /* which destroys its contexts */
  if (kind == kEarlier) shmem_finalize(), shmem_init();
  make();
  team = wrong_team;
  ctx = wrong_ctx;
}

/* ---- Teams */

static void team_my_pe(void) { shmem_team_my_pe(team); }
static void team_n_pes(void) { shmem_team_n_pes(team); }
static void get_config(void) {
  shmem_team_config_t config;
  shmem_team_get_config(team, SHMEM_TEAM_NUM_CONTEXTS, &config);
}
static void translate_from(void) { shmem_team_translate_pe(team, 0, SHMEM_TEAM_WORLD); }
static void translate_to(void) { shmem_team_translate_pe(SHMEM_TEAM_WORLD, 0, team); }
static void team_ptr(void) { shmem_team_ptr(team, &word, 0); }
static void split_strided(void) {
  shmem_team_t made;
  shmem_team_split_strided(team, 0, 1, 1, NULL, 0, &made);
}
static void split_2d(void) {
  shmem_team_t x, y;
  shmem_team_split_2d(team, 1, NULL, 0, &x, NULL, 0, &y);
}
static void create_ctx(void) { shmem_team_create_ctx(team, 0, &ctx); }
static void team_destroy(void) { shmem_team_destroy(team); }

/* ---- Collectives */

static void team_sync(void) { shmem_team_sync(team); }
static void broadcast(void) { shmem_long_broadcast(team, more, block, 1, 0); }
static void broadcastmem(void) { shmem_broadcastmem(team, more, block, 1, 0); }
static void collect(void) { shmem_long_collect(team, more, block, 1); }
static void fcollect(void) { shmem_long_fcollect(team, more, block, 1); }
static void alltoall(void) { shmem_long_alltoall(team, more, block, 1); }
static void alltoalls(void) { shmem_long_alltoalls(team, more, block, 1, 1, 1); }
static void reduce(void) { shmem_long_sum_reduce(team, more, block, 1); }
static void inscan(void) { shmem_long_sum_inscan(team, more, block, 1); }
static void exscan(void) { shmem_long_sum_exscan(team, more, block, 1); }

/* ---- Contexts */

static void put(void) { shmem_ctx_long_put(ctx, block, more, 1, 0); }
static void get(void) { shmem_ctx_long_get(ctx, more, block, 1, 0); }
static void put_nbi(void) { shmem_ctx_long_put_nbi(ctx, block, more, 1, 0); }
static void get_nbi(void) { shmem_ctx_long_get_nbi(ctx, more, block, 1, 0); }
static void putmem(void) { shmem_ctx_putmem(ctx, block, more, 1, 0); }
static void iput(void) { shmem_ctx_long_iput(ctx, block, more, 1, 1, 1, 0); }
static void iget(void) { shmem_ctx_long_iget(ctx, more, block, 1, 1, 1, 0); }
static void ibput(void) { shmem_ctx_long_ibput(ctx, block, more, 1, 1, 1, 1, 0); }
static void ibget(void) { shmem_ctx_long_ibget(ctx, more, block, 1, 1, 1, 1, 0); }
static void p(void) { shmem_ctx_long_p(ctx, block, 1, 0); }
static void g(void) { shmem_ctx_long_g(ctx, block, 0); }
static void put_signal(void) {
  shmem_ctx_long_put_signal(ctx, block, more, 1, &signal_word, 1, SHMEM_SIGNAL_SET, 0);
}
static void put_signal_nbi(void) {
  shmem_ctx_long_put_signal_nbi(ctx, block, more, 1, &signal_word, 1, SHMEM_SIGNAL_SET, 0);
}
static void signal_add(void) { shmem_ctx_signal_add(ctx, &signal_word, 1, 0); }
static void signal_set(void) { shmem_ctx_signal_set(ctx, &signal_word, 1, 0); }
static void atomic_add(void) { shmem_ctx_long_atomic_add(ctx, block, 1, 0); }
static void atomic_fetch(void) { shmem_ctx_long_atomic_fetch(ctx, block, 0); }
static void fetch_add(void) { shmem_ctx_long_atomic_fetch_add(ctx, block, 1, 0); }
static void compare_swap(void) { shmem_ctx_long_atomic_compare_swap(ctx, block, 0, 1, 0); }
static void fetch_add_nbi(void) { shmem_ctx_long_atomic_fetch_add_nbi(ctx, more, block, 1, 0); }

static void fence(void) { shmem_ctx_fence(ctx); }
static void quiet(void) { shmem_ctx_quiet(ctx); }
static void pe_quiet(void) { shmem_ctx_pe_quiet(ctx, &(int){0}, 1); }
static void ctx_destroy(void) { shmem_ctx_destroy(ctx); }
static void ctx_get_team(void) { shmem_ctx_get_team(ctx, &team); }
static void session_start(void) { shmem_ctx_session_start(ctx, 0, NULL, 0); }
static void session_stop(void) { shmem_ctx_session_stop(ctx); }

/* The argument that the line must name, and whether the specification says what an invalid handle gives. */
static const struct {
  const char* name;
  void (*call)(void);
  const char* argument;
  int invalid_is_defined;
} calls[] = {
    {"shmem_team_my_pe", team_my_pe, "team", 1},
    {"shmem_team_n_pes", team_n_pes, "team", 1},
    {"shmem_team_get_config", get_config, "team", 1},
    {"shmem_team_translate_pe", translate_from, "src_team", 1},
    {"shmem_team_translate_pe", translate_to, "dest_team", 1},
    {"shmem_team_ptr", team_ptr, "team", 1},
    {"shmem_team_split_strided", split_strided, "parent_team", 1},
    {"shmem_team_split_2d", split_2d, "parent_team", 1},
    {"shmem_team_create_ctx", create_ctx, "team", 1},
    {"shmem_team_destroy", team_destroy, "team", 1},
    {"shmem_team_sync", team_sync, "team", 0},
    {"shmem_long_broadcast", broadcast, "team", 0},
    {"shmem_broadcastmem", broadcastmem, "team", 0},
    {"shmem_long_collect", collect, "team", 0},
    {"shmem_long_fcollect", fcollect, "team", 0},
    {"shmem_long_alltoall", alltoall, "team", 0},
    {"shmem_long_alltoalls", alltoalls, "team", 0},
    {"shmem_long_sum_reduce", reduce, "team", 0},
    {"shmem_long_sum_inscan", inscan, "team", 0},
    {"shmem_long_sum_exscan", exscan, "team", 0},
    {"shmem_ctx_long_put", put, "ctx", 0},
    {"shmem_ctx_long_get", get, "ctx", 0},
    {"shmem_ctx_long_put_nbi", put_nbi, "ctx", 0},
    {"shmem_ctx_long_get_nbi", get_nbi, "ctx", 0},
    {"shmem_ctx_putmem", putmem, "ctx", 0},
    {"shmem_ctx_long_iput", iput, "ctx", 0},
    {"shmem_ctx_long_iget", iget, "ctx", 0},
    {"shmem_ctx_long_ibput", ibput, "ctx", 0},
    {"shmem_ctx_long_ibget", ibget, "ctx", 0},
    {"shmem_ctx_long_p", p, "ctx", 0},
    {"shmem_ctx_long_g", g, "ctx", 0},
    {"shmem_ctx_long_put_signal", put_signal, "ctx", 0},
    {"shmem_ctx_long_put_signal_nbi", put_signal_nbi, "ctx", 0},
    {"shmem_ctx_signal_add", signal_add, "ctx", 0},
    {"shmem_ctx_signal_set", signal_set, "ctx", 0},
    {"shmem_ctx_long_atomic_add", atomic_add, "ctx", 0},
    {"shmem_ctx_long_atomic_fetch", atomic_fetch, "ctx", 0},
    {"shmem_ctx_long_atomic_fetch_add", fetch_add, "ctx", 0},
    {"shmem_ctx_long_atomic_compare_swap", compare_swap, "ctx", 0},
    {"shmem_ctx_long_atomic_fetch_add_nbi", fetch_add_nbi, "ctx", 0},
    {"shmem_ctx_fence", fence, "ctx", 1},
    {"shmem_ctx_quiet", quiet, "ctx", 1},
    {"shmem_ctx_pe_quiet", pe_quiet, "ctx", 1},
    {"shmem_ctx_destroy", ctx_destroy, "ctx", 1},
    {"shmem_ctx_get_team", ctx_get_team, "ctx", 1},
    {"shmem_ctx_session_start", session_start, "ctx", 1},
    {"shmem_ctx_session_stop", session_stop, "ctx", 1},
};

int main(void) {
  for (size_t i = 0; i < sizeof calls / sizeof *calls; ++i) {
    for (kind = calls[i].invalid_is_defined ? kFreed : kInvalid; kind < kKinds; ++kind) {
      char expected[64];
      const int is_team = strstr(calls[i].argument, "team") != NULL;
      const char* what = kind == kInvalid ? (is_team ? "SHMEM_TEAM_INVALID" : "SHMEM_CTX_INVALID")
                                          : (is_team ? "not a team" : "not a context");
      snprintf(expected, sizeof expected, "%s is %s; allowed are ", calls[i].argument, what);
      const int before = cases_failed;
      expect_refusal(calls[i].name, expected, prepare, calls[i].call);
      if (cases_failed > before) printf("  with a handle that is %s\n", kind_names[kind]);
    }
  }
  return report_cases();
}
