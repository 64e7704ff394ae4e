/* SPDX-License-Identifier: BSD-3-Clause */
/* Every family of OpenSHMEM 1.6 functions that has a type or an element size in its name, once.
 *
 * These tables make the prototypes (shmem.h), the profiling names (pshmem.h), the C++ overloads
 * (shmem/generic.h) and the definitions (src/api).  Add a family here and nowhere else.
 *
 *   ROW(TYPES, OP, SHAPE)            shmem_<NAME><OP> for each NAME of ATOLL_TYPES_<TYPES>
 *   ROW(UNITS, OP, TAIL, SHAPE)      shmem<OP><NAME><TAIL> for each NAME of ATOLL_UNITS_<UNITS>
 *
 * In the groups gathered under _CTX each function has a twin that takes a context as its first parameter:
 * shmem_ctx_<NAME><OP> and shmem_ctx<OP><NAME><TAIL>.
 *
 * SHAPE is the call: ATOLL_RET_<SHAPE>(T) its return type, ATOLL_PARAMS_<SHAPE>(T) its parameters without the
 * context, ATOLL_ARGS_<SHAPE> the same parameters as arguments.  Functions named after an element size have
 * the same shapes, with T = void.
 *
 * OP keeps its underscore, and a ROW must paste TYPES, UNITS and SHAPE at once (##): so a user's macro called
 * get, P or RMA is harmless. */
#ifndef ATOLL_OPS_H
#define ATOLL_OPS_H

#include "types.h"

/* clang-format off */

/* ---- With a type, implicit and explicit context ------------------------------------------------------- */

#define ATOLL_OPS_CTX(ROW) \
  ATOLL_OPS_RMA(ROW) ATOLL_OPS_AMO(ROW) ATOLL_OPS_AMO_NBI(ROW) ATOLL_OPS_SIGNAL(ROW)

/* Remote memory access. */
#define ATOLL_OPS_RMA(ROW)                                \
  ROW(RMA,     _p,                       STORE)           \
  ROW(RMA,     _g,                       LOAD)            \
  ROW(RMA,     _put,                     COPY)            \
  ROW(RMA,     _get,                     COPY)            \
  ROW(RMA,     _iput,                    STRIDED)         \
  ROW(RMA,     _iget,                    STRIDED)         \
  ROW(RMA,     _ibput,                   BLOCKS)          \
  ROW(RMA,     _ibget,                   BLOCKS)          \
  ROW(RMA,     _put_nbi,                 COPY)            \
  ROW(RMA,     _get_nbi,                 COPY)

/* Atomics. */
#define ATOLL_OPS_AMO(ROW)                                \
  ROW(AMO_EXT, _atomic_fetch,            LOAD)            \
  ROW(AMO_EXT, _atomic_set,              STORE)           \
  ROW(AMO_EXT, _atomic_swap,             FETCH_OP)        \
  ROW(AMO,     _atomic_compare_swap,     CSWAP)           \
  ROW(AMO,     _atomic_fetch_inc,        FETCH_INC)       \
  ROW(AMO,     _atomic_inc,              INC)             \
  ROW(AMO,     _atomic_fetch_add,        FETCH_OP)        \
  ROW(AMO,     _atomic_add,              STORE)           \
  ROW(BITWISE, _atomic_fetch_and,        FETCH_OP)        \
  ROW(BITWISE, _atomic_and,              STORE)           \
  ROW(BITWISE, _atomic_fetch_or,         FETCH_OP)        \
  ROW(BITWISE, _atomic_or,               STORE)           \
  ROW(BITWISE, _atomic_fetch_xor,        FETCH_OP)        \
  ROW(BITWISE, _atomic_xor,              STORE)

/* Atomics whose result arrives later, no later than the next quiet. */
#define ATOLL_OPS_AMO_NBI(ROW)                            \
  ROW(AMO_EXT, _atomic_fetch_nbi,        FETCH_NBI)       \
  ROW(AMO_EXT, _atomic_swap_nbi,         FETCH_OP_NBI)    \
  ROW(AMO,     _atomic_compare_swap_nbi, CSWAP_NBI)       \
  ROW(AMO,     _atomic_fetch_inc_nbi,    FETCH_INC_NBI)   \
  ROW(AMO,     _atomic_fetch_add_nbi,    FETCH_OP_NBI)    \
  ROW(BITWISE, _atomic_fetch_and_nbi,    FETCH_OP_NBI)    \
  ROW(BITWISE, _atomic_fetch_or_nbi,     FETCH_OP_NBI)    \
  ROW(BITWISE, _atomic_fetch_xor_nbi,    FETCH_OP_NBI)

