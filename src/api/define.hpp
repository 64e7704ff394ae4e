// SPDX-License-Identifier: BSD-3-Clause
// From the tables of include/shmem to symbols: each function is a strong pshmem_ name and a weak shmem_ alias
// of it, so that a tool may replace shmem_x and call pshmem_x (OpenSHMEM 1.6, section 10); likewise pshmemx_
// and shmemx_.
//
// A family such as _put is one template `_put<T>(Call, shmem_ctx_t, arguments)` in namespace shm::api; the
// ATOLL_*_ROW macros instantiate it for every row of its type table.
#pragma once

#include "core/address.hpp"
#include "pshmem.h"
#include "pshmemx.h"
#include "shmem.h"

// Families on the hot path: each symbol gets a body of its own instead of a jump to a shared one.
#define ATOLL_INLINE [[gnu::always_inline]] inline

#define ATOLL_STRIP_(...) __VA_ARGS__

// A function whose twin has the same signature: RET pshmem_x PARAMS { return BODY; } and its alias.
#define ATOLL_ALIAS_(RET, NAME, PARAMS, ...) [[gnu::weak, gnu::alias("p" #NAME)]] ATOLL_API RET NAME PARAMS;

#define ATOLL_DEFINE_(NAME, T, OP, RET, PARAMS, ARGS)                         \
  RET(T) pshmem_##NAME##OP(PARAMS(T)) {                                       \
    return shm::api::OP<T>(shm::Call{"shmem_" #NAME #OP}, ATOLL_STRIP_ ARGS); \
  }                                                                           \
  [[gnu::weak, gnu::alias("pshmem_" #NAME #OP)]] RET(T) shmem_##NAME##OP(PARAMS(T));

#define ATOLL_DEFINE_CTX_(NAME, T, LIB, OP, RET, PARAMS, ARGS)                                   \
  RET(T) p##LIB##_##NAME##OP(PARAMS(T)) {                                                        \
    return shm::api::OP<T>(shm::Call{#LIB "_" #NAME #OP}, SHMEM_CTX_DEFAULT, ATOLL_STRIP_ ARGS); \
  }                                                                                              \
  RET(T) p##LIB##_ctx_##NAME##OP(shmem_ctx_t ctx, PARAMS(T)) {                                   \
    return shm::api::OP<T>(shm::Call{#LIB "_ctx_" #NAME #OP}, ctx, ATOLL_STRIP_ ARGS);           \
  }                                                                                              \
  [[gnu::weak, gnu::alias("p" #LIB "_" #NAME #OP)]] RET(T) LIB##_##NAME##OP(PARAMS(T));          \
  [[gnu::weak, gnu::alias("p" #LIB "_ctx_" #NAME #OP)]] RET(T) LIB##_ctx_##NAME##OP(shmem_ctx_t, PARAMS(T));

// The same for names with an element size, whose template takes the bytes of one element.
#define ATOLL_DEFINE_SIZED_(NAME, BYTES, OP, TAIL, RET, PARAMS, ARGS)                               \
  RET(void) pshmem##OP##NAME##TAIL(PARAMS(void)) {                                                  \
    return shm::api::sized##OP##TAIL<BYTES>(shm::Call{"shmem" #OP #NAME #TAIL}, ATOLL_STRIP_ ARGS); \
  }                                                                                                 \
  [[gnu::weak, gnu::alias("pshmem" #OP #NAME #TAIL)]] RET(void) shmem##OP##NAME##TAIL(PARAMS(void));

#define ATOLL_DEFINE_SIZED_CTX_(NAME, BYTES, OP, TAIL, RET, PARAMS, ARGS)                                    \
  RET(void) pshmem##OP##NAME##TAIL(PARAMS(void)) {                                                           \
    return shm::api::sized##OP##TAIL<BYTES>(shm::Call{"shmem" #OP #NAME #TAIL}, SHMEM_CTX_DEFAULT,           \
                                            ATOLL_STRIP_ ARGS);                                              \
  }                                                                                                          \
  RET(void) pshmem_ctx##OP##NAME##TAIL(shmem_ctx_t ctx, PARAMS(void)) {                                      \
    return shm::api::sized##OP##TAIL<BYTES>(shm::Call{"shmem_ctx" #OP #NAME #TAIL}, ctx, ATOLL_STRIP_ ARGS); \
  }                                                                                                          \
  [[gnu::weak, gnu::alias("pshmem" #OP #NAME #TAIL)]] RET(void) shmem##OP##NAME##TAIL(PARAMS(void));         \
  [[gnu::weak, gnu::alias("pshmem_ctx" #OP #NAME #TAIL)]] RET(void)                                          \
      shmem_ctx##OP##NAME##TAIL(shmem_ctx_t, PARAMS(void));

// Rows of the tables, to be passed to ATOLL_OPS_... and ATOLL_SIZED_...; the one with X, to SHMEMX_OPS.
#define ATOLL_ROW(TYPES, OP, SHAPE) \
  ATOLL_TYPES_##TYPES(ATOLL_DEFINE_, OP, ATOLL_RET_##SHAPE, ATOLL_PARAMS_##SHAPE, (ATOLL_ARGS_##SHAPE))
#define ATOLL_CTX_ROW(TYPES, OP, SHAPE) ATOLL_CTX_ROW_OF_(shmem, TYPES, OP, SHAPE)
#define ATOLL_X_CTX_ROW(TYPES, OP, SHAPE) ATOLL_CTX_ROW_OF_(shmemx, TYPES, OP, SHAPE)
#define ATOLL_CTX_ROW_OF_(LIB, TYPES, OP, SHAPE)                                           \
  ATOLL_TYPES_##TYPES(ATOLL_DEFINE_CTX_, LIB, OP, ATOLL_RET_##SHAPE, ATOLL_PARAMS_##SHAPE, \
                      (ATOLL_ARGS_##SHAPE))
#define ATOLL_SIZED_ROW(UNITS, OP, TAIL, SHAPE)                                               \
  ATOLL_UNITS_##UNITS(ATOLL_DEFINE_SIZED_, OP, TAIL, ATOLL_RET_##SHAPE, ATOLL_PARAMS_##SHAPE, \
                      (ATOLL_ARGS_##SHAPE))
#define ATOLL_SIZED_CTX_ROW(UNITS, OP, TAIL, SHAPE)                                               \
  ATOLL_UNITS_##UNITS(ATOLL_DEFINE_SIZED_CTX_, OP, TAIL, ATOLL_RET_##SHAPE, ATOLL_PARAMS_##SHAPE, \
                      (ATOLL_ARGS_##SHAPE))
