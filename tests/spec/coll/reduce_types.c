/* SPDX-License-Identifier: BSD-3-Clause */
/* Every reduction and scan, for every type that it has, in place and not: of all sizes over all PEs, and of
 * two over every kind of team (semantics 119-124). */
#include <complex.h>
#include <math.h>

#include "coll_check.h"

enum { kLarge = 20001 };

static void *sym_source, *sym_dest;
static const size_t sizes[] = {0, 1, 2, 7, 15, 129, 1025, kLarge};

#define ARITH_TYPES(X)                                                                            \
  X(char, char)                                                                                   \
  X(schar, signed char)                                                                           \
  X(short, short) X(int, int) X(long, long) X(longlong, long long) X(ptrdiff, ptrdiff_t)          \
      X(uchar, unsigned char) X(ushort, unsigned short) X(uint, unsigned) X(ulong, unsigned long) \
          X(ulonglong, unsigned long long) X(int8, int8_t) X(int16, int16_t) X(int32, int32_t)    \
              X(int64, int64_t) X(uint8, uint8_t) X(uint16, uint16_t) X(uint32, uint32_t)         \
                  X(uint64, uint64_t) X(size, size_t) X(float, float) X(double, double)           \
                      X(longdouble, long double)
#define COMPLEX_TYPES(X) X(complexd, double complex) X(complexf, float complex)
#define BIT_TYPES(X)                                                                              \
  X(uchar, unsigned char)                                                                         \
  X(ushort, unsigned short)                                                                       \
  X(uint, unsigned) X(ulong, unsigned long) X(ulonglong, unsigned long long) X(int8, int8_t)      \
      X(int16, int16_t) X(int32, int32_t) X(int64, int64_t) X(uint8, uint8_t) X(uint16, uint16_t) \
          X(uint32, uint32_t) X(uint64, uint64_t) X(size, size_t)

#define ADD(a, b) ((a) + (b))
#define MULTIPLY(a, b) ((a) * (b))
#define AND(a, b) ((a) & (b))
#define OR(a, b) ((a) | (b))
#define XOR(a, b) ((a) ^ (b))
#define LARGER(a, b) ((a) > (b) ? (a) : (b))
#define SMALLER(a, b) ((a) < (b) ? (a) : (b))

/* Products stay small: a 2 here and there. */
static int value(int pe, size_t i, int product) {
  return product ? 1 + ((pe + (int)i) % 4 == 0) : pattern(pe, i, 4);
}

#define REDUCTION(NAME, T, OP, APPLY, PRODUCT)                                         \
  static void OP##_##NAME(shmem_team_t team, size_t n, int in_place) {                 \
    T *source = sym_source, *dest = in_place ? sym_source : sym_dest;                  \
    const int me = shmem_team_my_pe(team), np = shmem_team_n_pes(team);                \
    for (size_t i = 0; i < n; ++i) source[i] = (T)value(me, i, PRODUCT);               \
    shmem_team_sync(team);                                                             \
    CHECK_EQ(shmem_##NAME##_##OP##_reduce(team, dest, source, n), 0);                  \
    if (!in_place) memset(source, 1, n * sizeof(T));                                   \
    for (size_t i = 0; i < n; ++i) {                                                   \
      T want = (T)value(0, i, PRODUCT);                                                \
      for (int pe = 1; pe < np; ++pe) want = (T)APPLY(want, (T)value(pe, i, PRODUCT)); \
      CHECK_AT(dest, i, want);                                                         \
    }                                                                                  \
    shmem_team_sync(team);                                                             \
  }

#define SCAN(NAME, T, OP, OWN)                                                       \
  static void OP##_##NAME(shmem_team_t team, size_t n, int in_place) {               \
    T *source = sym_source, *dest = in_place ? sym_source : sym_dest;                \
    const int me = shmem_team_my_pe(team);                                           \
    for (size_t i = 0; i < n; ++i) source[i] = (T)pattern(me, i, 5);                 \
    shmem_team_sync(team);                                                           \
    CHECK_EQ(shmem_##NAME##_##OP(team, dest, source, n), 0);                         \
    for (size_t i = 0; i < n; ++i) {                                                 \
      T want = 0;                                                                    \
      for (int pe = 0; pe < me + OWN; ++pe) want = (T)(want + (T)pattern(pe, i, 5)); \
      CHECK_AT(dest, i, want);                                                       \
    }                                                                                \
    shmem_team_sync(team);                                                           \
  }

#define ARITH(NAME, T)                  \
  REDUCTION(NAME, T, sum, ADD, 0)       \
  REDUCTION(NAME, T, prod, MULTIPLY, 1) \
  SCAN(NAME, T, sum_inscan, 1)          \
  SCAN(NAME, T, sum_exscan, 0)