/* A put that announces itself in a signal word. */
#define ATOLL_OPS_SIGNAL(ROW)                             \
  ROW(RMA,     _put_signal,              SIGNALED)        \
  ROW(RMA,     _put_signal_nbi,          SIGNALED)

/* ---- With a type, no context -------------------------------------------------------------------------- */

#define ATOLL_OPS_NO_CTX(ROW) \
  ATOLL_OPS_WAIT(ROW) ATOLL_OPS_COLL(ROW) ATOLL_OPS_REDUCE(ROW) ATOLL_OPS_SCAN(ROW)

/* Point-to-point synchronization: on one word; on many, compared with one value or each with its own.  The
 * SHORT rows are deprecated, but here, because every expansion of the two generics mentions them. */
#define ATOLL_OPS_WAIT(ROW) \
  ATOLL_OPS_WAIT_ONE(ROW) ATOLL_OPS_WAIT_MANY(ROW)

#define ATOLL_OPS_WAIT_ONE(ROW)                           \
  ROW(AMO,     _wait_until,              WAIT)            \
  ROW(AMO,     _test,                    TEST)            \
  ROW(SHORT,   _wait_until,              WAIT)            \
  ROW(SHORT,   _test,                    TEST)

#define ATOLL_OPS_WAIT_MANY(ROW)                          \
  ROW(AMO,     _wait_until_all,          WAIT_ALL)        \
  ROW(AMO,     _wait_until_any,          ANY)             \
  ROW(AMO,     _wait_until_some,         SOME)            \
  ROW(AMO,     _wait_until_all_vector,   WAIT_ALL_VECTOR) \
  ROW(AMO,     _wait_until_any_vector,   ANY_VECTOR)      \
  ROW(AMO,     _wait_until_some_vector,  SOME_VECTOR)     \
  ROW(AMO,     _test_all,                TEST_ALL)        \
  ROW(AMO,     _test_any,                ANY)             \
  ROW(AMO,     _test_some,               SOME)            \
  ROW(AMO,     _test_all_vector,         TEST_ALL_VECTOR) \
  ROW(AMO,     _test_any_vector,         ANY_VECTOR)      \
  ROW(AMO,     _test_some_vector,        SOME_VECTOR)

/* Team collectives that move data. */
#define ATOLL_OPS_COLL(ROW)                               \
  ROW(RMA,     _alltoall,                TEAM)            \
  ROW(RMA,     _alltoalls,               TEAM_STRIDED)    \
  ROW(RMA,     _broadcast,               TEAM_ROOTED)     \
  ROW(RMA,     _collect,                 TEAM)            \
  ROW(RMA,     _fcollect,                TEAM)

/* Team reductions and scans. */
#define ATOLL_OPS_REDUCE(ROW)                             \
  ROW(REDUCE_BITS,  _and_reduce,         TEAM)            \
  ROW(REDUCE_BITS,  _or_reduce,          TEAM)            \
  ROW(REDUCE_BITS,  _xor_reduce,         TEAM)            \
  ROW(REDUCE_ORDER, _max_reduce,         TEAM)            \
  ROW(REDUCE_ORDER, _min_reduce,         TEAM)            \
  ROW(REDUCE_ARITH, _sum_reduce,         TEAM)            \
  ROW(REDUCE_ARITH, _prod_reduce,        TEAM)

#define ATOLL_OPS_SCAN(ROW)                               \
  ROW(REDUCE_ARITH, _sum_inscan,         TEAM)            \
  ROW(REDUCE_ARITH, _sum_exscan,         TEAM)

/* ---- With a type, deprecated, no context -------------------------------------------------------------- */

#define ATOLL_OPS_DEPRECATED(ROW) \
  ATOLL_OPS_OLD_AMO(ROW) ATOLL_OPS_OLD_WAIT(ROW) ATOLL_OPS_ACTIVE_REDUCE(ROW)

/* Atomics under the names they had before 1.4: fetch is atomic_fetch, cswap atomic_compare_swap, finc
 * atomic_fetch_inc, fadd atomic_fetch_add. */
