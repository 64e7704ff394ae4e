/* SPDX-License-Identifier: BSD-3-Clause */
/* Semantics 78, 84, 136: every name without a type, with every type of its table, with and without a context;
 * the extensions' names, too.
 *
 * Compiled as C and as C++ and never run: a selection that picks the wrong function does not compile without
 * warnings, and results are checked for their type. */
#include <shmemx.h>

#include "each_type.h"

#ifdef __cplusplus
template <class T, class U>
struct Same {
  static constexpr int value_ = 0;
};
template <class T>
struct Same<T, T> {
  static constexpr int value_ = 1;
};
#define HAS_TYPE(T, EXPR) static_assert(Same<T, decltype(EXPR)>::value_, "type of the result")
#else
#define HAS_TYPE(T, EXPR) _Static_assert(_Generic((EXPR), T : 1, default : 0), "type of the result")
#endif

#define BOTH(FUNC, ...) \
  FUNC(__VA_ARGS__);    \
  FUNC(ctx, __VA_ARGS__)

#define BOTH_GIVE(T, FUNC, ...)   \
  BOTH(FUNC, __VA_ARGS__);        \
  HAS_TYPE(T, FUNC(__VA_ARGS__)); \
  HAS_TYPE(T, FUNC(ctx, __VA_ARGS__))

#define GIVES(T, FUNC, ...) \
  FUNC(__VA_ARGS__);        \
  HAS_TYPE(T, FUNC(__VA_ARGS__))

/* One function per family and type.  D is a destination, S a source, V a value. */
#define BEGIN(FAMILY, NAME, T)                                                                     \
  void FAMILY##_##NAME(shmem_ctx_t ctx, shmem_team_t team, T* D, const T* S, T V, uint64_t* sig);  \
  void FAMILY##_##NAME(shmem_ctx_t ctx, shmem_team_t team, T* D, const T* S, T V, uint64_t* sig) { \
    (void)ctx, (void)team, (void)D, (void)S, (void)V, (void)sig;
#define END }

#define RMA_ONE(NAME, T)       \
  BEGIN(rma_one, NAME, T)      \
  BOTH(shmem_p, D, V, 0);      \
  BOTH_GIVE(T, shmem_g, S, 0); \
  BOTH_GIVE(T, shmem_g, D, 0); \
  END

#define RMA_MANY(NAME, T)                 \
  BEGIN(rma_many, NAME, T)                \
  BOTH(shmem_put, D, S, 1, 0);            \
  BOTH(shmem_get, D, S, 1, 0);            \
  BOTH(shmem_iput, D, S, 1, 1, 1, 0);     \
  BOTH(shmem_iget, D, S, 1, 1, 1, 0);     \
  BOTH(shmem_ibput, D, S, 1, 1, 1, 1, 0); \
  BOTH(shmem_ibget, D, S, 1, 1, 1, 1, 0); \
  END

#define RMA_LATER(NAME, T)                                          \
  BEGIN(rma_later, NAME, T)                                         \
  BOTH(shmem_put_nbi, D, S, 1, 0);                                  \
  BOTH(shmem_get_nbi, D, S, 1, 0);                                  \
  BOTH(shmem_put_signal, D, S, 1, sig, 1, SHMEM_SIGNAL_SET, 0);     \
  BOTH(shmem_put_signal_nbi, D, S, 1, sig, 1, SHMEM_SIGNAL_ADD, 0); \
  END

#define AMO_MOVE(NAME, T)                   \
  BEGIN(amo_move, NAME, T)                  \
  BOTH_GIVE(T, shmem_atomic_fetch, S, 0);   \
  BOTH_GIVE(T, shmem_atomic_fetch, D, 0);   \
  BOTH(shmem_atomic_set, D, V, 0);          \
  BOTH_GIVE(T, shmem_atomic_swap, D, V, 0); \
  BOTH(shmem_atomic_fetch_nbi, D, S, 0);    \
  BOTH(shmem_atomic_swap_nbi, D, D, V, 0);  \
  END

