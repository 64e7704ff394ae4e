/* SPDX-License-Identifier: BSD-3-Clause */
/* Semantics 55, 78: the form with a context of every transfer, atomic and signal operation, for each of its
 * types. The context belongs to a team in which every PE has another number than in the world. */
#include <string.h>

#include "check.h"

enum { kPlace = 8, kPlaces = 8 }; /* one place per operation, each of a few elements */

static char area[kPlace * kPlaces * 16] __attribute__((aligned(16)));
static uint64_t signal_word;
static shmem_team_t team;
static shmem_ctx_t ctx;
static int mine, to, from;

static void begin(void) {
  memset(area, 0, sizeof area);
  signal_word = 0;
  shmem_team_sync(team);
}

static void end(void) {
  shmem_ctx_quiet(ctx);
  shmem_team_sync(team);
}

/* What member m sends: fits every type, and is different for each member. */
#define VALUE(T, M, I) ((T)(10 * (M) + (I) + 1))

#define PUT(NAME, T, UNUSED)                                                                   \
  static void put_##NAME(void) {                                                               \
    T *at = (T*)(void*)area, source[4];                                                        \
    for (int i = 0; i < 4; ++i) source[i] = VALUE(T, mine, i);                                 \
    begin();                                                                                   \
    shmem_ctx_##NAME##_put(ctx, at, source, 4, to);                                            \
    shmem_ctx_##NAME##_put_nbi(ctx, at + kPlace, source, 4, to);                               \
    for (int i = 0; i < 4; ++i) shmem_ctx_##NAME##_p(ctx, at + 2 * kPlace + i, source[i], to); \
    PUT_SPREAD(NAME)                                                                           \
    end();                                                                                     \
    EXPECT_PUTS(NAME, T)                                                                       \
  }

/* Elements 0 and 2 to places 0 and 3; then two blocks of two, three apart. */
#define PUT_SPREAD(NAME)                                                                                 \
  shmem_ctx_##NAME##_iput(ctx, at + 3 * kPlace, source, 3, 2, 2, to);                                    \
  shmem_ctx_##NAME##_ibput(ctx, at + 4 * kPlace, source, 3, 2, 2, 2, to);                                \
  shmem_ctx_##NAME##_put_signal(ctx, at + 5 * kPlace, source, 4, &signal_word, 1, SHMEM_SIGNAL_ADD, to); \
  shmem_ctx_##NAME##_put_signal_nbi(ctx, at + 6 * kPlace, source, 4, &signal_word, 1, SHMEM_SIGNAL_ADD, to);

#define EXPECT_PUTS(NAME, T)                                                                      \
  for (int i = 0; i < 4; ++i) {                                                                   \
    const T value = VALUE(T, from, i);                                                            \
    CHECK_AT(at, i, value);                                                                       \
    CHECK_AT(at, kPlace + i, value);                                                              \
    CHECK_AT(at, 2 * kPlace + i, value);                                                          \
    CHECK_AT(at, 5 * kPlace + i, value);                                                          \
    CHECK_AT(at, 6 * kPlace + i, value);                                                          \
    CHECK_AT(at, 3 * kPlace + i, i == 0 ? VALUE(T, from, 0) : i == 3 ? VALUE(T, from, 2) : (T)0); \
    CHECK_AT(at, 4 * kPlace + i + (i > 1), value);                                                \
  }                                                                                               \
  CHECK_EQ(at[4 * kPlace + 2], (T)0);                                                             \
  CHECK_EQ(signal_word, 2);

#define GET(NAME, T, UNUSED)                                               \
  static void get_##NAME(void) {                                           \
    T *at = (T*)(void*)area, back[4] = {0}, later[4] = {0}, wide[5] = {0}; \
    begin();                                                               \
    for (int i = 0; i < 6; ++i) at[i] = VALUE(T, mine, i);                 \
    shmem_team_sync(team);                                                 \
    shmem_ctx_##NAME##_get_nbi(ctx, later, (const T*)at, 4, to);           \
    shmem_ctx_##NAME##_get(ctx, back, (const T*)at, 4, to);                \
    GET_SPREAD(NAME, T)                                                    \
    end();                                                                 \
    for (int i = 0; i < 4; ++i) CHECK_AT(later, i, VALUE(T, to, i));       \
  }