#define ATOLL_OPS_OLD_AMO(ROW)                            \
  ROW(OLD_AMO_EXT,  _fetch,              LOAD)            \
  ROW(OLD_AMO_EXT,  _set,                STORE)           \
  ROW(OLD_AMO_EXT,  _swap,               FETCH_OP)        \
  ROW(OLD_AMO,      _cswap,              CSWAP)           \
  ROW(OLD_AMO,      _finc,               FETCH_INC)       \
  ROW(OLD_AMO,      _inc,                INC)             \
  ROW(OLD_AMO,      _fadd,               FETCH_OP)        \
  ROW(OLD_AMO,      _add,                STORE)

/* Waits for any change: wait_until with SHMEM_CMP_NE. */
#define ATOLL_OPS_OLD_WAIT(ROW)                           \
  ROW(OLD_WAIT,     _wait,               CHANGE)

/* Reductions over an active set. */
#define ATOLL_OPS_ACTIVE_REDUCE(ROW)                      \
  ROW(ACTIVE_BITS,  _and_to_all,         ACTIVE_REDUCE)   \
  ROW(ACTIVE_BITS,  _or_to_all,          ACTIVE_REDUCE)   \
  ROW(ACTIVE_BITS,  _xor_to_all,         ACTIVE_REDUCE)   \
  ROW(ACTIVE_ORDER, _max_to_all,         ACTIVE_REDUCE)   \
  ROW(ACTIVE_ORDER, _min_to_all,         ACTIVE_REDUCE)   \
  ROW(ACTIVE_ARITH, _sum_to_all,         ACTIVE_REDUCE)   \
  ROW(ACTIVE_ARITH, _prod_to_all,        ACTIVE_REDUCE)

/* ---- Beyond the specification ------------------------------------------------------------------------- */

/* Types that OpenSHMEM 1.6 leaves out of these families but that other implementations, and programs written
 * for them, accept: the old names of atomics on all AMO types, and short in all wait and test families; with an
 * implicit and an explicit context, bitwise atomics on int, long and long long, as Open MPI has them. */
#define ATOLL_OPS_EXTRA(ROW)      ATOLL_OPS_EXTRA_AMO(ROW) ATOLL_OPS_EXTRA_WAIT(ROW)
#define ATOLL_OPS_EXTRA_CTX(ROW)  ATOLL_OPS_EXTRA_BITWISE(ROW)

#define ATOLL_OPS_EXTRA_AMO(ROW)                          \
  ROW(OLD_AMO_EXTRA, _fetch,             LOAD)            \
  ROW(OLD_AMO_EXTRA, _set,               STORE)           \
  ROW(OLD_AMO_EXTRA, _swap,              FETCH_OP)        \
  ROW(OLD_AMO_EXTRA, _cswap,             CSWAP)           \
  ROW(OLD_AMO_EXTRA, _finc,              FETCH_INC)       \
  ROW(OLD_AMO_EXTRA, _inc,               INC)             \
  ROW(OLD_AMO_EXTRA, _fadd,              FETCH_OP)        \
  ROW(OLD_AMO_EXTRA, _add,               STORE)

#define ATOLL_OPS_EXTRA_BITWISE(ROW)                           \
  ROW(BITWISE_EXTRA, _atomic_fetch_and,      FETCH_OP)        \
  ROW(BITWISE_EXTRA, _atomic_and,            STORE)           \
  ROW(BITWISE_EXTRA, _atomic_fetch_or,       FETCH_OP)        \
  ROW(BITWISE_EXTRA, _atomic_or,             STORE)           \
  ROW(BITWISE_EXTRA, _atomic_fetch_xor,      FETCH_OP)        \
  ROW(BITWISE_EXTRA, _atomic_xor,            STORE)           \
  ROW(BITWISE_EXTRA, _atomic_fetch_and_nbi,  FETCH_OP_NBI)    \
  ROW(BITWISE_EXTRA, _atomic_fetch_or_nbi,   FETCH_OP_NBI)    \
  ROW(BITWISE_EXTRA, _atomic_fetch_xor_nbi,  FETCH_OP_NBI)

#define ATOLL_OPS_EXTRA_WAIT(ROW)                         \
  ROW(SHORT,   _wait_until_all,          WAIT_ALL)        \
  ROW(SHORT,   _wait_until_any,          ANY)             \
  ROW(SHORT,   _wait_until_some,         SOME)            \
  ROW(SHORT,   _wait_until_all_vector,   WAIT_ALL_VECTOR) \
  ROW(SHORT,   _wait_until_any_vector,   ANY_VECTOR)      \
  ROW(SHORT,   _wait_until_some_vector,  SOME_VECTOR)     \
  ROW(SHORT,   _test_all,                TEST_ALL)        \
  ROW(SHORT,   _test_any,                ANY)             \
  ROW(SHORT,   _test_some,               SOME)            \
  ROW(SHORT,   _test_all_vector,         TEST_ALL_VECTOR) \
  ROW(SHORT,   _test_any_vector,         ANY_VECTOR)      \
  ROW(SHORT,   _test_some_vector,        SOME_VECTOR)