#define AMO_ARITH(NAME, T)                             \
  BEGIN(amo_arith, NAME, T)                            \
  BOTH_GIVE(T, shmem_atomic_compare_swap, D, V, V, 0); \
  BOTH_GIVE(T, shmem_atomic_fetch_inc, D, 0);          \
  BOTH(shmem_atomic_inc, D, 0);                        \
  BOTH_GIVE(T, shmem_atomic_fetch_add, D, V, 0);       \
  BOTH(shmem_atomic_add, D, V, 0);                     \
  END

#define AMO_LATER(NAME, T)                            \
  BEGIN(amo_later, NAME, T)                           \
  BOTH(shmem_atomic_compare_swap_nbi, D, D, V, V, 0); \
  BOTH(shmem_atomic_fetch_inc_nbi, D, D, 0);          \
  BOTH(shmem_atomic_fetch_add_nbi, D, D, V, 0);       \
  END

#define AMO_BITS(NAME, T)                        \
  BEGIN(amo_bits, NAME, T)                       \
  BOTH_GIVE(T, shmem_atomic_fetch_and, D, V, 0); \
  BOTH_GIVE(T, shmem_atomic_fetch_or, D, V, 0);  \
  BOTH_GIVE(T, shmem_atomic_fetch_xor, D, V, 0); \
  BOTH(shmem_atomic_and, D, V, 0);               \
  BOTH(shmem_atomic_or, D, V, 0);                \
  BOTH(shmem_atomic_xor, D, V, 0);               \
  END

#define AMO_BITS_LATER(NAME, T)                 \
  BEGIN(amo_bits_later, NAME, T)                \
  BOTH(shmem_atomic_fetch_and_nbi, D, D, V, 0); \
  BOTH(shmem_atomic_fetch_or_nbi, D, D, V, 0);  \
  BOTH(shmem_atomic_fetch_xor_nbi, D, D, V, 0); \
  END

#define AMO_ORDER(NAME, T)                        \
  BEGIN(amo_order, NAME, T)                       \
  BOTH_GIVE(T, shmemx_atomic_fetch_max, D, V, 0); \
  BOTH_GIVE(T, shmemx_atomic_fetch_min, D, V, 0); \
  BOTH(shmemx_atomic_max, D, V, 0);               \
  BOTH(shmemx_atomic_min, D, V, 0);               \
  BOTH(shmemx_atomic_fetch_max_nbi, D, D, V, 0);  \
  BOTH(shmemx_atomic_fetch_min_nbi, D, D, V, 0);  \
  END

#define WAIT(NAME, T)                         \
  BEGIN(wait, NAME, T)                        \
  shmem_wait_until(D, SHMEM_CMP_EQ, V);       \
  GIVES(int, shmem_test, D, SHMEM_CMP_EQ, V); \
  END

#define WAIT_MANY(NAME, T)                                                      \
  BEGIN(wait_many, NAME, T)                                                     \
  const int* mask = NULL;                                                       \
  size_t at[1];                                                                 \
  shmem_wait_until_all(D, 1, mask, SHMEM_CMP_NE, V);                            \
  GIVES(size_t, shmem_wait_until_any, D, 1, mask, SHMEM_CMP_NE, V);             \
  GIVES(size_t, shmem_wait_until_some, D, 1, at, mask, SHMEM_CMP_NE, V);        \
  shmem_wait_until_all_vector(D, 1, mask, SHMEM_CMP_GT, S);                     \
  GIVES(size_t, shmem_wait_until_any_vector, D, 1, mask, SHMEM_CMP_GT, S);      \
  GIVES(size_t, shmem_wait_until_some_vector, D, 1, at, mask, SHMEM_CMP_GT, S); \
  END

