/* SPDX-License-Identifier: BSD-3-Clause */
/* Atoll OpenSHMEM: the OpenSHMEM 1.6 interface for C99 and later and for C++17 and later.  C89 and C++98
 * have it without shmem/generic.h, where the compiler has long long and variadic macros.
 *
 * This file holds the constants and handles.  The functions come from tables:
 *
 *   shmem/functions.h   functions without a type in their name
 *   shmem/ops.h         families such as shmem_TYPENAME_put, once each, and how they are called
 *   shmem/types.h       the types of each family
 *   shmem/generic.h     names without a type: _Generic macros in C11, overloads in C++
 *
 * Before including this file a program may define
 *
 *   SHMEM_WARN_DEPRECATED   to be warned about calls of deprecated functions
 *   SHMEM_NO_GENERICS       to do without shmem/generic.h */
#ifndef ATOLL_SHMEM_H
#define ATOLL_SHMEM_H

#include <stddef.h>
#include <stdint.h>

/* Calls go straight through the global offset table where the compiler can: one jump less on paths of a few
 * nanoseconds. */
#if defined(__has_attribute)
#if __has_attribute(noplt)
#define ATOLL_API __attribute__((visibility("default"), noplt))
#endif
#endif
#ifndef ATOLL_API
#define ATOLL_API __attribute__((visibility("default")))
#endif
#define ATOLL_NORETURN __attribute__((noreturn))

#ifdef SHMEM_WARN_DEPRECATED
#define ATOLL_DEPRECATED __attribute__((deprecated))
#else
#define ATOLL_DEPRECATED
#endif

/* clang-format off */

/* ---- Versions and names ------------------------------------------------------------------------------- */

#define SHMEM_MAJOR_VERSION              1
#define SHMEM_MINOR_VERSION              6
#define SHMEM_VENDOR_STRING              "Atoll OpenSHMEM"
#define SHMEM_MAX_NAME_LEN               64                      /* with the final NUL */

/* shmem4py, the Python binding, knows implementations by macros of their headers.  With these two, which are
 * Sandia OpenSHMEM's, it uses everything of 1.5; without them its build fails. */
#define SHMEM_DEF_H
#define SHMEM_FUNCTION_ATTRIBUTES

/* ---- Handles ------------------------------------------------------------------------------------------ */

/* Handles are opaque, comparable with == and false when invalid.  The predefined ones are constants, so they
 * may initialize static objects; no valid pointer has their values. */
typedef struct shmem_ctx_handle* shmem_ctx_t;
typedef struct shmem_team_handle* shmem_team_t;

#ifdef __cplusplus
#define ATOLL_HANDLE_(TYPE, NUMBER)      (reinterpret_cast<TYPE>(NUMBER))
#else
#define ATOLL_HANDLE_(TYPE, NUMBER)      ((TYPE)(NUMBER))
#endif

#define SHMEM_CTX_INVALID                ATOLL_HANDLE_(shmem_ctx_t, 0UL)
#define SHMEM_CTX_DEFAULT                ATOLL_HANDLE_(shmem_ctx_t, 1UL)

#define SHMEM_TEAM_INVALID               ATOLL_HANDLE_(shmem_team_t, 0UL)
#define SHMEM_TEAM_WORLD                 ATOLL_HANDLE_(shmem_team_t, 1UL)
#define SHMEM_TEAM_SHARED                ATOLL_HANDLE_(shmem_team_t, 2UL)

/* What a team is asked for when it is split off.  SHMEM_TEAM_NUM_CONTEXTS in the mask makes num_contexts
 * count. */
typedef struct {
  int num_contexts;                                              /* contexts that will live at once; else 0 */
} shmem_team_config_t;

#define SHMEM_TEAM_NUM_CONTEXTS          (1L << 0)

/* What a session on a context will do; SHMEM_CTX_SESSION_TOTAL_OPS in the mask makes total_ops count. */
typedef struct {
  size_t total_ops;                                              /* upper bound of its calls; else SIZE_MAX */
} shmem_ctx_session_config_t;

#define SHMEM_CTX_SESSION_TOTAL_OPS      (1L << 0)

/* ---- Options ------------------------------------------------------------------------------------------ */

/* Thread levels of shmem_init_thread, in rising order. */
#define SHMEM_THREAD_SINGLE              0
#define SHMEM_THREAD_FUNNELED            1
#define SHMEM_THREAD_SERIALIZED          2
#define SHMEM_THREAD_MULTIPLE            3