/* ---- With an element size (8 ... 128, mem) instead of a type ------------------------------------------ */

#define ATOLL_SIZED_CTX(ROW)         ATOLL_SIZED_RMA(ROW) ATOLL_SIZED_SIGNAL(ROW)
#define ATOLL_SIZED_NO_CTX(ROW)      ATOLL_SIZED_COLL(ROW)
#define ATOLL_SIZED_DEPRECATED(ROW)  ATOLL_SIZED_ACTIVE(ROW)

#define ATOLL_SIZED_RMA(ROW)                              \
  ROW(BITS,   _put,       ,              COPY)            \
  ROW(BITS,   _get,       ,              COPY)            \
  ROW(BITS,   _iput,      ,              STRIDED)         \
  ROW(BITS,   _iget,      ,              STRIDED)         \
  ROW(BITS,   _ibput,     ,              BLOCKS)          \
  ROW(BITS,   _ibget,     ,              BLOCKS)          \
  ROW(BITS,   _put,       _nbi,          COPY)            \
  ROW(BITS,   _get,       _nbi,          COPY)            \
  ROW(MEM,    _put,       ,              COPY)            \
  ROW(MEM,    _get,       ,              COPY)            \
  ROW(MEM,    _put,       _nbi,          COPY)            \
  ROW(MEM,    _get,       _nbi,          COPY)

#define ATOLL_SIZED_SIGNAL(ROW)                           \
  ROW(BITS,   _put,       _signal,       SIGNALED)        \
  ROW(BITS,   _put,       _signal_nbi,   SIGNALED)        \
  ROW(MEM,    _put,       _signal,       SIGNALED)        \
  ROW(MEM,    _put,       _signal_nbi,   SIGNALED)

/* Team collectives on bytes. */
#define ATOLL_SIZED_COLL(ROW)                             \
  ROW(MEM,    _alltoall,  ,              TEAM)            \
  ROW(MEM,    _alltoalls, ,              TEAM_STRIDED)    \
  ROW(MEM,    _broadcast, ,              TEAM_ROOTED)     \
  ROW(MEM,    _collect,   ,              TEAM)            \
  ROW(MEM,    _fcollect,  ,              TEAM)

/* Collectives over an active set, deprecated. */
#define ATOLL_SIZED_ACTIVE(ROW)                           \
  ROW(ACTIVE, _alltoall,  ,              ACTIVE)          \
  ROW(ACTIVE, _alltoalls, ,              ACTIVE_STRIDED)  \
  ROW(ACTIVE, _broadcast, ,              ACTIVE_ROOTED)   \
  ROW(ACTIVE, _collect,   ,              ACTIVE)          \
  ROW(ACTIVE, _fcollect,  ,              ACTIVE)

/* ---- Shapes: what is returned, the parameters, the parameters as arguments ---------------------------- */

/* RMA and atomics, one element.  STORE hands a value over and waits for nothing. */
#define ATOLL_RET_STORE(T)               void
#define ATOLL_PARAMS_STORE(T)            T* dest, T val, int pe
#define ATOLL_ARGS_STORE                 dest, val, pe

#define ATOLL_RET_LOAD(T)                T
#define ATOLL_PARAMS_LOAD(T)             const T* source, int pe
#define ATOLL_ARGS_LOAD                  source, pe

#define ATOLL_RET_FETCH_OP(T)            T
#define ATOLL_PARAMS_FETCH_OP(T)         T* dest, T val, int pe
#define ATOLL_ARGS_FETCH_OP              dest, val, pe

#define ATOLL_RET_CSWAP(T)               T
#define ATOLL_PARAMS_CSWAP(T)            T* dest, T cond, T val, int pe
#define ATOLL_ARGS_CSWAP                 dest, cond, val, pe

#define ATOLL_RET_INC(T)                 void
#define ATOLL_PARAMS_INC(T)              T* dest, int pe
#define ATOLL_ARGS_INC                   dest, pe

#define ATOLL_RET_FETCH_INC(T)           T
#define ATOLL_PARAMS_FETCH_INC(T)        T* dest, int pe
#define ATOLL_ARGS_FETCH_INC             dest, pe