#define TEST_MANY(NAME, T)                                                \
  BEGIN(test_many, NAME, T)                                               \
  const int* mask = NULL;                                                 \
  size_t at[1];                                                           \
  GIVES(int, shmem_test_all, D, 1, mask, SHMEM_CMP_NE, V);                \
  GIVES(size_t, shmem_test_any, D, 1, mask, SHMEM_CMP_NE, V);             \
  GIVES(size_t, shmem_test_some, D, 1, at, mask, SHMEM_CMP_NE, V);        \
  GIVES(int, shmem_test_all_vector, D, 1, mask, SHMEM_CMP_GT, S);         \
  GIVES(size_t, shmem_test_any_vector, D, 1, mask, SHMEM_CMP_GT, S);      \
  GIVES(size_t, shmem_test_some_vector, D, 1, at, mask, SHMEM_CMP_GT, S); \
  END

#define COLL(NAME, T)                               \
  BEGIN(coll, NAME, T)                              \
  GIVES(int, shmem_alltoall, team, D, S, 1);        \
  GIVES(int, shmem_alltoalls, team, D, S, 1, 1, 1); \
  GIVES(int, shmem_broadcast, team, D, S, 1, 0);    \
  GIVES(int, shmem_collect, team, D, S, 1);         \
  GIVES(int, shmem_fcollect, team, D, S, 1);        \
  END

#define REDUCE_BITS(NAME, T)                   \
  BEGIN(reduce_bits, NAME, T)                  \
  GIVES(int, shmem_and_reduce, team, D, S, 1); \
  GIVES(int, shmem_or_reduce, team, D, S, 1);  \
  GIVES(int, shmem_xor_reduce, team, D, S, 1); \
  END

#define REDUCE_ORDER(NAME, T)                  \
  BEGIN(reduce_order, NAME, T)                 \
  GIVES(int, shmem_max_reduce, team, D, S, 1); \
  GIVES(int, shmem_min_reduce, team, D, S, 1); \
  END

#define REDUCE_ARITH(NAME, T)                   \
  BEGIN(reduce_arith, NAME, T)                  \
  GIVES(int, shmem_sum_reduce, team, D, S, 1);  \
  GIVES(int, shmem_prod_reduce, team, D, S, 1); \
  GIVES(int, shmem_sum_inscan, team, D, S, 1);  \
  GIVES(int, shmem_sum_exscan, team, D, S, 1);  \
  END

#define OLD_AMO_MOVE(NAME, T)    \
  BEGIN(old_amo_move, NAME, T)   \
  GIVES(T, shmem_fetch, S, 0);   \
  GIVES(T, shmem_fetch, D, 0);   \
  shmem_set(D, V, 0);            \
  GIVES(T, shmem_swap, D, V, 0); \
  END

#define OLD_AMO_ARITH(NAME, T)       \
  BEGIN(old_amo_arith, NAME, T)      \
  GIVES(T, shmem_cswap, D, V, V, 0); \
  GIVES(T, shmem_finc, D, 0);        \
  shmem_inc(D, 0);                   \
  GIVES(T, shmem_fadd, D, V, 0);     \
  shmem_add(D, V, 0);                \
  END

EACH_RMA(RMA_ONE)
EACH_RMA(RMA_MANY)
EACH_RMA(RMA_LATER)
EACH_AMO_EXT(AMO_MOVE)
EACH_AMO(AMO_ARITH)
EACH_AMO(AMO_LATER)
EACH_BITWISE(AMO_BITS)
EACH_BITWISE(AMO_BITS_LATER)
EACH_BITWISE_EXTRA(AMO_BITS)
EACH_BITWISE_EXTRA(AMO_BITS_LATER)
EACH_AMO_EXT(AMO_ORDER)
EACH_WAIT(WAIT)
EACH_AMO(WAIT_MANY)
EACH_AMO(TEST_MANY)
EACH_RMA(COLL)
EACH_BITS(REDUCE_BITS)
EACH_RMA(REDUCE_ORDER)
EACH_ARITH(REDUCE_ARITH)
EACH_OLD_AMO_EXT(OLD_AMO_MOVE)
EACH_OLD_AMO(OLD_AMO_ARITH)
