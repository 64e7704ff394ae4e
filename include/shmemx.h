/* SPDX-License-Identifier: BSD-3-Clause */
/* Atoll's extensions of OpenSHMEM.  Every name begins with shmemx_ or SHMEMX_.
 *
 * As in shmem.h, the functions come from tables: SHMEMX_OPS has the families with a type in their names,
 * SHMEMX_FUNCS the others.  pshmemx.h has the profiling names. */
#ifndef SHMEMX_H
#define SHMEMX_H

#include "shmem.h"
#include "shmem/kv.h"
#include "shmem/remote.h"
#include "shmem/stats.h"

/* clang-format off */

/* ---- Maximum and minimum of a word -------------------------------------------------------------------- */

/* The larger, or the smaller, of a word on a PE and a value stays in the word, in one atomic step.
 *
 *   T    shmemx_<TYPENAME>_atomic_fetch_max(T* dest, T val, int pe)
 *   void shmemx_<TYPENAME>_atomic_max(T* dest, T val, int pe)
 *   void shmemx_<TYPENAME>_atomic_fetch_max_nbi(T* fetch, T* dest, T val, int pe)
 *
 *   T    shmemx_<TYPENAME>_atomic_fetch_min(T* dest, T val, int pe)
 *   void shmemx_<TYPENAME>_atomic_min(T* dest, T val, int pe)
 *   void shmemx_<TYPENAME>_atomic_fetch_min_nbi(T* fetch, T* dest, T val, int pe)
 *
 * Each has a twin with a context: shmemx_ctx_<TYPENAME>_atomic_max(shmem_ctx_t ctx, ...), and so on.  In C11
 * and C++ the names without a type, shmemx_atomic_max and so on, take the type from the pointer, and a
 * context as an optional first argument.
 *
 * TYPENAME and T    the extended AMO types: those of shmem_atomic_swap.  Integers, signed and unsigned, are
 *                   compared as what they are.
 * dest              symmetric address of the word, aligned to its size
 * val               what the word is compared with: max stores it if the word is less, min if it is less than
 *                   the word; else the word stays as it is
 * pe                number of the PE in the context's team
 * fetch             where the old value goes: any memory of the caller's, which must not be touched until the
 *                   operation is complete
 *
 * Who calls.  Any thread of any PE that may call shmem_atomic_swap.  The target takes no part.
 *
 * When it is done.  fetch_max and fetch_min return the old value, and the word then has its new one.  The
 * others may return earlier: shmem_fence orders and shmem_quiet completes them like all atomics on their
 * context; afterwards the new value is visible to all, and the old one is in *fetch.
 *
 * What it is atomic with.  All other atomics on the word with the same type, these and those of OpenSHMEM, of
 * all PEs, threads, contexts and teams, the owner's included; waits and tests see whole values.  Puts and
 * plain stores are not atomics.
 *
 * Floating point.  The order is that of < in C.  A val that is NaN never changes the word; a NaN in the word
 * stays there, whatever val is, until shmem_atomic_set or shmem_atomic_swap replaces it; zeros are equal,
 * whatever their signs, so that none replaces another.  (shmem_max_reduce and shmem_min_reduce have an order
 * of their own: there a NaN always wins, and -0 is less than +0.) */
#define SHMEMX_OPS(ROW)                                   \
  ROW(AMO_EXT, _atomic_fetch_max,        FETCH_OP)        \
  ROW(AMO_EXT, _atomic_max,              STORE)           \
  ROW(AMO_EXT, _atomic_fetch_max_nbi,    FETCH_OP_NBI)    \
  ROW(AMO_EXT, _atomic_fetch_min,        FETCH_OP)        \
  ROW(AMO_EXT, _atomic_min,              STORE)           \
  ROW(AMO_EXT, _atomic_fetch_min_nbi,    FETCH_OP_NBI)

/* ---- Counters ------------------------------------------------------------------------------------------ */

/* What this PE has sent to other nodes, what that took, and what it did for their PEs.  shmem/stats.h has the
 * counters, each with its meaning; operations between PEs of one node are not counted. */
typedef struct {
#define SHMEMX_MEMBER_(NAME, HELP) uint64_t NAME;
  SHMEMX_STATS(SHMEMX_MEMBER_)
#define SHMEMX_ONE_(NAME, HELP) + 1
  uint64_t reserved_[128 - (0 SHMEMX_STATS(SHMEMX_ONE_))]; /* for more of them, behind these              */
  double mshr_miss_rate;                           /* lines / (lines + merged); 0 of nothing      */
} shmemx_stats_t;

/* All three are local: each PE has its own counters.  Any thread may call them at any time between shmem_init
 * and shmem_finalize; nobody who counts is held up.
 *
 *   shmemx_stats_read    *stats gets the values since the last reset, or since shmem_init.  What is still on
 *                        its way may be counted in part: shmem_quiet first where that matters.
 *   shmemx_stats_reset   the counters start again from 0, also those that SHMEM_STATS prints at the end.
 *   shmemx_stats_print   prints the values on stderr, with names and meanings, in one write. */
