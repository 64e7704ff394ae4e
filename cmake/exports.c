/* SPDX-License-Identifier: BSD-3-Clause */
/* Preprocessed, this says which functions the headers declare: exports.cmake reads the words after atoll_export_. */
#include "pshmem.h"
#include "pshmemx.h"

// clang-format off

#define FUNC(RET, NAME, PARAMS, ARGS)                 atoll_export_ NAME atoll_export_ p##NAME
#define EXPORT(NAME, T, LIB, OP)                      FUNC(, LIB##_##NAME##OP, , )
#define EXPORT_CTX(NAME, T, LIB, OP)                  FUNC(, LIB##_ctx_##NAME##OP, , )
#define EXPORT_SIZED(NAME, BYTES, LIB, OP, TAIL)      FUNC(, LIB##OP##NAME##TAIL, , )

#define ROW(TYPES, OP, SHAPE)                         ATOLL_TYPES_##TYPES(EXPORT, shmem, OP)
#define ROW_CTX(TYPES, OP, SHAPE)                     ATOLL_TYPES_##TYPES(EXPORT_CTX, shmem, OP)
#define ROW_X(TYPES, OP, SHAPE)                       ATOLL_TYPES_##TYPES(EXPORT, shmemx, OP)
#define ROW_X_CTX(TYPES, OP, SHAPE)                   ATOLL_TYPES_##TYPES(EXPORT_CTX, shmemx, OP)
#define SIZED_ROW(UNITS, OP, TAIL, SHAPE)             ATOLL_UNITS_##UNITS(EXPORT_SIZED, shmem, OP, TAIL)
#define SIZED_ROW_CTX(UNITS, OP, TAIL, SHAPE)         ATOLL_UNITS_##UNITS(EXPORT_SIZED, shmem_ctx, OP, TAIL)

#include "all_tables.h"