/* The same, with the old value left in *fetch by the time of the next quiet. */
#define ATOLL_RET_FETCH_NBI(T)           void
#define ATOLL_PARAMS_FETCH_NBI(T)        T* fetch, const T* source, int pe
#define ATOLL_ARGS_FETCH_NBI             fetch, source, pe

#define ATOLL_RET_FETCH_OP_NBI(T)        void
#define ATOLL_PARAMS_FETCH_OP_NBI(T)     T* fetch, T* dest, T val, int pe
#define ATOLL_ARGS_FETCH_OP_NBI          fetch, dest, val, pe

#define ATOLL_RET_CSWAP_NBI(T)           void
#define ATOLL_PARAMS_CSWAP_NBI(T)        T* fetch, T* dest, T cond, T val, int pe
#define ATOLL_ARGS_CSWAP_NBI             fetch, dest, cond, val, pe

#define ATOLL_RET_FETCH_INC_NBI(T)       void
#define ATOLL_PARAMS_FETCH_INC_NBI(T)    T* fetch, T* dest, int pe
#define ATOLL_ARGS_FETCH_INC_NBI         fetch, dest, pe

/* RMA, many elements: contiguous; every dst-th and sst-th element; blocks of bsize at those strides. */
#define ATOLL_RET_COPY(T)                void
#define ATOLL_PARAMS_COPY(T)             T* dest, const T* source, size_t nelems, int pe
#define ATOLL_ARGS_COPY                  dest, source, nelems, pe

#define ATOLL_RET_STRIDED(T)             void
#define ATOLL_PARAMS_STRIDED(T)          T* dest, const T* source, ptrdiff_t dst, ptrdiff_t sst, \
                                         size_t nelems, int pe
#define ATOLL_ARGS_STRIDED               dest, source, dst, sst, nelems, pe

#define ATOLL_RET_BLOCKS(T)              void
#define ATOLL_PARAMS_BLOCKS(T)           T* dest, const T* source, ptrdiff_t dst, ptrdiff_t sst, \
                                         size_t bsize, size_t nblocks, int pe
#define ATOLL_ARGS_BLOCKS                dest, source, dst, sst, bsize, nblocks, pe

#define ATOLL_RET_SIGNALED(T)            void
#define ATOLL_PARAMS_SIGNALED(T)         T* dest, const T* source, size_t nelems, uint64_t* sig_addr, \
                                         uint64_t signal, int sig_op, int pe
#define ATOLL_ARGS_SIGNALED              dest, source, nelems, sig_addr, signal, sig_op, pe

/* Point-to-point synchronization.  Waiting and testing share ANY and SOME: they differ in what they do when
 * there is none, not in how they are called.  status masks elements out, or is null. */
#define ATOLL_RET_WAIT(T)                void
#define ATOLL_PARAMS_WAIT(T)             T* ivar, int cmp, T cmp_value
#define ATOLL_ARGS_WAIT                  ivar, cmp, cmp_value

#define ATOLL_RET_TEST(T)                int
#define ATOLL_PARAMS_TEST(T)             T* ivar, int cmp, T cmp_value
#define ATOLL_ARGS_TEST                  ivar, cmp, cmp_value

#define ATOLL_RET_WAIT_ALL(T)            void
#define ATOLL_PARAMS_WAIT_ALL(T)         T* ivars, size_t nelems, const int* status, int cmp, T cmp_value
#define ATOLL_ARGS_WAIT_ALL              ivars, nelems, status, cmp, cmp_value

#define ATOLL_RET_TEST_ALL(T)            int
#define ATOLL_PARAMS_TEST_ALL(T)         T* ivars, size_t nelems, const int* status, int cmp, T cmp_value
#define ATOLL_ARGS_TEST_ALL              ivars, nelems, status, cmp, cmp_value

#define ATOLL_RET_ANY(T)                 size_t
#define ATOLL_PARAMS_ANY(T)              T* ivars, size_t nelems, const int* status, int cmp, T cmp_value
#define ATOLL_ARGS_ANY                   ivars, nelems, status, cmp, cmp_value

#define ATOLL_RET_SOME(T)                size_t
#define ATOLL_PARAMS_SOME(T)             T* ivars, size_t nelems, size_t* indices, const int* status, \
                                         int cmp, T cmp_value
#define ATOLL_ARGS_SOME                  ivars, nelems, indices, status, cmp, cmp_value