#define SHMEMX_STATS_FUNCS(F)                                   \
  F(void, shmemx_stats_read,  (shmemx_stats_t* stats), (stats)) \
  F(void, shmemx_stats_reset, (void), ())                 \
  F(void, shmemx_stats_print, (void), ())

/* ---- The network --------------------------------------------------------------------------------------- */

/* What this PE reaches PEs of other nodes by, for people to read, such as "libfabric tcp;ofi_rxm, small operations
 * packed"; "" where all PEs share a node's memory and there is no network.  The text stays where it is until
 * shmem_finalize.  Local; any thread between shmem_init and shmem_finalize. */
#define SHMEMX_NETWORK_FUNCS(F) F(const char*, shmemx_network, (void), ())

/* ---- Memory on NVM ------------------------------------------------------------------------------------ */

/* A hint of shmem_malloc_with_hints: the block lies in files and is cached in memory, so that it may be larger
 * than memory.  All of the API works on it; atomics and signals are faster on blocks in memory.  Where there is
 * no NVM heap (SHMEM_HEAP, SHMEM_NVM_DIR) the block lies in memory.  It counts for more than
 * SHMEM_MALLOC_ATOMICS_REMOTE and SHMEM_MALLOC_SIGNAL_REMOTE, which alone keep a block in memory. */
#define SHMEMX_MALLOC_NVM (1L << 16)

/* Named objects survive the job that made them.
 *
 *   shmemx_nvm_open      the symmetric object `name` of `bytes` bytes on each PE; collective over the world, with the
 *                        same arguments.  It lies in the folder of the NVM heap, in a file for each PE.  Where there
 *                        is none it is made and reads as zeros, else it is as its last shmemx_nvm_persist has left
 *                        it.  Returns its address, the same object on all PEs, or NULL on all of them, and a line on
 *                        stderr says why: another size or number of PEs than it was made with, a part that is
 *                        missing or damaged, no room, a name with other characters than letters, digits, . _ and -.
 *                        All of the API works on it.
 *   shmemx_nvm_persist   makes the object durable as it is when all PEs have called this, on all PEs or on none: if
 *                        the job ends at any instant, by whatever, the next one opens what the last persist that
 *                        has returned anywhere made durable, or the one that was under way.  Collective; nobody may
 *                        write to the object meanwhile.  An error of the device ends the job; nothing is lost that
 *                        was durable.
 *   shmem_free           closes the object.  What has not been persisted is lost, and so at the end of the job.
 *   shmem_realloc        of an object changes nothing and returns NULL, and a line on stderr says so: an object
 *                        keeps the size that it was made with.
 *   tools                shmem_nvm lists, checks and removes objects.
 *
 * Pages are pinned for whom the pages of a heap larger than memory must not go away: system calls that other
 * threads' faults cannot interrupt, other libraries, devices.
 *
 *   shmemx_nvm_pin       makes the `bytes` bytes at `ptr` of this PE's own part resident, to be read, or to be written
 *                        too, and leaves them where they are until shmemx_nvm_unpin.  Meanwhile PEs of other nodes
 *                        that write to these pages wait, and, if they are pinned to be written, those that read them;
 *                        so does who comes after one that waits, be it to read, and so do this PE's writes to what
 *                        it has pinned to be read, if somebody else waits to write.
 *                        Returns 0, or 1 if more than a quarter of the node's pages would be pinned.  Memory that is
 *                        not on NVM is always resident: 0; a range of which only a part is on NVM ends the job.
 *                        Local; any thread.  An object with pages that are pinned to be written cannot be persisted.
 *   shmemx_nvm_unpin     ends it, once for each shmemx_nvm_pin, with the same arguments.
 *
 *   shmemx_nvm_advise    says what this PE is about to do with the `bytes` bytes at `ptr` of its own part, so that
 *                        pages are not moved in vain, or moved before they are needed:
 *                        SHMEMX_NVM_OVERWRITE   all of it will be written before it is read: pages that no node
 *                                               has in memory need not be read from the device.  What was there
 *                                               is undefined until it is written; PEs of other nodes that use it
 *                                               meanwhile are as in a race.  What of a named object is not
 *                                               written may be, when the object is opened again, what an
 *                                               earlier persist has left.
 *                        SHMEMX_NVM_SEQUENTIAL  it will be used from its beginning on: its first pages come now,
 *                                               the others ahead of their use.
 *                        SHMEMX_NVM_WILLNEED    it will be used soon: as many of its pages come as there is room
 *                                               for.
 *                        SHMEMX_NVM_DONTNEED    it will not be used for a while: its pages leave this node's
 *                                               memory, and are written if they have changed.
 *                        Pages of which only a part is meant are left alone by OVERWRITE and DONTNEED.  The first
 *                        does so at once; the others may do nothing.  Memory that is not on NVM needs no
 *                        advice; a range of which only a part is on NVM ends the job.  Local; any thread. */
