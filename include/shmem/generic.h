/* SPDX-License-Identifier: BSD-3-Clause */
/* The names without a type, such as shmem_put: _Generic macros since C11, overloads since C++11.
 *
 * The type is that of the first pointer, which a context or team may precede.  Anything else is an error at
 * compile time that names shmem_generic_has_no_such_type_ (C) or lists the overloads (C++).
 *
 * An argument that has a comma outside parentheses, such as the compound literal (int[]){1, 2}, must be put
 * into parentheses in C.  Included by shmem.h, after the functions have been declared. */
#ifndef ATOLL_GENERIC_H
#define ATOLL_GENERIC_H

#if defined(__cplusplus) && __cplusplus >= 201103L

/* ---- C++: overloads, an extension --------------------------------------------------------------------- */

/* A program may have included shmem.h inside of extern "C". */
extern "C++" {

/* clang-format off */

#define ATOLL_OVERLOAD_(NAME, T, OP, RET, PARAMS, ...) \
  inline RET(T) shmem##OP(PARAMS(T)) { return shmem_##NAME##OP(__VA_ARGS__); }
#define ATOLL_OVERLOAD_CTX_(NAME, T, OP, RET, PARAMS, ...) \
  inline RET(T) shmem##OP(shmem_ctx_t ctx, PARAMS(T)) { return shmem_ctx_##NAME##OP(ctx, __VA_ARGS__); }
#define ATOLL_OVERLOAD_OLD_(NAME, T, OP, RET, PARAMS, ...) \
  ATOLL_DEPRECATED inline RET(T) shmem##OP(PARAMS(T)) { return shmem_##NAME##OP(__VA_ARGS__); }

#define ATOLL_OVERLOADS_(TYPES, OP, SHAPE) \
  ATOLL_DISTINCT_##TYPES(ATOLL_OVERLOAD_, OP, ATOLL_RET_##SHAPE, ATOLL_PARAMS_##SHAPE, ATOLL_ARGS_##SHAPE)
#define ATOLL_OVERLOADS_CTX_(TYPES, OP, SHAPE) \
  ATOLL_DISTINCT_##TYPES(ATOLL_OVERLOAD_CTX_, OP, ATOLL_RET_##SHAPE, ATOLL_PARAMS_##SHAPE, ATOLL_ARGS_##SHAPE)
#define ATOLL_OVERLOADS_OLD_(TYPES, OP, SHAPE) \
  ATOLL_DISTINCT_##TYPES(ATOLL_OVERLOAD_OLD_, OP, ATOLL_RET_##SHAPE, ATOLL_PARAMS_##SHAPE, ATOLL_ARGS_##SHAPE)

ATOLL_OPS_CTX(ATOLL_OVERLOADS_)
ATOLL_OPS_CTX(ATOLL_OVERLOADS_CTX_)
ATOLL_OPS_EXTRA_CTX(ATOLL_OVERLOADS_)
ATOLL_OPS_EXTRA_CTX(ATOLL_OVERLOADS_CTX_)
ATOLL_OVERLOADS_(WAIT, _test, TEST)
ATOLL_OPS_WAIT_MANY(ATOLL_OVERLOADS_)
ATOLL_OPS_EXTRA_WAIT(ATOLL_OVERLOADS_)
ATOLL_OPS_COLL(ATOLL_OVERLOADS_)
ATOLL_OPS_REDUCE(ATOLL_OVERLOADS_)
ATOLL_OPS_SCAN(ATOLL_OVERLOADS_)

/* C's complex types are strangers in C++.  Programs have std::complex, which lies in memory as they do; it is
 * known by its members, as including its header here would expose that to the program's macros. */
template <class> struct shmem_complex_twin_;
template <> struct shmem_complex_twin_<double> { typedef shmem_complexd_ type_; };
template <> struct shmem_complex_twin_<float> { typedef shmem_complexf_ type_; };

#define ATOLL_OVERLOAD_COMPLEX_(OP)                                                                      \
  template <class T_, class Twin_ = typename shmem_complex_twin_<typename T_::value_type>::type_,        \
            class = decltype(T_().imag())>                                                               \
  inline int shmem##OP(shmem_team_t team, T_* dest, const T_* source, size_t nelems) {                   \
    static_assert(sizeof(T_) == sizeof(Twin_), "not a complex number");                                  \
    return shmem##OP(team, reinterpret_cast<Twin_*>(dest), reinterpret_cast<const Twin_*>(source), nelems); \
  }

