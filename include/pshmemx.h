/* SPDX-License-Identifier: BSD-3-Clause */
/* The profiling interface of the extensions: every function of shmemx.h under a second name, with a p in
 * front, as pshmem.h has them for shmem.h. */
#ifndef PSHMEMX_H
#define PSHMEMX_H

#include "shmemx.h"

#ifdef __cplusplus
extern "C" {
#endif

/* clang-format off */

#define PSHMEMX_DECLARE_(NAME, T, OP, RET, PARAMS) \
  ATOLL_API RET(T) pshmemx_##NAME##OP(PARAMS(T)); \
  ATOLL_API RET(T) pshmemx_ctx_##NAME##OP(shmem_ctx_t ctx, PARAMS(T));

#define PSHMEMX_ROW_(TYPES, OP, SHAPE) \
  ATOLL_TYPES_##TYPES(PSHMEMX_DECLARE_, OP, ATOLL_RET_##SHAPE, ATOLL_PARAMS_##SHAPE)

#define PSHMEMX_DECLARE_F_(RET, NAME, PARAMS, ARGS) \
  ATOLL_API RET p##NAME PARAMS;

SHMEMX_OPS(PSHMEMX_ROW_)
SHMEMX_FUNCS(PSHMEMX_DECLARE_F_)

/* clang-format on */

#ifdef __cplusplus
}
#endif

#endif
