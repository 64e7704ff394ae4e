/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions of the headers, defined: compiled with debugging information this tells libabigail what a program that
 * was compiled with these headers takes for granted.  Of the profiling names, whose signatures are the same, it has none. */
#include <shmem.h>
#include <shmemx.h>

// clang-format off

#define FUNC(RET, NAME, PARAMS, ARGS)                 RET NAME PARAMS { __builtin_trap(); }
#define DEFINE(NAME, T, LIB, OP, RET, PARAMS)         RET(T) LIB##_##NAME##OP(PARAMS(T)) { __builtin_trap(); }
#define DEFINE_CTX(NAME, T, LIB, OP, RET, PARAMS) \
  RET(T) LIB##_ctx_##NAME##OP(shmem_ctx_t ctx, PARAMS(T)) { __builtin_trap(); }
#define DEFINE_SIZED(NAME, BYTES, OP, TAIL, RET, PARAMS) \
  RET(void) shmem##OP##NAME##TAIL(PARAMS(void)) { __builtin_trap(); }
#define DEFINE_SIZED_CTX(NAME, BYTES, OP, TAIL, RET, PARAMS) \
  RET(void) shmem_ctx##OP##NAME##TAIL(shmem_ctx_t ctx, PARAMS(void)) { __builtin_trap(); }

#define TYPED(DEFINER, LIB, TYPES, OP, SHAPE) \
  ATOLL_TYPES_##TYPES(DEFINER, LIB, OP, ATOLL_RET_##SHAPE, ATOLL_PARAMS_##SHAPE)
#define ROW(TYPES, OP, SHAPE)                         TYPED(DEFINE, shmem, TYPES, OP, SHAPE)
#define ROW_CTX(TYPES, OP, SHAPE)                     TYPED(DEFINE_CTX, shmem, TYPES, OP, SHAPE)
#define ROW_X(TYPES, OP, SHAPE)                       TYPED(DEFINE, shmemx, TYPES, OP, SHAPE)
#define ROW_X_CTX(TYPES, OP, SHAPE)                   TYPED(DEFINE_CTX, shmemx, TYPES, OP, SHAPE)
#define SIZED(UNITS, DEFINER, OP, TAIL, SHAPE) \
  ATOLL_UNITS_##UNITS(DEFINER, OP, TAIL, ATOLL_RET_##SHAPE, ATOLL_PARAMS_##SHAPE)
#define SIZED_ROW(UNITS, OP, TAIL, SHAPE)             SIZED(UNITS, DEFINE_SIZED, OP, TAIL, SHAPE)
#define SIZED_ROW_CTX(UNITS, OP, TAIL, SHAPE)         SIZED(UNITS, DEFINE_SIZED_CTX, OP, TAIL, SHAPE)

#include "../../cmake/all_tables.h"

/* shmemx_stats_t may have more counters where it has reserved room, so where each lies counts. */
#define OFFSET(NAME, HELP)                            char atoll_offset_##NAME[4096 + offsetof(shmemx_stats_t, NAME)];
SHMEMX_STATS(OFFSET)
OFFSET(mshr_miss_rate, )
char atoll_size_of_stats[sizeof(shmemx_stats_t)];
