/* SPDX-License-Identifier: BSD-3-Clause */
/* The type tables of OpenSHMEM 1.6, one macro per table.
 *
 *   ATOLL_TYPES_<TABLE>(X, ...)      calls X(NAME, TYPE, ...) for each row: NAME stands for TYPE in the names
 *                                    of functions, the arguments after X are handed through.
 *   ATOLL_DISTINCT_<TABLE>(X, ...)   the same table, reduced to the types that a compiler can tell apart:
 *                                    int64_t is another name of long, so who covers long covers both.
 *   ATOLL_UNITS_<TABLE>(X, ...)      calls X(NAME, BYTES, ...) for each element size, as in shmem_put32.
 *
 * Handing arguments through is what lets the tables of operations (ops.h) be crossed with these.  At least
 * one must follow X.  X must paste NAME at once (##), before a user's macro called size can replace it.
 *
 * "Table n" is the number of the table in the OpenSHMEM 1.6 document. */
#ifndef ATOLL_TYPES_H
#define ATOLL_TYPES_H

#include <stddef.h>
#include <stdint.h>

/* The complex types under names that C++, which has no keyword for them, accepts without a warning.  Their
 * layout is that of std::complex. */
__extension__ typedef double _Complex shmem_complexd_;
__extension__ typedef float _Complex shmem_complexf_;

/* clang-format off */

/* ---- Remote memory access ----------------------------------------------------------------------------- */

/* Standard RMA types (Table 5), 24 rows.
 * Used by: p g put get iput iget ibput ibget and their _nbi forms, put_signal, team alltoall(s), broadcast,
 * collect, fcollect. */
#define ATOLL_TYPES_RMA(X, ...)                  \
  ATOLL_DISTINCT_RMA(X, __VA_ARGS__)             \
  X(int8,       int8_t,             __VA_ARGS__) \
  X(int16,      int16_t,            __VA_ARGS__) \
  X(int32,      int32_t,            __VA_ARGS__) \
  X(int64,      int64_t,            __VA_ARGS__) \
  X(uint8,      uint8_t,            __VA_ARGS__) \
  X(uint16,     uint16_t,           __VA_ARGS__) \
  X(uint32,     uint32_t,           __VA_ARGS__) \
  X(uint64,     uint64_t,           __VA_ARGS__) \
  X(size,       size_t,             __VA_ARGS__) \
  X(ptrdiff,    ptrdiff_t,          __VA_ARGS__)

#define ATOLL_DISTINCT_RMA(X, ...)               \
  X(float,      float,              __VA_ARGS__) \
  X(double,     double,             __VA_ARGS__) \
  X(longdouble, long double,        __VA_ARGS__) \
  X(char,       char,               __VA_ARGS__) \
  X(schar,      signed char,        __VA_ARGS__) \
  X(short,      short,              __VA_ARGS__) \
  X(int,        int,                __VA_ARGS__) \
  X(long,       long,               __VA_ARGS__) \
  X(longlong,   long long,          __VA_ARGS__) \
  X(uchar,      unsigned char,      __VA_ARGS__) \
  X(ushort,     unsigned short,     __VA_ARGS__) \
  X(uint,       unsigned int,       __VA_ARGS__) \
  X(ulong,      unsigned long,      __VA_ARGS__) \
  X(ulonglong,  unsigned long long, __VA_ARGS__)

/* Element sizes in bits, with their bytes, 5 rows.
 * Used by: put8 iput8 ibput8 get8 iget8 ibget8 put8_nbi get8_nbi put8_signal put8_signal_nbi. */
#define ATOLL_UNITS_BITS(X, ...) \
  X(8,    1, __VA_ARGS__)        \
  X(16,   2, __VA_ARGS__)        \
  X(32,   4, __VA_ARGS__)        \
  X(64,   8, __VA_ARGS__)        \
  X(128, 16, __VA_ARGS__)

/* Untyped memory, counted in bytes.
 * Used by: putmem getmem and their _nbi and _signal forms, alltoall(s)mem, broadcastmem, (f)collectmem. */
#define ATOLL_UNITS_MEM(X, ...) \
  X(mem,  1, __VA_ARGS__)

/* ---- Atomics and point-to-point synchronization ------------------------------------------------------- */

/* Standard AMO types (Table 6), 12 rows.
 * Used by: compare_swap fetch_inc inc fetch_add add and their _nbi forms; all of wait_until and test. */
#define ATOLL_TYPES_AMO(X, ...)                 \
  ATOLL_DISTINCT_AMO(X, __VA_ARGS__)            \
  X(int32,     int32_t,            __VA_ARGS__) \
  X(int64,     int64_t,            __VA_ARGS__) \
  X(uint32,    uint32_t,           __VA_ARGS__) \
  X(uint64,    uint64_t,           __VA_ARGS__) \
  X(size,      size_t,             __VA_ARGS__) \
  X(ptrdiff,   ptrdiff_t,          __VA_ARGS__)