/* Options of shmem_ctx_create: whose threads use it, and whether fence and quiet must cover plain stores. */
#define SHMEM_CTX_PRIVATE                (1L << 0)
#define SHMEM_CTX_SERIALIZED             (1L << 1)
#define SHMEM_CTX_NOSTORE                (1L << 2)

/* Option of shmem_ctx_session_start: latency does not matter, operations may be gathered. */
#define SHMEM_CTX_SESSION_BATCH          (1L << 0)

/* Hints of shmem_malloc_with_hints. */
#define SHMEM_MALLOC_ATOMICS_REMOTE      (1L << 0)
#define SHMEM_MALLOC_SIGNAL_REMOTE       (1L << 1)

/* What a put with signal does to the signal word. */
#define SHMEM_SIGNAL_SET                 0
#define SHMEM_SIGNAL_ADD                 1

/* Comparisons of the wait and test functions. */
#define SHMEM_CMP_EQ                     0
#define SHMEM_CMP_NE                     1
#define SHMEM_CMP_GT                     2
#define SHMEM_CMP_LE                     3
#define SHMEM_CMP_LT                     4
#define SHMEM_CMP_GE                     5

/* ---- Deprecated constants ----------------------------------------------------------------------------- */

/* Work arrays of the active-set collectives.  The library keeps their state itself: any size would do. */
#define SHMEM_SYNC_VALUE                 0L
#define SHMEM_SYNC_SIZE                  16
#define SHMEM_BARRIER_SYNC_SIZE          SHMEM_SYNC_SIZE
#define SHMEM_BCAST_SYNC_SIZE            SHMEM_SYNC_SIZE
#define SHMEM_COLLECT_SYNC_SIZE          SHMEM_SYNC_SIZE
#define SHMEM_REDUCE_SYNC_SIZE           SHMEM_SYNC_SIZE
#define SHMEM_ALLTOALL_SYNC_SIZE         SHMEM_SYNC_SIZE
#define SHMEM_ALLTOALLS_SYNC_SIZE        SHMEM_SYNC_SIZE
#define SHMEM_REDUCE_MIN_WRKDATA_SIZE    16

#define _SHMEM_MAJOR_VERSION             SHMEM_MAJOR_VERSION
#define _SHMEM_MINOR_VERSION             SHMEM_MINOR_VERSION
#define _SHMEM_VENDOR_STRING             SHMEM_VENDOR_STRING
#define _SHMEM_MAX_NAME_LEN              SHMEM_MAX_NAME_LEN
#define _SHMEM_CMP_EQ                    SHMEM_CMP_EQ
#define _SHMEM_CMP_NE                    SHMEM_CMP_NE
#define _SHMEM_CMP_GT                    SHMEM_CMP_GT
#define _SHMEM_CMP_LE                    SHMEM_CMP_LE
#define _SHMEM_CMP_LT                    SHMEM_CMP_LT
#define _SHMEM_CMP_GE                    SHMEM_CMP_GE
#define _SHMEM_SYNC_VALUE                SHMEM_SYNC_VALUE
#define _SHMEM_BARRIER_SYNC_SIZE         SHMEM_BARRIER_SYNC_SIZE
#define _SHMEM_BCAST_SYNC_SIZE           SHMEM_BCAST_SYNC_SIZE
#define _SHMEM_COLLECT_SYNC_SIZE         SHMEM_COLLECT_SYNC_SIZE
#define _SHMEM_REDUCE_SYNC_SIZE          SHMEM_REDUCE_SYNC_SIZE
#define _SHMEM_REDUCE_MIN_WRKDATA_SIZE   SHMEM_REDUCE_MIN_WRKDATA_SIZE

/* Not in the specification, for compatibility: programs written with Open MPI's have them. */
#define _SHMEM_ALLTOALL_SYNC_SIZE        SHMEM_ALLTOALL_SYNC_SIZE
#define _SHMEM_ALLTOALLS_SYNC_SIZE       SHMEM_ALLTOALLS_SYNC_SIZE

/* ---- Functions ---------------------------------------------------------------------------------------- */

#include "shmem/functions.h"
#include "shmem/ops.h"
#include "shmem/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A function without a type; one with a type and its twin that takes a context; the same with an element
 * size.  ATTR is empty or ATOLL_DEPRECATED. */
#define ATOLL_DECLARE_F_(RET, NAME, PARAMS, ARGS) \
  ATOLL_API RET NAME PARAMS;
