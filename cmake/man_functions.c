/* SPDX-License-Identifier: BSD-3-Clause */
/* Preprocessed, this is every row of the headers' tables of functions, as tools/man/tables.py reads it: a record begins with atoll_man,
 * and its parts are separated by atoll_to. */
#include "shmem.h"
#include "shmemx.h"

// clang-format off

#define FUNC(RET, NAME, PARAMS, ARGS)                 atoll_man plain atoll_to NAME atoll_to RET atoll_to PARAMS
#define LIST(NAME, T, ...)                            NAME atoll_is T atoll_next

#define RECORD(KIND, PREFIX, TYPES, OP, SHAPE) \
  atoll_man KIND atoll_to PREFIX TYPES OP atoll_to ATOLL_RET_##SHAPE(TYPE) atoll_to (ATOLL_PARAMS_##SHAPE(TYPE)) atoll_to \
  ATOLL_TYPES_##TYPES(LIST, )
#define RECORD_SIZED(KIND, UNITS, OP, TAIL, SHAPE) \
  atoll_man KIND atoll_to shmem UNITS OP TAIL atoll_to ATOLL_RET_##SHAPE(void) atoll_to (ATOLL_PARAMS_##SHAPE(void)) atoll_to \
  ATOLL_UNITS_##UNITS(LIST, )

#define ROW(TYPES, OP, SHAPE)                         RECORD(typed, shmem, TYPES, OP, SHAPE)
#define ROW_CTX(TYPES, OP, SHAPE)                     RECORD(typed_ctx, shmem, TYPES, OP, SHAPE)
#define ROW_X(TYPES, OP, SHAPE)                       RECORD(typed, shmemx, TYPES, OP, SHAPE)
#define ROW_X_CTX(TYPES, OP, SHAPE)                   RECORD(typed_ctx, shmemx, TYPES, OP, SHAPE)
#define SIZED_ROW(UNITS, OP, TAIL, SHAPE)             RECORD_SIZED(sized, UNITS, OP, TAIL, SHAPE)
#define SIZED_ROW_CTX(UNITS, OP, TAIL, SHAPE)         RECORD_SIZED(sized_ctx, UNITS, OP, TAIL, SHAPE)

#include "all_tables.h"