#define GET_SPREAD(NAME, T)                                                          \
  for (int i = 0; i < 4; ++i) CHECK_AT(back, i, VALUE(T, to, i));                    \
  CHECK_OF_PE(to, shmem_ctx_##NAME##_g(ctx, (const T*)at + 3, to), VALUE(T, to, 3)); \
  shmem_ctx_##NAME##_iget(ctx, back, (const T*)at, 2, 5, 2, to);                     \
  CHECK_EQ(back[0], VALUE(T, to, 0));                                                \
  CHECK_EQ(back[1], VALUE(T, to, 1));                                                \
  CHECK_EQ(back[2], VALUE(T, to, 5));                                                \
  shmem_ctx_##NAME##_ibget(ctx, wide, (const T*)at, 3, 4, 2, 2, to);                 \
  CHECK_EQ(wide[0], VALUE(T, to, 0));                                                \
  CHECK_EQ(wide[1], VALUE(T, to, 1));                                                \
  CHECK_EQ(wide[2], (T)0);                                                           \
  CHECK_EQ(wide[3], VALUE(T, to, 4));                                                \
  CHECK_EQ(wide[4], VALUE(T, to, 5));

ATOLL_TYPES_RMA(PUT, 0)
ATOLL_TYPES_RMA(GET, 0)

/* By element size: bytes instead of values. */
static char sent[4 * 16], received[4 * 16];

static void fill(int member, char bytes[4 * 16]) {
  for (int i = 0; i < 4 * 16; ++i) bytes[i] = (char)(member * 7 + i + 1);
}

static void expect_bytes(const char* at, int member, size_t n) {
  char expected[4 * 16];
  fill(member, expected);
  CHECK_BYTES(at, expected, n);
}

#define SIZED(BITS, BYTES, UNUSED)                                                                     \
  static void sized_##BITS(void) {                                                                     \
    begin();                                                                                           \
    shmem_ctx_put##BITS(ctx, area, sent, 4, to);                                                       \
    shmem_ctx_put##BITS##_nbi(ctx, area + 64, sent, 4, to);                                            \
    shmem_ctx_put##BITS##_signal(ctx, area + 128, sent, 4, &signal_word, 5, SHMEM_SIGNAL_ADD, to);     \
    shmem_ctx_put##BITS##_signal_nbi(ctx, area + 192, sent, 4, &signal_word, 6, SHMEM_SIGNAL_ADD, to); \
    end();                                                                                             \
    CHECK_EQ(signal_word, 11);                                                                         \
    SIZED_BACK(BITS, BYTES)                                                                            \
  }

#define SIZED_BACK(BITS, BYTES)                                             \
  for (int k = 0; k < 4; ++k) expect_bytes(area + 64 * k, from, 4 * BYTES); \
  shmem_ctx_get##BITS(ctx, received, area, 4, to);                          \
  expect_bytes(received, mine, 4 * BYTES);                                  \
  memset(received, 0, sizeof received);                                     \
  shmem_ctx_get##BITS##_nbi(ctx, received, area + 64, 4, to);               \
  end();                                                                    \
  expect_bytes(received, mine, 4 * BYTES);

#define SPREAD(BITS, BYTES, UNUSED)                              \
  static void spread_##BITS(void) {                              \
    begin();                                                     \
    shmem_ctx_iput##BITS(ctx, area, sent, 2, 1, 2, to);          \
    shmem_ctx_ibput##BITS(ctx, area + 64, sent, 2, 3, 1, 2, to); \
    end();                                                       \
    SPREAD_BACK(BITS, BYTES)                                     \
  }

#define SPREAD_BACK(BITS, BYTES)                                   \
  char expected[4 * 16];                                           \
  fill(from, expected);                                            \
  CHECK_BYTES(area, expected, BYTES);                              \
  CHECK_BYTES(area + 2 * BYTES, expected + BYTES, BYTES);          \
  CHECK_BYTES(area + 64 + 2 * BYTES, expected + 3 * BYTES, BYTES); \
  shmem_ctx_iget##BITS(ctx, received, area, 1, 2, 2, to);          \
  expect_bytes(received, mine, 2 * BYTES);                         \
  shmem_ctx_ibget##BITS(ctx, received, area, 2, 2, 1, 2, to);      \
  expect_bytes(received, mine, BYTES);                             \
  end();

/* Each member has a word at its neighbour, which nobody else uses. */
#define AMO_MOVE(NAME, T, UNUSED)                                               \
  static void move_##NAME(void) {                                               \
    T *word = (T*)(void*)area, seen[2] = {0};                                   \
    begin();                                                                    \
    shmem_ctx_##NAME##_atomic_set(ctx, word, (T)5, to);                         \
    CHECK_OF_PE(to, shmem_ctx_##NAME##_atomic_swap(ctx, word, (T)6, to), (T)5); \
    shmem_ctx_##NAME##_atomic_swap_nbi(ctx, &seen[0], word, (T)(7 + mine), to); \
    shmem_ctx_fence(ctx);                                                       \
    MOVE_BACK(NAME, T)                                                          \
  }