#define ATOLL_DECLARE_OLD_F_(RET, NAME, PARAMS, ARGS) \
  ATOLL_API ATOLL_DEPRECATED RET NAME PARAMS;

#define ATOLL_DECLARE_(NAME, T, ATTR, OP, RET, PARAMS) \
  ATOLL_API ATTR RET(T) shmem_##NAME##OP(PARAMS(T));
#define ATOLL_DECLARE_CTX_(NAME, T, ATTR, OP, RET, PARAMS) \
  ATOLL_API ATTR RET(T) shmem_ctx_##NAME##OP(shmem_ctx_t ctx, PARAMS(T));

#define ATOLL_DECLARE_SIZED_(NAME, BYTES, ATTR, OP, TAIL, RET, PARAMS) \
  ATOLL_API ATTR RET(void) shmem##OP##NAME##TAIL(PARAMS(void));
#define ATOLL_DECLARE_SIZED_CTX_(NAME, BYTES, ATTR, OP, TAIL, RET, PARAMS) \
  ATOLL_API ATTR RET(void) shmem_ctx##OP##NAME##TAIL(shmem_ctx_t ctx, PARAMS(void));

/* A row of a table of operations: the declaration for each type or element size. */
#define ATOLL_ROW_(TYPES, OP, SHAPE) \
  ATOLL_TYPES_##TYPES(ATOLL_DECLARE_, , OP, ATOLL_RET_##SHAPE, ATOLL_PARAMS_##SHAPE)
#define ATOLL_ROW_CTX_(TYPES, OP, SHAPE) \
  ATOLL_TYPES_##TYPES(ATOLL_DECLARE_CTX_, , OP, ATOLL_RET_##SHAPE, ATOLL_PARAMS_##SHAPE)
#define ATOLL_ROW_OLD_(TYPES, OP, SHAPE) \
  ATOLL_TYPES_##TYPES(ATOLL_DECLARE_, ATOLL_DEPRECATED, OP, ATOLL_RET_##SHAPE, ATOLL_PARAMS_##SHAPE)

#define ATOLL_SIZED_ROW_(UNITS, OP, TAIL, SHAPE) \
  ATOLL_UNITS_##UNITS(ATOLL_DECLARE_SIZED_, , OP, TAIL, ATOLL_RET_##SHAPE, ATOLL_PARAMS_##SHAPE)
#define ATOLL_SIZED_ROW_CTX_(UNITS, OP, TAIL, SHAPE) \
  ATOLL_UNITS_##UNITS(ATOLL_DECLARE_SIZED_CTX_, , OP, TAIL, ATOLL_RET_##SHAPE, ATOLL_PARAMS_##SHAPE)
#define ATOLL_SIZED_ROW_OLD_(UNITS, OP, TAIL, SHAPE) \
  ATOLL_UNITS_##UNITS(ATOLL_DECLARE_SIZED_, ATOLL_DEPRECATED, OP, TAIL, \
                      ATOLL_RET_##SHAPE, ATOLL_PARAMS_##SHAPE)

ATOLL_FUNCS(ATOLL_DECLARE_F_)
ATOLL_OPS_CTX(ATOLL_ROW_)
ATOLL_OPS_CTX(ATOLL_ROW_CTX_)
ATOLL_OPS_NO_CTX(ATOLL_ROW_)
ATOLL_SIZED_CTX(ATOLL_SIZED_ROW_)
ATOLL_SIZED_CTX(ATOLL_SIZED_ROW_CTX_)
ATOLL_SIZED_NO_CTX(ATOLL_SIZED_ROW_)

ATOLL_FUNCS_DEPRECATED(ATOLL_DECLARE_OLD_F_)
ATOLL_OPS_DEPRECATED(ATOLL_ROW_OLD_)
ATOLL_OPS_EXTRA_AMO(ATOLL_ROW_OLD_)
ATOLL_OPS_EXTRA_WAIT(ATOLL_ROW_)
ATOLL_OPS_EXTRA_CTX(ATOLL_ROW_)
ATOLL_OPS_EXTRA_CTX(ATOLL_ROW_CTX_)
ATOLL_SIZED_DEPRECATED(ATOLL_SIZED_ROW_OLD_)

#ifdef __cplusplus
}
#endif

/* clang-format on */

#ifndef SHMEM_NO_GENERICS
#include "shmem/generic.h"
#endif

#endif