#define ATOLL_DISTINCT_AMO(X, ...)              \
  X(int,       int,                __VA_ARGS__) \
  X(long,      long,               __VA_ARGS__) \
  X(longlong,  long long,          __VA_ARGS__) \
  X(uint,      unsigned int,       __VA_ARGS__) \
  X(ulong,     unsigned long,      __VA_ARGS__) \
  X(ulonglong, unsigned long long, __VA_ARGS__)

/* Extended AMO types (Table 7), 14 rows: the standard ones and two that can be moved but not added to.
 * Used by: fetch set swap and their _nbi forms. */
#define ATOLL_TYPES_AMO_EXT(X, ...)             \
  X(float,     float,              __VA_ARGS__) \
  X(double,    double,             __VA_ARGS__) \
  ATOLL_TYPES_AMO(X, __VA_ARGS__)

#define ATOLL_DISTINCT_AMO_EXT(X, ...)          \
  X(float,     float,              __VA_ARGS__) \
  X(double,    double,             __VA_ARGS__) \
  ATOLL_DISTINCT_AMO(X, __VA_ARGS__)

/* Bitwise AMO types (Table 8), 7 rows: int and long take part only as int32_t and int64_t.
 * Used by: fetch_and fetch_or fetch_xor and their _nbi forms, and or xor. */
#define ATOLL_TYPES_BITWISE(X, ...)             \
  ATOLL_DISTINCT_BITWISE(X, __VA_ARGS__)        \
  X(uint32,    uint32_t,           __VA_ARGS__) \
  X(uint64,    uint64_t,           __VA_ARGS__)

#define ATOLL_DISTINCT_BITWISE(X, ...)          \
  X(uint,      unsigned int,       __VA_ARGS__) \
  X(ulong,     unsigned long,      __VA_ARGS__) \
  X(ulonglong, unsigned long long, __VA_ARGS__) \
  X(int32,     int32_t,            __VA_ARGS__) \
  X(int64,     int64_t,            __VA_ARGS__)

/* Not in the specification, for compatibility: the types that Open MPI takes as well, 3 rows.  Among these a
 * compiler knows int and long as int32_t and int64_t. */
#define ATOLL_TYPES_BITWISE_EXTRA(X, ...)       \
  X(int,       int,                __VA_ARGS__) \
  X(long,      long,               __VA_ARGS__) \
  X(longlong,  long long,          __VA_ARGS__)

#define ATOLL_DISTINCT_BITWISE_EXTRA(X, ...)    \
  X(longlong,  long long,          __VA_ARGS__)

/* What the generics of the bitwise families select from. */
#define ATOLL_DISTINCT_BITWISE_ALL(X, ...)      \
  ATOLL_DISTINCT_BITWISE(X, __VA_ARGS__)        \
  ATOLL_DISTINCT_BITWISE_EXTRA(X, __VA_ARGS__)

/* ---- Team reductions and scans (Table 10) ------------------------------------------------------------- */

/* 14 rows.  Used by: and_reduce or_reduce xor_reduce. */
#define ATOLL_TYPES_REDUCE_BITS(X, ...)         \
  ATOLL_DISTINCT_REDUCE_BITS(X, __VA_ARGS__)    \
  X(uint8,     uint8_t,            __VA_ARGS__) \
  X(uint16,    uint16_t,           __VA_ARGS__) \
  X(uint32,    uint32_t,           __VA_ARGS__) \
  X(uint64,    uint64_t,           __VA_ARGS__) \
  X(size,      size_t,             __VA_ARGS__)

#define ATOLL_DISTINCT_REDUCE_BITS(X, ...)      \
  X(uchar,     unsigned char,      __VA_ARGS__) \
  X(ushort,    unsigned short,     __VA_ARGS__) \
  X(uint,      unsigned int,       __VA_ARGS__) \
  X(ulong,     unsigned long,      __VA_ARGS__) \
  X(ulonglong, unsigned long long, __VA_ARGS__) \
  X(int8,      int8_t,             __VA_ARGS__) \
  X(int16,     int16_t,            __VA_ARGS__) \
  X(int32,     int32_t,            __VA_ARGS__) \
  X(int64,     int64_t,            __VA_ARGS__)

/* 24 rows, the types that have an order.  Used by: max_reduce min_reduce. */
#define ATOLL_TYPES_REDUCE_ORDER(X, ...)     ATOLL_TYPES_RMA(X, __VA_ARGS__)
#define ATOLL_DISTINCT_REDUCE_ORDER(X, ...)  ATOLL_DISTINCT_RMA(X, __VA_ARGS__)

/* 26 rows.  Used by: sum_reduce prod_reduce sum_inscan sum_exscan. */
#define ATOLL_TYPES_REDUCE_ARITH(X, ...)           \
  ATOLL_TYPES_REDUCE_ORDER(X, __VA_ARGS__)         \
  ATOLL_TYPES_COMPLEX(X, __VA_ARGS__)