ATOLL_OVERLOAD_COMPLEX_(_sum_reduce)
ATOLL_OVERLOAD_COMPLEX_(_prod_reduce)
ATOLL_OVERLOAD_COMPLEX_(_sum_inscan)
ATOLL_OVERLOAD_COMPLEX_(_sum_exscan)

/* These call deprecated functions, but it is the program's calls that are to be warned about. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
ATOLL_OPS_OLD_AMO(ATOLL_OVERLOADS_OLD_)
#pragma GCC diagnostic pop

/* These four are functions too, which overloads of their names would make ambiguous where they are not called:
 * as &shmem_sync, or as an argument.  So what is overloaded has other names, and the macros take arguments. */
#define ATOLL_OVERLOAD_WAIT_(NAME, T, ...)                                  \
  inline void shmem_wait_until_overload_(T* ivar, int cmp, T cmp_value) {   \
    shmem_##NAME##_wait_until(ivar, cmp, cmp_value);                        \
  }
ATOLL_DISTINCT_WAIT(ATOLL_OVERLOAD_WAIT_, )

/* clang-format on */

inline int shmem_sync_overload_(shmem_team_t team) { return shmem_team_sync(team); }
inline void shmem_sync_overload_(int PE_start, int logPE_stride, int PE_size, long* pSync) {
  shmem_sync(PE_start, logPE_stride, PE_size, pSync);
}
inline void shmem_signal_add_overload_(uint64_t* sig_addr, uint64_t signal, int pe) {
  shmem_signal_add(sig_addr, signal, pe);
}
inline void shmem_signal_add_overload_(shmem_ctx_t ctx, uint64_t* sig_addr, uint64_t signal, int pe) {
  shmem_ctx_signal_add(ctx, sig_addr, signal, pe);
}
inline void shmem_signal_set_overload_(uint64_t* sig_addr, uint64_t signal, int pe) {
  shmem_signal_set(sig_addr, signal, pe);
}
inline void shmem_signal_set_overload_(shmem_ctx_t ctx, uint64_t* sig_addr, uint64_t signal, int pe) {
  shmem_ctx_signal_set(ctx, sig_addr, signal, pe);
}

#define shmem_sync(...) shmem_sync_overload_(__VA_ARGS__)
#define shmem_signal_add(...) shmem_signal_add_overload_(__VA_ARGS__)
#define shmem_signal_set(...) shmem_signal_set_overload_(__VA_ARGS__)
#define shmem_wait_until(...) shmem_wait_until_overload_(__VA_ARGS__)

} /* extern "C++" */

#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L

/* ---- C11: generic selections -------------------------------------------------------------------------- */

/* What a call with a type that the function is not defined for becomes.  It never compiles, because nothing
 * that a program passes is of this structure, and gcc and clang both say so by name. */
struct shmem_generic_has_no_such_type_ {
  int unused_;
};
int shmem_generic_has_no_such_type_(struct shmem_generic_has_no_such_type_ argument, ...);

/* clang-format off */

/* The first two arguments; the caller adds a zero for the case that there is no more. */
#define ATOLL_ARG1_(FIRST, ...)           FIRST
#define ATOLL_ARG2_(FIRST, SECOND, ...)   SECOND

/* One association of a selection: with a comma in front, so that a table of them can follow the controlling
 * expression.  The _CONST ones are for families whose only pointer is a source. */
#define ATOLL_ARM_(NAME, T, OP)           , T* : shmem_##NAME##OP
#define ATOLL_ARM_CTX_(NAME, T, OP)       , T* : shmem_ctx_##NAME##OP
#define ATOLL_ARM_CONST_(NAME, T, OP)     , T* : shmem_##NAME##OP,     const T* : shmem_##NAME##OP
#define ATOLL_ARM_CTX_CONST_(NAME, T, OP) , T* : shmem_ctx_##NAME##OP, const T* : shmem_ctx_##NAME##OP

/* The function for the type that POINTER points to. */
#define ATOLL_SELECT_(POINTER, TYPES, ARM, OP) \
  _Generic((POINTER) TYPES(ARM, OP), default : shmem_generic_has_no_such_type_)

/* Families without a context; with a team first; with an optional context first: there the type is that of
 * the second argument if the first is a context, and that of the first if not. */
