/* SPDX-License-Identifier: BSD-3-Clause */
/* Every table of functions in the headers, through the macros in force: FUNC for functions without a type, ROW, ROW_CTX,
 * ROW_X and ROW_X_CTX for those with one, SIZED_ROW and SIZED_ROW_CTX for those of a size.  With WITHOUT_TYPED the first
 * alone: those with a type are most, but of few kinds. */
ATOLL_FUNCS(FUNC)
ATOLL_FUNCS_DEPRECATED(FUNC)
SHMEMX_FUNCS(FUNC)
#ifndef WITHOUT_TYPED
ATOLL_OPS_CTX(ROW)
ATOLL_OPS_CTX(ROW_CTX)
ATOLL_OPS_NO_CTX(ROW)
ATOLL_OPS_DEPRECATED(ROW)
ATOLL_OPS_EXTRA(ROW)
ATOLL_OPS_EXTRA_CTX(ROW)
ATOLL_OPS_EXTRA_CTX(ROW_CTX)
ATOLL_SIZED_CTX(SIZED_ROW)
ATOLL_SIZED_CTX(SIZED_ROW_CTX)
ATOLL_SIZED_NO_CTX(SIZED_ROW)
ATOLL_SIZED_DEPRECATED(SIZED_ROW)
SHMEMX_OPS(ROW_X)
SHMEMX_OPS(ROW_X_CTX)
#endif
