// SPDX-License-Identifier: BSD-3-Clause
// Every function of the API as a list, for tools that wrap them all.  It is made from the tables that the
// headers themselves are made from.
//
//   ALL_FUNCTIONS   each function through the macros in force: MAKE_F and MAKE_EXIT (without a type), MAKE
//   and MAKE_CTX
//                   (with one), MAKE_SIZED and MAKE_SIZED_CTX.  Here they are NAMED(function), for numbers
//                   and names; a tool then defines them anew.  Behind RET, PARAMS and ARGS they get
//                   BYTES(size of an element), what the call moves, and the PE that it is made for, in terms
//                   of its parameters, and CHECK_<shape>, which is a tool's own.
#pragma once

#include <pshmem.h>
#include <pshmemx.h>

// ---- What a call moves, by its shape: elements of `size` bytes, named as the parameters are

// clang-format off
#define BYTES_STORE(size)            size
#define BYTES_LOAD(size)             size
#define BYTES_FETCH_OP(size)         size
#define BYTES_CSWAP(size)            size
#define BYTES_INC(size)              size
#define BYTES_FETCH_INC(size)        size
#define BYTES_FETCH_NBI(size)        size
#define BYTES_FETCH_OP_NBI(size)     size
#define BYTES_CSWAP_NBI(size)        size
#define BYTES_FETCH_INC_NBI(size)    size
#define BYTES_COPY(size)             nelems * size
#define BYTES_STRIDED(size)          nelems * size
#define BYTES_BLOCKS(size)           bsize * nblocks * size
#define BYTES_SIGNALED(size)         nelems * size
#define BYTES_TEAM(size)             nelems * size
#define BYTES_TEAM_STRIDED(size)     nelems * size
#define BYTES_TEAM_ROOTED(size)      nelems * size
#define BYTES_ACTIVE(size)           nelems * size
#define BYTES_ACTIVE_STRIDED(size)   nelems * size
#define BYTES_ACTIVE_ROOTED(size)    nelems * size
#define BYTES_ACTIVE_REDUCE(size)    static_cast<std::size_t>(nreduce) * size
// Waits and tests look at this PE's own memory.
#define BYTES_WAIT(size)             0
#define BYTES_TEST(size)             0
#define BYTES_WAIT_ALL(size)         0
#define BYTES_TEST_ALL(size)         0
#define BYTES_ANY(size)              0
#define BYTES_SOME(size)             0
#define BYTES_WAIT_ALL_VECTOR(size)  0
#define BYTES_TEST_ALL_VECTOR(size)  0
#define BYTES_ANY_VECTOR(size)       0
#define BYTES_SOME_VECTOR(size)      0
#define BYTES_CHANGE(size)           0
// clang-format on

// ---- The PE that it is made for: its parameter, or -1 where there is no such one

// clang-format off
#define PE_STORE              pe
#define PE_LOAD               pe
#define PE_FETCH_OP           pe
#define PE_CSWAP              pe
#define PE_INC                pe
#define PE_FETCH_INC          pe
#define PE_FETCH_NBI          pe
#define PE_FETCH_OP_NBI       pe
#define PE_CSWAP_NBI          pe
#define PE_FETCH_INC_NBI      pe
#define PE_COPY               pe
#define PE_STRIDED            pe
#define PE_BLOCKS             pe
#define PE_SIGNALED           pe
#define PE_TEAM               -1
#define PE_TEAM_STRIDED       -1
#define PE_TEAM_ROOTED        -1
#define PE_ACTIVE             -1
#define PE_ACTIVE_STRIDED     -1
#define PE_ACTIVE_ROOTED      -1
#define PE_ACTIVE_REDUCE      -1
#define PE_WAIT               -1
#define PE_TEST               -1
#define PE_WAIT_ALL           -1
#define PE_TEST_ALL           -1
#define PE_ANY                -1
#define PE_SOME               -1
#define PE_WAIT_ALL_VECTOR    -1
#define PE_TEST_ALL_VECTOR    -1
#define PE_ANY_VECTOR         -1
#define PE_SOME_VECTOR        -1
#define PE_CHANGE             -1
// clang-format on

// ---- All rows of all tables, through the macros MAKE... that are in force