/* The same, with a value for each element. */
#define ATOLL_RET_WAIT_ALL_VECTOR(T)     void
#define ATOLL_PARAMS_WAIT_ALL_VECTOR(T)  T* ivars, size_t nelems, const int* status, int cmp, \
                                         const T* cmp_values
#define ATOLL_ARGS_WAIT_ALL_VECTOR       ivars, nelems, status, cmp, cmp_values

#define ATOLL_RET_TEST_ALL_VECTOR(T)     int
#define ATOLL_PARAMS_TEST_ALL_VECTOR(T)  T* ivars, size_t nelems, const int* status, int cmp, \
                                         const T* cmp_values
#define ATOLL_ARGS_TEST_ALL_VECTOR       ivars, nelems, status, cmp, cmp_values

#define ATOLL_RET_ANY_VECTOR(T)          size_t
#define ATOLL_PARAMS_ANY_VECTOR(T)       T* ivars, size_t nelems, const int* status, int cmp, \
                                         const T* cmp_values
#define ATOLL_ARGS_ANY_VECTOR            ivars, nelems, status, cmp, cmp_values

#define ATOLL_RET_SOME_VECTOR(T)         size_t
#define ATOLL_PARAMS_SOME_VECTOR(T)      T* ivars, size_t nelems, size_t* indices, const int* status, \
                                         int cmp, const T* cmp_values
#define ATOLL_ARGS_SOME_VECTOR           ivars, nelems, indices, status, cmp, cmp_values

/* Team collectives.  Zero means success; strides and counts are in elements. */
#define ATOLL_RET_TEAM(T)                int
#define ATOLL_PARAMS_TEAM(T)             shmem_team_t team, T* dest, const T* source, size_t nelems
#define ATOLL_ARGS_TEAM                  team, dest, source, nelems

#define ATOLL_RET_TEAM_STRIDED(T)        int
#define ATOLL_PARAMS_TEAM_STRIDED(T)     shmem_team_t team, T* dest, const T* source, ptrdiff_t dst, \
                                         ptrdiff_t sst, size_t nelems
#define ATOLL_ARGS_TEAM_STRIDED          team, dest, source, dst, sst, nelems

#define ATOLL_RET_TEAM_ROOTED(T)         int
#define ATOLL_PARAMS_TEAM_ROOTED(T)      shmem_team_t team, T* dest, const T* source, size_t nelems, \
                                         int PE_root
#define ATOLL_ARGS_TEAM_ROOTED           team, dest, source, nelems, PE_root

/* Deprecated.  The active set is PE_start + i * 2^logPE_stride for i < PE_size. */
#define ATOLL_RET_CHANGE(T)              void
#define ATOLL_PARAMS_CHANGE(T)           T* ivar, T cmp_value
#define ATOLL_ARGS_CHANGE                ivar, cmp_value

#define ATOLL_RET_ACTIVE(T)              void
#define ATOLL_PARAMS_ACTIVE(T)           T* dest, const T* source, size_t nelems, int PE_start, \
                                         int logPE_stride, int PE_size, long* pSync
#define ATOLL_ARGS_ACTIVE                dest, source, nelems, PE_start, logPE_stride, PE_size, pSync

#define ATOLL_RET_ACTIVE_STRIDED(T)      void
#define ATOLL_PARAMS_ACTIVE_STRIDED(T)   T* dest, const T* source, ptrdiff_t dst, ptrdiff_t sst, \
                                         size_t nelems, int PE_start, int logPE_stride, int PE_size, \
                                         long* pSync
#define ATOLL_ARGS_ACTIVE_STRIDED        dest, source, dst, sst, nelems, PE_start, logPE_stride, PE_size, \
                                         pSync

#define ATOLL_RET_ACTIVE_ROOTED(T)       void
#define ATOLL_PARAMS_ACTIVE_ROOTED(T)    T* dest, const T* source, size_t nelems, int PE_root, int PE_start, \
                                         int logPE_stride, int PE_size, long* pSync
#define ATOLL_ARGS_ACTIVE_ROOTED         dest, source, nelems, PE_root, PE_start, logPE_stride, PE_size, pSync

#define ATOLL_RET_ACTIVE_REDUCE(T)       void
#define ATOLL_PARAMS_ACTIVE_REDUCE(T)    T* dest, const T* source, int nreduce, int PE_start, \
                                         int logPE_stride, int PE_size, T* pWrk, long* pSync
#define ATOLL_ARGS_ACTIVE_REDUCE         dest, source, nreduce, PE_start, logPE_stride, PE_size, pWrk, pSync

/* clang-format on */

#endif
