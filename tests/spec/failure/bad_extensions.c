/* SPDX-License-Identifier: BSD-3-Clause */
/* Wrong calls of what shmemx.h adds: they are refused as those of OpenSHMEM are, under their own names. */
#include <shmemx.h>

#include "refused.h"

static long variable[4], local[4], *block, *no_block;
static const size_t heap_end = (size_t)1 << 40; /* bytes from block to well beyond the heap's end */

static void prepare(void) {
  block = shmem_calloc(4, sizeof *block);
  no_block = calloc(4, sizeof *no_block);
}

static void* between(void* word, size_t bytes) { return (char*)word + bytes; }

/* ---- PE numbers */

static void max_too_high(void) { shmemx_long_atomic_max(block, 1, shmem_n_pes()); }
static void min_negative(void) { shmemx_uint_atomic_min((unsigned*)block, 1, -1); }
static void fetch_max_too_high(void) { shmemx_double_atomic_fetch_max((double*)block, 1, 1000000); }
static void fetch_min_negative(void) { shmemx_atomic_fetch_min(block, 1, -1); }
static void fetch_max_nbi_too_high(void) { shmemx_long_atomic_fetch_max_nbi(local, block, 1, 1); }
static void ctx_max_negative(void) {
  shmem_ctx_t ctx;
  shmem_team_t team;
  shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 1, NULL, 0, &team);
  shmem_team_create_ctx(team, 0, &ctx);
  shmemx_ctx_long_atomic_max(ctx, block, 1, -1);
}

/* ---- Addresses */

static void max_private(void) { shmemx_long_atomic_max(no_block, 1, 0); }
static void fetch_min_null(void) { shmemx_long_atomic_fetch_min(NULL, 1, 0); }
static void min_past_heap(void) { shmemx_long_atomic_min(between(block, heap_end), 1, 0); }
static void max_misaligned(void) { shmemx_long_atomic_max(between(block, 4), 1, 0); }
static void fetch_max_misaligned(void) { shmemx_float_atomic_fetch_max(between(variable, 2), 1, 0); }
static void fetch_min_nbi_misaligned(void) {
  shmemx_size_atomic_fetch_min_nbi((size_t*)local, between(block, 7), 1, 0);
}

/* ---- Places for results, contexts */

static void fetch_max_nbi_to_null(void) { shmemx_long_atomic_fetch_max_nbi(NULL, block, 1, 0); }
static void fetch_min_nbi_to_null(void) { shmemx_int_atomic_fetch_min_nbi(NULL, (int*)block, 1, 0); }
static void ctx_fetch_max_nbi_to_null(void) {
  shmemx_ctx_long_atomic_fetch_max_nbi(SHMEM_CTX_DEFAULT, NULL, block, 1, 0);
}
static void ctx_invalid(void) { shmemx_ctx_long_atomic_fetch_min(SHMEM_CTX_INVALID, block, 1, 0); }

static void stats_read_null(void) { shmemx_stats_read(NULL); }

#define NOT_SYMMETRIC "0x[0-9a-f]+ is not a symmetric address; allowed are"
#define MISALIGNED "0x[0-9a-f]+ is not aligned to"

static const struct {
  const char *name, *what;
  void (*call)(void);
} cases[] = {
    {"shmemx_long_atomic_max", "pe is 1; allowed is 0 to 0$", max_too_high},
    {"shmemx_uint_atomic_min", "pe is -1; allowed is 0 to 0$", min_negative},
    {"shmemx_double_atomic_fetch_max", "pe is 1000000; allowed is 0 to 0$", fetch_max_too_high},
    {"shmemx_long_atomic_fetch_min", "pe is -1; allowed is 0 to 0$", fetch_min_negative},
    {"shmemx_long_atomic_fetch_max_nbi", "pe is 1; allowed is 0 to 0$", fetch_max_nbi_too_high},
    {"shmemx_ctx_long_atomic_max", "pe is -1; allowed in the context's team is 0 to 0", ctx_max_negative},

    {"shmemx_long_atomic_max", "dest " NOT_SYMMETRIC, max_private},
    {"shmemx_long_atomic_fetch_min", "dest NULL is not a symmetric address; allowed are", fetch_min_null},
    {"shmemx_long_atomic_min", "dest " NOT_SYMMETRIC, min_past_heap},
    {"shmemx_long_atomic_max", "dest " MISALIGNED " 8 bytes$", max_misaligned},
    {"shmemx_float_atomic_fetch_max", "dest " MISALIGNED " 4 bytes$", fetch_max_misaligned},
    {"shmemx_size_atomic_fetch_min_nbi", "dest " MISALIGNED " 8 bytes$", fetch_min_nbi_misaligned},

    {"shmemx_long_atomic_fetch_max_nbi", "fetch is NULL; allowed is the address", fetch_max_nbi_to_null},
    {"shmemx_int_atomic_fetch_min_nbi", "fetch is NULL; allowed is the address", fetch_min_nbi_to_null},
    {"shmemx_ctx_long_atomic_fetch_max_nbi", "fetch is NULL; allowed is the address",
     ctx_fetch_max_nbi_to_null},
    {"shmemx_ctx_long_atomic_fetch_min", "ctx is ", ctx_invalid},
    {"shmemx_stats_read", "stats is NULL; allowed is the address", stats_read_null},
};

int main(void) {
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i)
    expect_refusal(cases[i].name, cases[i].what, prepare, cases[i].call);
  return report_cases();
}
