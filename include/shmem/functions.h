/* SPDX-License-Identifier: BSD-3-Clause */
/* Every function of OpenSHMEM 1.6 that has neither a type nor an element size in its name.
 *
 *   F(RETURN, NAME, (PARAMETERS), (ARGUMENTS))       ARGUMENTS are the names of the parameters
 *
 * Like the tables in ops.h, these make the prototypes (shmem.h), the profiling names (pshmem.h: NAME with a p
 * in front) and the aliases between the two (src/api), one group per source file.  Tools that wrap all
 * functions need the arguments (tools/profile). */
#ifndef ATOLL_FUNCTIONS_H
#define ATOLL_FUNCTIONS_H

/* clang-format off */

#define ATOLL_FUNCS(F) \
  ATOLL_FUNCS_SETUP(F) ATOLL_FUNCS_EXIT(F) ATOLL_FUNCS_MEMORY(F) ATOLL_FUNCS_TEAM(F) \
  ATOLL_FUNCS_CONTEXT(F) ATOLL_FUNCS_ORDER(F) ATOLL_FUNCS_SIGNAL(F) ATOLL_FUNCS_SYNC(F) \
  ATOLL_FUNCS_WAIT(F) ATOLL_FUNCS_LOCK(F)

/* Set-up, exit and query; threads; profiling.  Initialization may be repeated: the library lives until
 * shmem_finalize has been called as often. */
#define ATOLL_FUNCS_SETUP(F)                                                                           \
  F(void,  shmem_init,                (void), ())                                                      \
  F(int,   shmem_init_thread,         (int requested, int* provided), (requested, provided))           \
  F(void,  shmem_query_thread,        (int* provided), (provided))                                     \
  F(void,  shmem_query_initialized,   (int* initialized), (initialized))                               \
  F(void,  shmem_finalize,            (void), ())                                                      \
  F(int,   shmem_my_pe,               (void), ())                                                      \
  F(int,   shmem_n_pes,               (void), ())                                                      \
  F(int,   shmem_pe_accessible,       (int pe), (pe))                                                  \
  F(int,   shmem_addr_accessible,     (const void* addr, int pe), (addr, pe))                          \
  F(void*, shmem_ptr,                 (const void* dest, int pe), (dest, pe))                          \
  F(void,  shmem_info_get_version,    (int* major, int* minor), (major, minor))                        \
  F(void,  shmem_info_get_name,       (char* name), (name))                                            \
  F(void,  shmem_pcontrol,            (int level, ...), (level))

/* The one that does not return. */
#define ATOLL_FUNCS_EXIT(F)                                                                            \
  F(ATOLL_NORETURN void, shmem_global_exit, (int status), (status))

/* The symmetric heap.  Collective over all PEs, with the same arguments on each. */
#define ATOLL_FUNCS_MEMORY(F)                                                                          \
  F(void*, shmem_malloc,              (size_t bytes), (bytes))                                         \
  F(void*, shmem_calloc,              (size_t count, size_t bytes), (count, bytes))                    \
  F(void*, shmem_align,               (size_t alignment, size_t bytes), (alignment, bytes))            \
  F(void*, shmem_malloc_with_hints,   (size_t bytes, long hints), (bytes, hints))                      \
  F(void*, shmem_realloc,             (void* ptr, size_t bytes), (ptr, bytes))                         \
  F(void,  shmem_free,                (void* ptr), (ptr))

/* Teams.  The splits are collective over the parent team and return zero on success. */
#define ATOLL_FUNCS_TEAM(F)                                                                            \
  F(int,   shmem_team_my_pe,          (shmem_team_t team), (team))                                     \
  F(int,   shmem_team_n_pes,          (shmem_team_t team), (team))                                     \
  F(int,   shmem_team_get_config,     (shmem_team_t team, long config_mask,                            \
                                       shmem_team_config_t* config), (team, config_mask, config))      \
  F(int,   shmem_team_translate_pe,   (shmem_team_t src_team, int src_pe, shmem_team_t dest_team),     \
                                      (src_team, src_pe, dest_team))                                   \
  F(void*, shmem_team_ptr,            (shmem_team_t team, const void* dest, int pe), (team, dest, pe)) \
  F(int,   shmem_team_split_strided,  (shmem_team_t parent_team, int start, int stride, int npes,      \
                                       const shmem_team_config_t* config, long config_mask,            \
                                       shmem_team_t* new_team),                                        \
                                      (parent_team, start, stride, npes, config, config_mask,          \
                                       new_team))                                                      \
  F(int,   shmem_team_split_2d,       (shmem_team_t parent_team, int xrange,                           \
                                       const shmem_team_config_t* xaxis_config, long xaxis_mask,       \
                                       shmem_team_t* xaxis_team,                                       \
                                       const shmem_team_config_t* yaxis_config, long yaxis_mask,       \
                                       shmem_team_t* yaxis_team),                                      \
                                      (parent_team, xrange, xaxis_config, xaxis_mask, xaxis_team,      \
                                       yaxis_config, yaxis_mask, yaxis_team))                          \
  F(void,  shmem_team_destroy,        (shmem_team_t team), (team))