#define MOVE_BACK(NAME, T)                                                                  \
  shmem_ctx_##NAME##_atomic_fetch_nbi(ctx, &seen[1], (const T*)word, to);                   \
  shmem_ctx_quiet(ctx);                                                                     \
  CHECK_EQ(seen[0], (T)6);                                                                  \
  CHECK_EQ(seen[1], (T)(7 + mine));                                                         \
  CHECK_OF_PE(to, shmem_ctx_##NAME##_atomic_fetch(ctx, (const T*)word, to), (T)(7 + mine)); \
  end();                                                                                    \
  CHECK_EQ(*word, (T)(7 + from));

#define AMO_ARITH(NAME, T, UNUSED)                                                   \
  static void arith_##NAME(void) {                                                   \
    T *word = (T*)(void*)area, seen[3] = {0};                                        \
    begin();                                                                         \
    shmem_ctx_##NAME##_atomic_inc(ctx, word, to);                                    \
    shmem_ctx_##NAME##_atomic_add(ctx, word, (T)4, to);                              \
    CHECK_OF_PE(to, shmem_ctx_##NAME##_atomic_fetch_inc(ctx, word, to), (T)5);       \
    CHECK_OF_PE(to, shmem_ctx_##NAME##_atomic_fetch_add(ctx, word, (T)2, to), (T)6); \
    ARITH_BACK(NAME, T)                                                              \
  }

#define ARITH_BACK(NAME, T)                                                                     \
  CHECK_OF_PE(to, shmem_ctx_##NAME##_atomic_compare_swap(ctx, word, (T)8, (T)20, to), (T)8);    \
  shmem_ctx_##NAME##_atomic_fetch_inc_nbi(ctx, &seen[0], word, to), shmem_ctx_quiet(ctx);       \
  shmem_ctx_##NAME##_atomic_fetch_add_nbi(ctx, &seen[1], word, (T)3, to), shmem_ctx_quiet(ctx); \
  shmem_ctx_##NAME##_atomic_compare_swap_nbi(ctx, &seen[2], word, (T)24, (T)(30 + mine), to);   \
  end();                                                                                        \
  CHECK_EQ(seen[0], (T)20);                                                                     \
  CHECK_EQ(seen[1], (T)21);                                                                     \
  CHECK_EQ(seen[2], (T)24);                                                                     \
  CHECK_EQ(*word, (T)(30 + from));

#define AMO_BITS(NAME, T, UNUSED)                                                         \
  static void bits_##NAME(void) {                                                         \
    T *word = (T*)(void*)area, seen[3] = {0};                                             \
    begin();                                                                              \
    shmem_ctx_##NAME##_atomic_or(ctx, word, (T)0xff, to);                                 \
    shmem_ctx_##NAME##_atomic_and(ctx, word, (T)0x3f, to);                                \
    shmem_ctx_##NAME##_atomic_xor(ctx, word, (T)0x01, to);                                \
    CHECK_OF_PE(to, shmem_ctx_##NAME##_atomic_fetch_or(ctx, word, (T)0x40, to), (T)0x3e); \
    BITS_BACK(NAME, T)                                                                    \
  }

#define BITS_BACK(NAME, T)                                                                         \
  CHECK_OF_PE(to, shmem_ctx_##NAME##_atomic_fetch_and(ctx, word, (T)0x60, to), (T)0x7e);           \
  CHECK_OF_PE(to, shmem_ctx_##NAME##_atomic_fetch_xor(ctx, word, (T)0x20, to), (T)0x60);           \
  shmem_ctx_##NAME##_atomic_fetch_or_nbi(ctx, &seen[0], word, (T)0x0f, to), shmem_ctx_quiet(ctx);  \
  shmem_ctx_##NAME##_atomic_fetch_and_nbi(ctx, &seen[1], word, (T)0x47, to), shmem_ctx_quiet(ctx); \
  shmem_ctx_##NAME##_atomic_fetch_xor_nbi(ctx, &seen[2], word, (T)0x03, to);                       \
  end();                                                                                           \
  CHECK_EQ(seen[0], (T)0x40);                                                                      \
  CHECK_EQ(seen[1], (T)0x4f);                                                                      \
  CHECK_EQ(seen[2], (T)0x47);                                                                      \
  CHECK_EQ(*word, (T)0x44);

ATOLL_UNITS_BITS(SIZED, 0)
ATOLL_UNITS_MEM(SIZED, 0)
ATOLL_UNITS_BITS(SPREAD, 0)
ATOLL_TYPES_AMO_EXT(AMO_MOVE, 0)
ATOLL_TYPES_AMO(AMO_ARITH, 0)
ATOLL_TYPES_BITWISE(AMO_BITS, 0)
ATOLL_TYPES_BITWISE_EXTRA(AMO_BITS, 0)

static void all_forms(void) {
  fill(mine, sent);
#define RUN(NAME, T, WHAT) WHAT##_##NAME();
  ATOLL_TYPES_RMA(RUN, put)
  ATOLL_TYPES_RMA(RUN, get)
  ATOLL_UNITS_BITS(RUN, sized)
  ATOLL_UNITS_MEM(RUN, sized)
  ATOLL_UNITS_BITS(RUN, spread)
  ATOLL_TYPES_AMO_EXT(RUN, move)
  ATOLL_TYPES_AMO(RUN, arith)
  ATOLL_TYPES_BITWISE(RUN, bits)
  ATOLL_TYPES_BITWISE_EXTRA(RUN, bits)
}

int main(void) {
  shmem_init();
  const int n = shmem_n_pes();
  CHECK_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, n - 1, -1, n, NULL, 0, &team), 0);
  CHECK_EQ(shmem_team_create_ctx(team, 0, &ctx), 0);
  mine = shmem_team_my_pe(team);
  to = (mine + 1) % n;
  from = (mine + n - 1) % n;
  all_forms();
  shmem_ctx_destroy(ctx);
  shmem_team_destroy(team);
  shmem_finalize();
  return 0;
}