// clang-format off
#define ROW(TYPES, OP, SHAPE)        ROW_OF(MAKE, shmem, TYPES, OP, SHAPE)
#define ROW_CTX(TYPES, OP, SHAPE)    ROW_OF(MAKE_CTX, shmem, TYPES, OP, SHAPE)
#define ROW_X(TYPES, OP, SHAPE)      ROW_OF(MAKE, shmemx, TYPES, OP, SHAPE)
#define ROW_X_CTX(TYPES, OP, SHAPE)  ROW_OF(MAKE_CTX, shmemx, TYPES, OP, SHAPE)
#define ROW_OF(FUNCTION, LIB, TYPES, OP, SHAPE) \
  ATOLL_TYPES_##TYPES(FUNCTION, LIB, OP, ATOLL_RET_##SHAPE, ATOLL_PARAMS_##SHAPE, (ATOLL_ARGS_##SHAPE), BYTES_##SHAPE, PE_##SHAPE, \
                      CHECK_##SHAPE)
#define SIZED(UNITS, OP, TAIL, SHAPE) \
  ATOLL_UNITS_##UNITS(MAKE_SIZED, OP, TAIL, ATOLL_RET_##SHAPE, ATOLL_PARAMS_##SHAPE, (ATOLL_ARGS_##SHAPE), \
                      BYTES_##SHAPE, PE_##SHAPE, CHECK_##SHAPE)
#define SIZED_CTX(UNITS, OP, TAIL, SHAPE) \
  ATOLL_UNITS_##UNITS(MAKE_SIZED_CTX, OP, TAIL, ATOLL_RET_##SHAPE, ATOLL_PARAMS_##SHAPE, (ATOLL_ARGS_##SHAPE), \
                      BYTES_##SHAPE, PE_##SHAPE, CHECK_##SHAPE)

#define PLAIN_FUNCTIONS                                                                                   \
  ATOLL_FUNCS_SETUP(MAKE_F) ATOLL_FUNCS_MEMORY(MAKE_F) ATOLL_FUNCS_TEAM(MAKE_F) ATOLL_FUNCS_CONTEXT(MAKE_F) \
  ATOLL_FUNCS_ORDER(MAKE_F) ATOLL_FUNCS_SIGNAL(MAKE_F) ATOLL_FUNCS_SYNC(MAKE_F) ATOLL_FUNCS_WAIT(MAKE_F)  \
  ATOLL_FUNCS_LOCK(MAKE_F) ATOLL_FUNCS_DEPRECATED(MAKE_F) SHMEMX_FUNCS(MAKE_F)
#define TYPED_FUNCTIONS                                                                                   \
  ATOLL_OPS_CTX(ROW) ATOLL_OPS_CTX(ROW_CTX) ATOLL_OPS_NO_CTX(ROW) ATOLL_OPS_DEPRECATED(ROW) ATOLL_OPS_EXTRA(ROW) \
  ATOLL_OPS_EXTRA_CTX(ROW) ATOLL_OPS_EXTRA_CTX(ROW_CTX) SHMEMX_OPS(ROW_X) SHMEMX_OPS(ROW_X_CTX)
#define SIZED_FUNCTIONS                                                                                   \
  ATOLL_SIZED_CTX(SIZED) ATOLL_SIZED_CTX(SIZED_CTX) ATOLL_SIZED_NO_CTX(SIZED) ATOLL_SIZED_DEPRECATED(SIZED)
#define ALL_FUNCTIONS PLAIN_FUNCTIONS TYPED_FUNCTIONS SIZED_FUNCTIONS ATOLL_FUNCS_EXIT(MAKE_EXIT)

// ---- Their numbers and names

#define MAKE_F(RET, NAME, PARAMS, ARGS)        NAMED(NAME)
#define MAKE_EXIT(RET, NAME, PARAMS, ARGS)     NAMED(NAME)
#define MAKE(NAME, T, LIB, OP, ...)            NAMED(LIB##_##NAME##OP)
#define MAKE_CTX(NAME, T, LIB, OP, ...)        NAMED(LIB##_ctx_##NAME##OP)
#define MAKE_SIZED(NAME, UNIT, OP, TAIL, ...)      NAMED(shmem##OP##NAME##TAIL)
#define MAKE_SIZED_CTX(NAME, UNIT, OP, TAIL, ...)  NAMED(shmem_ctx##OP##NAME##TAIL)
// clang-format on