/* Contexts, and sessions on them.  Not collective. */
#define ATOLL_FUNCS_CONTEXT(F)                                                                         \
  F(int,  shmem_ctx_create,          (long options, shmem_ctx_t* ctx), (options, ctx))                 \
  F(int,  shmem_team_create_ctx,     (shmem_team_t team, long options, shmem_ctx_t* ctx),              \
                                     (team, options, ctx))                                             \
  F(int,  shmem_ctx_get_team,        (shmem_ctx_t ctx, shmem_team_t* team), (ctx, team))               \
  F(void, shmem_ctx_destroy,         (shmem_ctx_t ctx), (ctx))                                         \
  F(void, shmem_ctx_session_start,   (shmem_ctx_t ctx, long options,                                   \
                                      const shmem_ctx_session_config_t* config, long config_mask),     \
                                     (ctx, options, config, config_mask))                              \
  F(void, shmem_ctx_session_stop,    (shmem_ctx_t ctx), (ctx))

/* Memory ordering: fence orders what is delivered to each PE, quiet completes it, pe_quiet for some PEs. */
#define ATOLL_FUNCS_ORDER(F)                                                                           \
  F(void, shmem_fence,               (void), ())                                                       \
  F(void, shmem_ctx_fence,           (shmem_ctx_t ctx), (ctx))                                         \
  F(void, shmem_quiet,               (void), ())                                                       \
  F(void, shmem_ctx_quiet,           (shmem_ctx_t ctx), (ctx))                                         \
  F(void, shmem_pe_quiet,            (const int* target_pes, size_t npes), (target_pes, npes))         \
  F(void, shmem_ctx_pe_quiet,        (shmem_ctx_t ctx, const int* target_pes, size_t npes),            \
                                     (ctx, target_pes, npes))

/* Signal words.  fetch and wait_until act on the caller's own word. */
#define ATOLL_FUNCS_SIGNAL(F)                                                                          \
  F(void,     shmem_signal_add,          (uint64_t* sig_addr, uint64_t signal, int pe),                \
                                         (sig_addr, signal, pe))                                       \
  F(void,     shmem_ctx_signal_add,      (shmem_ctx_t ctx, uint64_t* sig_addr, uint64_t signal,        \
                                          int pe), (ctx, sig_addr, signal, pe))                        \
  F(void,     shmem_signal_set,          (uint64_t* sig_addr, uint64_t signal, int pe),                \
                                         (sig_addr, signal, pe))                                       \
  F(void,     shmem_ctx_signal_set,      (shmem_ctx_t ctx, uint64_t* sig_addr, uint64_t signal,        \
                                          int pe), (ctx, sig_addr, signal, pe))                        \
  F(uint64_t, shmem_signal_fetch,        (const uint64_t* sig_addr), (sig_addr))                       \
  F(uint64_t, shmem_signal_wait_until,   (uint64_t* sig_addr, int cmp, uint64_t cmp_value),            \
                                         (sig_addr, cmp, cmp_value))

/* Barriers.  The active-set shmem_sync is deprecated, but its name is not: it is also a generic's. */
#define ATOLL_FUNCS_SYNC(F)                                                                            \
  F(void, shmem_barrier_all,         (void), ())                                                       \
  F(void, shmem_sync_all,            (void), ())                                                       \
  F(int,  shmem_team_sync,           (shmem_team_t team), (team))                                      \
  F(void, shmem_sync,                (int PE_start, int logPE_stride, int PE_size, long* pSync),       \
                                     (PE_start, logPE_stride, PE_size, pSync))

/* The wait on a long that came first.  It is deprecated, but its name is not: it is also a generic's. */
#define ATOLL_FUNCS_WAIT(F)                                                                            \
  F(void, shmem_wait_until,          (long* ivar, int cmp, long cmp_value), (ivar, cmp, cmp_value))

/* Distributed locks. */
#define ATOLL_FUNCS_LOCK(F)                                                                            \
  F(void, shmem_set_lock,            (long* lock), (lock))                                             \
  F(int,  shmem_test_lock,           (long* lock), (lock))                                             \
  F(void, shmem_clear_lock,          (long* lock), (lock))

/* Deprecated: names from before OpenSHMEM, the active-set barrier, and the wait for any change. */
#define ATOLL_FUNCS_DEPRECATED(F)                                                                     \
  ATOLL_FUNCS_OLD_SETUP(F) ATOLL_FUNCS_OLD_MEMORY(F) ATOLL_FUNCS_OLD_SYNC(F) ATOLL_FUNCS_OLD_WAIT(F)

#define ATOLL_FUNCS_OLD_SETUP(F)                                                                       \
  F(void, start_pes,                 (int npes), (npes))                                               \
  F(int,  _my_pe,                    (void), ())                                                       \
  F(int,  _num_pes,                  (void), ())

#define ATOLL_FUNCS_OLD_MEMORY(F)                                                                      \
  F(void*, shmalloc,                  (size_t bytes), (bytes))                                         \
  F(void*, shmemalign,                (size_t alignment, size_t bytes), (alignment, bytes))            \
  F(void*, shrealloc,                 (void* ptr, size_t bytes), (ptr, bytes))                         \
  F(void,  shfree,                    (void* ptr), (ptr))

#define ATOLL_FUNCS_OLD_SYNC(F)                                                                        \
  F(void, shmem_barrier,             (int PE_start, int logPE_stride, int PE_size, long* pSync),       \
                                     (PE_start, logPE_stride, PE_size, pSync))

#define ATOLL_FUNCS_OLD_WAIT(F)                                                                        \
  F(void, shmem_wait,                (long* ivar, long cmp_value), (ivar, cmp_value))

/* clang-format on */

#endif