#define ATOLL_DISTINCT_REDUCE_ARITH(X, ...)        \
  ATOLL_DISTINCT_REDUCE_ORDER(X, __VA_ARGS__)      \
  ATOLL_TYPES_COMPLEX(X, __VA_ARGS__)

#define ATOLL_TYPES_COMPLEX(X, ...)                \
  X(complexd,   shmem_complexd_,    __VA_ARGS__)   \
  X(complexf,   shmem_complexf_,    __VA_ARGS__)

/* ---- Deprecated interfaces ---------------------------------------------------------------------------- */

/* Active-set reductions (Table 11, deprecated in 1.5): 4 types for and or xor, 7 for max min, 9 for sum prod.
 * Used by: and_to_all or_to_all xor_to_all | max_to_all min_to_all | sum_to_all prod_to_all. */
#define ATOLL_TYPES_ACTIVE_BITS(X, ...)            \
  X(short,      short,              __VA_ARGS__)   \
  X(int,        int,                __VA_ARGS__)   \
  X(long,       long,               __VA_ARGS__)   \
  X(longlong,   long long,          __VA_ARGS__)

#define ATOLL_TYPES_ACTIVE_ORDER(X, ...)           \
  ATOLL_TYPES_ACTIVE_BITS(X, __VA_ARGS__)          \
  X(float,      float,              __VA_ARGS__)   \
  X(double,     double,             __VA_ARGS__)   \
  X(longdouble, long double,        __VA_ARGS__)

#define ATOLL_TYPES_ACTIVE_ARITH(X, ...)           \
  ATOLL_TYPES_ACTIVE_ORDER(X, __VA_ARGS__)         \
  ATOLL_TYPES_COMPLEX(X, __VA_ARGS__)

/* Active-set data movement (deprecated in 1.5).
 * Used by: alltoall32 alltoalls32 broadcast32 collect32 fcollect32, and 64. */
#define ATOLL_UNITS_ACTIVE(X, ...) \
  X(32, 4, __VA_ARGS__)            \
  X(64, 8, __VA_ARGS__)

/* Atomics under their old names (deprecated in 1.4): 3 types, and 5 for those that only move a value.
 * Used by: cswap finc inc fadd add | fetch set swap. */
#define ATOLL_TYPES_OLD_AMO(X, ...)                \
  X(int,        int,                __VA_ARGS__)   \
  X(long,       long,               __VA_ARGS__)   \
  X(longlong,   long long,          __VA_ARGS__)

#define ATOLL_TYPES_OLD_AMO_EXT(X, ...)            \
  X(float,      float,              __VA_ARGS__)   \
  X(double,     double,             __VA_ARGS__)   \
  ATOLL_TYPES_OLD_AMO(X, __VA_ARGS__)

/* The standard AMO types that are not among them, which the specification leaves out and we accept. */
#define ATOLL_TYPES_OLD_AMO_EXTRA(X, ...)          \
  X(uint,       unsigned int,       __VA_ARGS__)   \
  X(ulong,      unsigned long,      __VA_ARGS__)   \
  X(ulonglong,  unsigned long long, __VA_ARGS__)   \
  X(int32,      int32_t,            __VA_ARGS__)   \
  X(int64,      int64_t,            __VA_ARGS__)   \
  X(uint32,     uint32_t,           __VA_ARGS__)   \
  X(uint64,     uint64_t,           __VA_ARGS__)   \
  X(size,       size_t,             __VA_ARGS__)   \
  X(ptrdiff,    ptrdiff_t,          __VA_ARGS__)

#define ATOLL_DISTINCT_OLD_AMO(X, ...)      ATOLL_DISTINCT_AMO(X, __VA_ARGS__)
#define ATOLL_DISTINCT_OLD_AMO_EXT(X, ...)  ATOLL_DISTINCT_AMO_EXT(X, __VA_ARGS__)

/* The wait for any change (deprecated in 1.4).
 * Used by: wait. */
#define ATOLL_TYPES_OLD_WAIT(X, ...)               \
  X(short,      short,              __VA_ARGS__)   \
  X(int,        int,                __VA_ARGS__)   \
  X(long,       long,               __VA_ARGS__)   \
  X(longlong,   long long,          __VA_ARGS__)

/* The rows of Table 12 that are not standard AMO types (deprecated in 1.5).
 * Used by: wait_until test. */
#define ATOLL_TYPES_SHORT(X, ...)                  \
  X(short,      short,              __VA_ARGS__)   \
  X(ushort,     unsigned short,     __VA_ARGS__)

#define ATOLL_DISTINCT_SHORT(X, ...)        ATOLL_TYPES_SHORT(X, __VA_ARGS__)

/* What the generics of the wait and test families select from. */
#define ATOLL_DISTINCT_WAIT(X, ...)                \
  ATOLL_DISTINCT_AMO(X, __VA_ARGS__)               \
  ATOLL_DISTINCT_SHORT(X, __VA_ARGS__)

/* clang-format on */

#endif