#define ORDER(NAME, T)               \
  REDUCTION(NAME, T, max, LARGER, 0) \
  REDUCTION(NAME, T, min, SMALLER, 0)
#define BITS(NAME, T)             \
  REDUCTION(NAME, T, and, AND, 0) \
  REDUCTION(NAME, T, or, OR, 0)   \
  REDUCTION(NAME, T, xor, XOR, 0)
ARITH_TYPES(ARITH)
COMPLEX_TYPES(ARITH)
ARITH_TYPES(ORDER)
BIT_TYPES(BITS)

#define RUN_ARITH(NAME, T)              \
  sum_##NAME(team, n, in_place);        \
  prod_##NAME(team, n, in_place);       \
  sum_inscan_##NAME(team, n, in_place); \
  sum_exscan_##NAME(team, n, in_place);
#define RUN_ORDER(NAME, T)       \
  max_##NAME(team, n, in_place); \
  min_##NAME(team, n, in_place);
#define RUN_BITS(NAME, T)        \
  and_##NAME(team, n, in_place); \
  or_##NAME(team, n, in_place);  \
  xor_##NAME(team, n, in_place);

static void run(shmem_team_t team, size_t n, int in_place) {
  check_context("team of %d, %zu elements, %s place", shmem_team_n_pes(team), n, in_place ? "in" : "not in");
  ARITH_TYPES(RUN_ARITH)
  COMPLEX_TYPES(RUN_ARITH)
  ARITH_TYPES(RUN_ORDER)
  BIT_TYPES(RUN_BITS)
}

/* Semantics 120: integers wrap as their type. */
static void test_wrap(void) {
  static int dest, source;
  source = 0x7fffffff;
  shmem_sync_all();
  shmem_int_sum_reduce(SHMEM_TEAM_WORLD, &dest, &source, 1);
  CHECK_EQ((unsigned)dest, 0x7fffffffu * (unsigned)shmem_n_pes());
  shmem_sync_all();
}

/* All PEs get the same maximum and minimum, whoever has a NaN, or a zero of the other sign. */
#define SPECIAL_VALUES(NAME, T)                                   \
  for (int who = 0; who < np; ++who) {                            \
    check_context(#NAME ", PE %d is special", who);               \
    T *source = sym_source, *dest = sym_dest;                     \
    source[0] = me == who ? (T)NAN : (T)me;                       \
    source[1] = me == who ? (T)-0.0 : (T)0.0;                     \
    source[2] = me == who ? (T)0.0 : (T)-0.0;                     \
    shmem_sync_all();                                             \
    shmem_##NAME##_max_reduce(SHMEM_TEAM_WORLD, dest, source, 3); \
    CHECK_EQ(dest[0], NAN);                                       \
    CHECK_EQ(signbit(dest[1]) != 0, np == 1);                     \
    CHECK_EQ(signbit(dest[2]), 0);                                \
    shmem_sync_all();                                             \
    shmem_##NAME##_min_reduce(SHMEM_TEAM_WORLD, dest, source, 3); \
    CHECK_EQ(dest[0], NAN);                                       \
    CHECK_CMP(signbit(dest[1]), !=, 0);                           \
    CHECK_EQ(signbit(dest[2]) != 0, np > 1);                      \
    shmem_sync_all();                                             \
  }

static void test_special_values(void) {
  const int me = shmem_my_pe(), np = shmem_n_pes();
  SPECIAL_VALUES(float, float)
  SPECIAL_VALUES(double, double)
  SPECIAL_VALUES(longdouble, long double)
}

int main(void) {
  bound_time(240);
  shmem_init();
  sym_source = shmem_malloc(kLarge * sizeof(double complex));
  sym_dest = shmem_malloc(kLarge * sizeof(double complex));
  CHECK(sym_source != NULL);
  CHECK(sym_dest != NULL);
  test_wrap();
  test_special_values();
  shmem_team_t teams[kTeams];
  const int count = make_teams(teams);
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s) {
    run(SHMEM_TEAM_WORLD, sizes[s], 0);
    run(SHMEM_TEAM_WORLD, sizes[s], 1);
  }
  /* The sizes take turns with the teams, the first of which is the world.  Of others random.c and large.c,
   * for long. */
  static const size_t pairs[][2] = {{0, 129}, {7, 1025}, {1, 15}};
  for (int t = 1; t < count; ++t) {
    for (int i = 0; i < 2 && teams[t] != SHMEM_TEAM_INVALID; ++i) run(teams[t], pairs[t % 3][i], (t + i) % 2);
    shmem_sync_all();
  }
  destroy_teams(teams, count);
  shmem_finalize();
  return 0;
}
