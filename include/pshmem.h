/* SPDX-License-Identifier: BSD-3-Clause */
/* The profiling interface: every function of shmem.h under a second name, with a p in front.
 *
 * A tool defines shmem_x itself, does its work and calls pshmem_x.  Only functions have these names: a call
 * of a generic such as shmem_put reaches the tool as the typed function it stands for. */
#ifndef PSHMEM_H
#define PSHMEM_H

#include "shmem.h"

#ifdef __cplusplus
extern "C" {
#endif

/* clang-format off */

#define PSHMEM_DECLARE_F_(RET, NAME, PARAMS, ARGS) \
  ATOLL_API RET p##NAME PARAMS;

#define PSHMEM_DECLARE_(NAME, T, OP, RET, PARAMS) \
  ATOLL_API RET(T) pshmem_##NAME##OP(PARAMS(T));
#define PSHMEM_DECLARE_CTX_(NAME, T, OP, RET, PARAMS) \
  ATOLL_API RET(T) pshmem_ctx_##NAME##OP(shmem_ctx_t ctx, PARAMS(T));

#define PSHMEM_DECLARE_SIZED_(NAME, BYTES, OP, TAIL, RET, PARAMS) \
  ATOLL_API RET(void) pshmem##OP##NAME##TAIL(PARAMS(void));
#define PSHMEM_DECLARE_SIZED_CTX_(NAME, BYTES, OP, TAIL, RET, PARAMS) \
  ATOLL_API RET(void) pshmem_ctx##OP##NAME##TAIL(shmem_ctx_t ctx, PARAMS(void));

#define PSHMEM_ROW_(TYPES, OP, SHAPE) \
  ATOLL_TYPES_##TYPES(PSHMEM_DECLARE_, OP, ATOLL_RET_##SHAPE, ATOLL_PARAMS_##SHAPE)
#define PSHMEM_ROW_CTX_(TYPES, OP, SHAPE) \
  ATOLL_TYPES_##TYPES(PSHMEM_DECLARE_CTX_, OP, ATOLL_RET_##SHAPE, ATOLL_PARAMS_##SHAPE)

#define PSHMEM_SIZED_ROW_(UNITS, OP, TAIL, SHAPE) \
  ATOLL_UNITS_##UNITS(PSHMEM_DECLARE_SIZED_, OP, TAIL, ATOLL_RET_##SHAPE, ATOLL_PARAMS_##SHAPE)
#define PSHMEM_SIZED_ROW_CTX_(UNITS, OP, TAIL, SHAPE) \
  ATOLL_UNITS_##UNITS(PSHMEM_DECLARE_SIZED_CTX_, OP, TAIL, ATOLL_RET_##SHAPE, ATOLL_PARAMS_##SHAPE)

ATOLL_FUNCS(PSHMEM_DECLARE_F_)
ATOLL_OPS_CTX(PSHMEM_ROW_)
ATOLL_OPS_CTX(PSHMEM_ROW_CTX_)
ATOLL_OPS_NO_CTX(PSHMEM_ROW_)
ATOLL_SIZED_CTX(PSHMEM_SIZED_ROW_)
ATOLL_SIZED_CTX(PSHMEM_SIZED_ROW_CTX_)
ATOLL_SIZED_NO_CTX(PSHMEM_SIZED_ROW_)

ATOLL_FUNCS_DEPRECATED(PSHMEM_DECLARE_F_)
ATOLL_OPS_DEPRECATED(PSHMEM_ROW_)
ATOLL_OPS_EXTRA(PSHMEM_ROW_)
ATOLL_OPS_EXTRA_CTX(PSHMEM_ROW_)
ATOLL_OPS_EXTRA_CTX(PSHMEM_ROW_CTX_)
ATOLL_SIZED_DEPRECATED(PSHMEM_SIZED_ROW_)

/* clang-format on */

#ifdef __cplusplus
}
#endif

#endif
