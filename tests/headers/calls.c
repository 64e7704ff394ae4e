/* SPDX-License-Identifier: BSD-3-Clause */
/* Ways of calling a generic that a macro could get wrong: arrays, constants, calls in arguments, addresses.
 */
#include <pshmem.h>
#include <pshmemx.h>

void arrays_and_constants(shmem_ctx_t ctx);
void calls_in_arguments(long* const word, shmem_ctx_t const ctx);
void names_that_are_functions_too(shmem_team_t team, shmem_ctx_t ctx, uint64_t* sig, long* word);
void profiling_names(long* word);
int ends_the_job(void);

/* Semantics 136 */
void arrays_and_constants(shmem_ctx_t ctx) {
  static int table[4][2], word[1];
  static const int source[4] = {1, 2, 3, 4};
  const double real[] = {1.5};
  shmem_put(word, source, 1, 0);
  shmem_put(ctx, word, source, 1, 0);
  shmem_put(table[1], table[0], 2, 0);
  shmem_put(SHMEM_CTX_DEFAULT, &table[1][1], &source[2], 1, 0);
  shmem_p(word, 'x', 0);
  (void)shmem_g(source, 0);
  (void)shmem_g(real, 0);
  (void)shmem_g(ctx, source + 1, 0);
  (void)shmem_atomic_fetch(ctx, source, 0);
  shmem_broadcast(SHMEM_TEAM_WORLD, word, source, 1, 0);
}

void calls_in_arguments(long* const word, shmem_ctx_t const ctx) {
  shmem_p(word, shmem_g(word, shmem_my_pe()), 0);
  shmem_p(ctx, word, shmem_g(ctx, word, (int)shmem_g(word, 0)) + 1, 0);
  shmem_atomic_add(word, shmem_atomic_fetch_add(ctx, word, shmem_atomic_fetch_inc(word, 0), 0), 0);
  shmem_wait_until(word, SHMEM_CMP_EQ, shmem_g(word, 0));
  if (shmem_test(&word[0], SHMEM_CMP_NE, 1)) shmem_quiet();
  shmem_put(word, (const long*)0, 0, 0);
  shmemx_atomic_max(word, shmemx_atomic_fetch_min(ctx, word, shmem_atomic_fetch_inc(word, 0), 0), 0);
}

/* Semantics 92, 105, 137 */
void names_that_are_functions_too(shmem_team_t team, shmem_ctx_t ctx, uint64_t* sig, long* word) {
  void (*wait)(long*, int, long) = &shmem_wait_until;
  void (*sync)(int, int, int, long*) = shmem_sync;
  void (*add)(uint64_t*, uint64_t, int) = &shmem_signal_add;
  void (*set)(uint64_t*, uint64_t, int) = shmem_signal_set;
  wait(word, SHMEM_CMP_EQ, 1), sync(0, 0, 1, word), add(sig, 1, 0), set(sig, 1, 0);
  (shmem_wait_until)(word, SHMEM_CMP_EQ, 1);
  (shmem_sync)(0, 0, 1, word);
  shmem_sync(0, 0, 1, word);
  if (shmem_sync(team) != 0 || (shmem_team_sync)(SHMEM_TEAM_SHARED) != 0) return;
  (shmem_signal_add)(sig, 1, 0);
  shmem_signal_add(sig, 1, 0);
  shmem_signal_add(ctx, sig, 1, 0);
  shmem_signal_set(sig, 1, 0);
  shmem_signal_set(SHMEM_CTX_DEFAULT, sig, 1, 0);
}

/* Semantics 12: the compiler knows that it does not return, or it would warn. */
int ends_the_job(void) { shmem_global_exit(1); }

/* Semantics 133, 134: the twin of each name, unprefixed ones included. */
void profiling_names(long* word) {
  pshmem_long_put(word, word, 1, pshmem_my_pe());
  pshmem_ctx_put8(SHMEM_CTX_DEFAULT, word, word, 1, p_my_pe());
  pshmem_putmem_signal_nbi(word, word, 1, (uint64_t*)word, 1, SHMEM_SIGNAL_ADD, 0);
  pshmem_wait_until(word, SHMEM_CMP_EQ, 1);
  pshmem_sync(0, 0, 1, word);
  pshfree(pshmalloc(8));
  pstart_pes(p_num_pes());
  pshmem_pcontrol(1, "level");
  pshmemx_stats_reset();
  pshmemx_long_atomic_max(word, pshmemx_ctx_long_atomic_fetch_min(SHMEM_CTX_DEFAULT, word, 1, 0), 0);
}