#define ATOLL_GENERIC_(TYPES, OP, ...) \
  ATOLL_SELECT_(ATOLL_ARG1_(__VA_ARGS__, 0), ATOLL_DISTINCT_##TYPES, ATOLL_ARM_, OP)(__VA_ARGS__)

#define ATOLL_GENERIC_CONST_(TYPES, OP, ...) \
  ATOLL_SELECT_(ATOLL_ARG1_(__VA_ARGS__, 0), ATOLL_DISTINCT_##TYPES, ATOLL_ARM_CONST_, OP)(__VA_ARGS__)

#define ATOLL_GENERIC_TEAM_(TYPES, OP, ...) \
  ATOLL_SELECT_(ATOLL_ARG2_(__VA_ARGS__, 0, 0), ATOLL_DISTINCT_##TYPES, ATOLL_ARM_, OP)(__VA_ARGS__)

#define ATOLL_GENERIC_CTX_(TYPES, OP, ...) \
  ATOLL_SELECT_CTX_(ATOLL_DISTINCT_##TYPES, ATOLL_ARM_, ATOLL_ARM_CTX_, OP, __VA_ARGS__)

#define ATOLL_GENERIC_CTX_CONST_(TYPES, OP, ...) \
  ATOLL_SELECT_CTX_(ATOLL_DISTINCT_##TYPES, ATOLL_ARM_CONST_, ATOLL_ARM_CTX_CONST_, OP, __VA_ARGS__)

#define ATOLL_SELECT_CTX_(TYPES, ARM, ARM_CTX, OP, ...)                                   \
  _Generic((ATOLL_ARG1_(__VA_ARGS__, 0)),                                                 \
    shmem_ctx_t : ATOLL_SELECT_(ATOLL_ARG2_(__VA_ARGS__, 0, 0), TYPES, ARM_CTX, OP),      \
    default : ATOLL_SELECT_(ATOLL_ARG1_(__VA_ARGS__, 0), TYPES, ARM, OP))(__VA_ARGS__)

/* These three and shmem_wait_until are functions too.  As their macros take arguments, &shmem_sync and
 * (shmem_sync)(...) still mean the function. */
#define ATOLL_FIRST_(TYPE, MATCH, OTHER, ...) \
  _Generic((ATOLL_ARG1_(__VA_ARGS__, 0)), TYPE : MATCH, default : OTHER)(__VA_ARGS__)

#define shmem_sync(...)        ATOLL_FIRST_(shmem_team_t, shmem_team_sync, shmem_sync, __VA_ARGS__)
#define shmem_signal_add(...)  ATOLL_FIRST_(shmem_ctx_t, shmem_ctx_signal_add, shmem_signal_add, __VA_ARGS__)
#define shmem_signal_set(...)  ATOLL_FIRST_(shmem_ctx_t, shmem_ctx_signal_set, shmem_signal_set, __VA_ARGS__)

/* Remote memory access, signals. */
#define shmem_p(...)                           ATOLL_GENERIC_CTX_(RMA, _p, __VA_ARGS__)
#define shmem_g(...)                           ATOLL_GENERIC_CTX_CONST_(RMA, _g, __VA_ARGS__)
#define shmem_put(...)                         ATOLL_GENERIC_CTX_(RMA, _put, __VA_ARGS__)
#define shmem_get(...)                         ATOLL_GENERIC_CTX_(RMA, _get, __VA_ARGS__)
#define shmem_iput(...)                        ATOLL_GENERIC_CTX_(RMA, _iput, __VA_ARGS__)
#define shmem_iget(...)                        ATOLL_GENERIC_CTX_(RMA, _iget, __VA_ARGS__)
#define shmem_ibput(...)                       ATOLL_GENERIC_CTX_(RMA, _ibput, __VA_ARGS__)
#define shmem_ibget(...)                       ATOLL_GENERIC_CTX_(RMA, _ibget, __VA_ARGS__)
#define shmem_put_nbi(...)                     ATOLL_GENERIC_CTX_(RMA, _put_nbi, __VA_ARGS__)
#define shmem_get_nbi(...)                     ATOLL_GENERIC_CTX_(RMA, _get_nbi, __VA_ARGS__)
#define shmem_put_signal(...)                  ATOLL_GENERIC_CTX_(RMA, _put_signal, __VA_ARGS__)
#define shmem_put_signal_nbi(...)              ATOLL_GENERIC_CTX_(RMA, _put_signal_nbi, __VA_ARGS__)

/* Atomics. */
#define shmem_atomic_fetch(...)                ATOLL_GENERIC_CTX_CONST_(AMO_EXT, _atomic_fetch, __VA_ARGS__)
#define shmem_atomic_set(...)                  ATOLL_GENERIC_CTX_(AMO_EXT, _atomic_set, __VA_ARGS__)
#define shmem_atomic_swap(...)                 ATOLL_GENERIC_CTX_(AMO_EXT, _atomic_swap, __VA_ARGS__)
#define shmem_atomic_compare_swap(...)         ATOLL_GENERIC_CTX_(AMO, _atomic_compare_swap, __VA_ARGS__)
#define shmem_atomic_fetch_inc(...)            ATOLL_GENERIC_CTX_(AMO, _atomic_fetch_inc, __VA_ARGS__)
#define shmem_atomic_inc(...)                  ATOLL_GENERIC_CTX_(AMO, _atomic_inc, __VA_ARGS__)
#define shmem_atomic_fetch_add(...)            ATOLL_GENERIC_CTX_(AMO, _atomic_fetch_add, __VA_ARGS__)
#define shmem_atomic_add(...)                  ATOLL_GENERIC_CTX_(AMO, _atomic_add, __VA_ARGS__)
#define shmem_atomic_fetch_and(...)            ATOLL_GENERIC_CTX_(BITWISE_ALL, _atomic_fetch_and, __VA_ARGS__)
#define shmem_atomic_and(...)                  ATOLL_GENERIC_CTX_(BITWISE_ALL, _atomic_and, __VA_ARGS__)
#define shmem_atomic_fetch_or(...)             ATOLL_GENERIC_CTX_(BITWISE_ALL, _atomic_fetch_or, __VA_ARGS__)
#define shmem_atomic_or(...)                   ATOLL_GENERIC_CTX_(BITWISE_ALL, _atomic_or, __VA_ARGS__)
#define shmem_atomic_fetch_xor(...)            ATOLL_GENERIC_CTX_(BITWISE_ALL, _atomic_fetch_xor, __VA_ARGS__)
#define shmem_atomic_xor(...)                  ATOLL_GENERIC_CTX_(BITWISE_ALL, _atomic_xor, __VA_ARGS__)

/* Atomics whose result arrives later. */
#define shmem_atomic_fetch_nbi(...)            ATOLL_GENERIC_CTX_(AMO_EXT, _atomic_fetch_nbi, __VA_ARGS__)
#define shmem_atomic_swap_nbi(...)             ATOLL_GENERIC_CTX_(AMO_EXT, _atomic_swap_nbi, __VA_ARGS__)
#define shmem_atomic_compare_swap_nbi(...)     ATOLL_GENERIC_CTX_(AMO, _atomic_compare_swap_nbi, __VA_ARGS__)
#define shmem_atomic_fetch_inc_nbi(...)        ATOLL_GENERIC_CTX_(AMO, _atomic_fetch_inc_nbi, __VA_ARGS__)
#define shmem_atomic_fetch_add_nbi(...)        ATOLL_GENERIC_CTX_(AMO, _atomic_fetch_add_nbi, __VA_ARGS__)
#define shmem_atomic_fetch_and_nbi(...)        ATOLL_GENERIC_CTX_(BITWISE_ALL, _atomic_fetch_and_nbi, __VA_ARGS__)
#define shmem_atomic_fetch_or_nbi(...)         ATOLL_GENERIC_CTX_(BITWISE_ALL, _atomic_fetch_or_nbi, __VA_ARGS__)
#define shmem_atomic_fetch_xor_nbi(...)        ATOLL_GENERIC_CTX_(BITWISE_ALL, _atomic_fetch_xor_nbi, __VA_ARGS__)

/* Point-to-point synchronization. */
#define shmem_wait_until(...)                  ATOLL_GENERIC_(WAIT, _wait_until, __VA_ARGS__)
#define shmem_wait_until_all(...)              ATOLL_GENERIC_(WAIT, _wait_until_all, __VA_ARGS__)
#define shmem_wait_until_any(...)              ATOLL_GENERIC_(WAIT, _wait_until_any, __VA_ARGS__)
#define shmem_wait_until_some(...)             ATOLL_GENERIC_(WAIT, _wait_until_some, __VA_ARGS__)
#define shmem_wait_until_all_vector(...)       ATOLL_GENERIC_(WAIT, _wait_until_all_vector, __VA_ARGS__)
#define shmem_wait_until_any_vector(...)       ATOLL_GENERIC_(WAIT, _wait_until_any_vector, __VA_ARGS__)
#define shmem_wait_until_some_vector(...)      ATOLL_GENERIC_(WAIT, _wait_until_some_vector, __VA_ARGS__)
#define shmem_test(...)                        ATOLL_GENERIC_(WAIT, _test, __VA_ARGS__)
#define shmem_test_all(...)                    ATOLL_GENERIC_(WAIT, _test_all, __VA_ARGS__)
#define shmem_test_any(...)                    ATOLL_GENERIC_(WAIT, _test_any, __VA_ARGS__)
#define shmem_test_some(...)                   ATOLL_GENERIC_(WAIT, _test_some, __VA_ARGS__)
#define shmem_test_all_vector(...)             ATOLL_GENERIC_(WAIT, _test_all_vector, __VA_ARGS__)
#define shmem_test_any_vector(...)             ATOLL_GENERIC_(WAIT, _test_any_vector, __VA_ARGS__)
#define shmem_test_some_vector(...)            ATOLL_GENERIC_(WAIT, _test_some_vector, __VA_ARGS__)

/* Team collectives. */
#define shmem_alltoall(...)                    ATOLL_GENERIC_TEAM_(RMA, _alltoall, __VA_ARGS__)
#define shmem_alltoalls(...)                   ATOLL_GENERIC_TEAM_(RMA, _alltoalls, __VA_ARGS__)
#define shmem_broadcast(...)                   ATOLL_GENERIC_TEAM_(RMA, _broadcast, __VA_ARGS__)
#define shmem_collect(...)                     ATOLL_GENERIC_TEAM_(RMA, _collect, __VA_ARGS__)
#define shmem_fcollect(...)                    ATOLL_GENERIC_TEAM_(RMA, _fcollect, __VA_ARGS__)
#define shmem_and_reduce(...)                  ATOLL_GENERIC_TEAM_(REDUCE_BITS, _and_reduce, __VA_ARGS__)
#define shmem_or_reduce(...)                   ATOLL_GENERIC_TEAM_(REDUCE_BITS, _or_reduce, __VA_ARGS__)
#define shmem_xor_reduce(...)                  ATOLL_GENERIC_TEAM_(REDUCE_BITS, _xor_reduce, __VA_ARGS__)
#define shmem_max_reduce(...)                  ATOLL_GENERIC_TEAM_(REDUCE_ORDER, _max_reduce, __VA_ARGS__)
#define shmem_min_reduce(...)                  ATOLL_GENERIC_TEAM_(REDUCE_ORDER, _min_reduce, __VA_ARGS__)
#define shmem_sum_reduce(...)                  ATOLL_GENERIC_TEAM_(REDUCE_ARITH, _sum_reduce, __VA_ARGS__)
#define shmem_prod_reduce(...)                 ATOLL_GENERIC_TEAM_(REDUCE_ARITH, _prod_reduce, __VA_ARGS__)
#define shmem_sum_inscan(...)                  ATOLL_GENERIC_TEAM_(REDUCE_ARITH, _sum_inscan, __VA_ARGS__)
#define shmem_sum_exscan(...)                  ATOLL_GENERIC_TEAM_(REDUCE_ARITH, _sum_exscan, __VA_ARGS__)

/* Deprecated. */
#define shmem_fetch(...)                       ATOLL_GENERIC_CONST_(OLD_AMO_EXT, _fetch, __VA_ARGS__)
#define shmem_set(...)                         ATOLL_GENERIC_(OLD_AMO_EXT, _set, __VA_ARGS__)
#define shmem_swap(...)                        ATOLL_GENERIC_(OLD_AMO_EXT, _swap, __VA_ARGS__)
#define shmem_cswap(...)                       ATOLL_GENERIC_(OLD_AMO, _cswap, __VA_ARGS__)
#define shmem_finc(...)                        ATOLL_GENERIC_(OLD_AMO, _finc, __VA_ARGS__)
#define shmem_inc(...)                         ATOLL_GENERIC_(OLD_AMO, _inc, __VA_ARGS__)
#define shmem_fadd(...)                        ATOLL_GENERIC_(OLD_AMO, _fadd, __VA_ARGS__)
#define shmem_add(...)                         ATOLL_GENERIC_(OLD_AMO, _add, __VA_ARGS__)

/* clang-format on */

#endif

#endif