#define SHMEMX_NVM_READ 0
#define SHMEMX_NVM_WRITE 1
#define SHMEMX_NVM_OVERWRITE 0
#define SHMEMX_NVM_SEQUENTIAL 1
#define SHMEMX_NVM_WILLNEED 2
#define SHMEMX_NVM_DONTNEED 3
#define SHMEMX_NVM_FUNCS(F)                                                                  \
  F(void*, shmemx_nvm_open, (const char* name, size_t bytes), (name, bytes))                  \
  F(void, shmemx_nvm_persist, (void* object), (object))                                     \
  F(int, shmemx_nvm_pin, (const void* ptr, size_t bytes, int mode), (ptr, bytes, mode))       \
  F(void, shmemx_nvm_unpin, (const void* ptr, size_t bytes), (ptr, bytes))                   \
  F(void, shmemx_nvm_advise, (const void* ptr, size_t bytes, int advice), (ptr, bytes, advice))

/* ---- The key/value store: shmem/kv.h ------------------------------------------------------------------- */

/* ---- Memory on memory servers: shmem/remote.h ---------------------------------------------------------- */

#define SHMEMX_FUNCS(F)   \
  SHMEMX_STATS_FUNCS(F)   \
  SHMEMX_NETWORK_FUNCS(F) \
  SHMEMX_NVM_FUNCS(F)     \
  SHMEMX_KV_FUNCS(F)      \
  SHMEMX_REMOTE_FUNCS(F)

/* ---- Prototypes --------------------------------------------------------------------------------------- */

#ifdef __cplusplus
extern "C" {
#endif

#define SHMEMX_DECLARE_(NAME, T, OP, RET, PARAMS) \
  ATOLL_API RET(T) shmemx_##NAME##OP(PARAMS(T)); \
  ATOLL_API RET(T) shmemx_ctx_##NAME##OP(shmem_ctx_t ctx, PARAMS(T));

#define SHMEMX_ROW_(TYPES, OP, SHAPE) \
  ATOLL_TYPES_##TYPES(SHMEMX_DECLARE_, OP, ATOLL_RET_##SHAPE, ATOLL_PARAMS_##SHAPE)

SHMEMX_OPS(SHMEMX_ROW_)
SHMEMX_FUNCS(ATOLL_DECLARE_F_)

#ifdef __cplusplus
}
#endif

/* ---- Names without a type, as in shmem/generic.h ------------------------------------------------------ */

#ifndef SHMEM_NO_GENERICS
#if defined(__cplusplus) && __cplusplus >= 201103L

extern "C++" {

#define SHMEMX_OVERLOAD_(NAME, T, OP, RET, PARAMS, ...) \
  inline RET(T) shmemx##OP(PARAMS(T)) { return shmemx_##NAME##OP(__VA_ARGS__); } \
  inline RET(T) shmemx##OP(shmem_ctx_t ctx, PARAMS(T)) { return shmemx_ctx_##NAME##OP(ctx, __VA_ARGS__); }

#define SHMEMX_OVERLOADS_(TYPES, OP, SHAPE) \
  ATOLL_DISTINCT_##TYPES(SHMEMX_OVERLOAD_, OP, ATOLL_RET_##SHAPE, ATOLL_PARAMS_##SHAPE, ATOLL_ARGS_##SHAPE)

SHMEMX_OPS(SHMEMX_OVERLOADS_)

} /* extern "C++" */

#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L

#define SHMEMX_ARM_(NAME, T, OP)      , T* : shmemx_##NAME##OP
#define SHMEMX_ARM_CTX_(NAME, T, OP)  , T* : shmemx_ctx_##NAME##OP
#define SHMEMX_GENERIC_(TYPES, OP, ...) \
  ATOLL_SELECT_CTX_(ATOLL_DISTINCT_##TYPES, SHMEMX_ARM_, SHMEMX_ARM_CTX_, OP, __VA_ARGS__)

#define shmemx_atomic_fetch_max(...)      SHMEMX_GENERIC_(AMO_EXT, _atomic_fetch_max, __VA_ARGS__)
#define shmemx_atomic_max(...)            SHMEMX_GENERIC_(AMO_EXT, _atomic_max, __VA_ARGS__)
#define shmemx_atomic_fetch_max_nbi(...)  SHMEMX_GENERIC_(AMO_EXT, _atomic_fetch_max_nbi, __VA_ARGS__)
#define shmemx_atomic_fetch_min(...)      SHMEMX_GENERIC_(AMO_EXT, _atomic_fetch_min, __VA_ARGS__)
#define shmemx_atomic_min(...)            SHMEMX_GENERIC_(AMO_EXT, _atomic_min, __VA_ARGS__)
#define shmemx_atomic_fetch_min_nbi(...)  SHMEMX_GENERIC_(AMO_EXT, _atomic_fetch_min_nbi, __VA_ARGS__)

#endif
#endif

/* clang-format on */

#endif
