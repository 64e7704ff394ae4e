/* SPDX-License-Identifier: BSD-3-Clause */
/* The extensions of shmemx.h: fetch-max and fetch-min in each form and on each type, by the names with a type
 * and by those without one; on the heap and on a variable, on every PE, within a session and without.
 *
 * max_min_overloads.cpp compiles this file as C++, where overloads take the place of the generic names. */
#include <math.h>
#include <shmemx.h>
#include <string.h>

#include "../../headers/each_type.h"
#include "check.h"

/* One word per calling PE, so that everybody can tell what comes back. */
static union {
  char bytes[16];
  long double align;
} variable_area[64];
static void* area; /* 16 bytes per PE */
static shmem_ctx_t ctx;

#define WORD(T) ((T*)(void*)((char*)area + 16 * shmem_my_pe()))

/* Of type T whatever C promotes it to. */
#define AS(T, VALUE) ((T)(VALUE))

/* What the word on `pe` holds when all that this PE has asked for is done. */
#define HOLDS(NAME, T, VALUE) \
  shmem_quiet();              \
  shmem_ctx_quiet(ctx);       \
  CHECK_OF_PE(pe, shmem_##NAME##_atomic_fetch(word, pe), AS(T, VALUE))

/* ---- Names with a type */

#define TEST_TYPED(NAME, T, UNUSED)                                                    \
  static void test_typed_##NAME(int pe) {                                              \
    T* word = WORD(T);                                                                 \
    shmem_##NAME##_atomic_set(word, AS(T, 50), pe);                                    \
    shmem_quiet();                                                                     \
    CHECK_OF_PE(pe, shmemx_##NAME##_atomic_fetch_max(word, AS(T, 40), pe), AS(T, 50)); \
    CHECK_OF_PE(pe, shmemx_##NAME##_atomic_fetch_max(word, AS(T, 60), pe), AS(T, 50)); \
    CHECK_OF_PE(pe, shmemx_##NAME##_atomic_fetch_min(word, AS(T, 70), pe), AS(T, 60)); \
    CHECK_OF_PE(pe, shmemx_##NAME##_atomic_fetch_min(word, AS(T, 30), pe), AS(T, 60)); \
    HOLDS(NAME, T, 30);                                                                \
    shmemx_##NAME##_atomic_max(word, AS(T, 35), pe);                                   \
    HOLDS(NAME, T, 35);                                                                \
    shmemx_##NAME##_atomic_max(word, AS(T, 34), pe);                                   \
    shmemx_##NAME##_atomic_min(word, AS(T, 36), pe);                                   \
    HOLDS(NAME, T, 35);                                                                \
    shmemx_##NAME##_atomic_min(word, AS(T, 20), pe);                                   \
    HOLDS(NAME, T, 20);                                                                \
  }

#define TEST_CONTEXT(NAME, T, UNUSED)                                                           \
  static void test_context_##NAME(int pe) {                                                     \
    T* word = WORD(T);                                                                          \
    shmem_##NAME##_atomic_set(word, AS(T, 50), pe);                                             \
    shmem_quiet();                                                                              \
    CHECK_OF_PE(pe, shmemx_ctx_##NAME##_atomic_fetch_max(ctx, word, AS(T, 60), pe), AS(T, 50)); \
    CHECK_OF_PE(pe, shmemx_ctx_##NAME##_atomic_fetch_min(ctx, word, AS(T, 40), pe), AS(T, 60)); \
    shmemx_ctx_##NAME##_atomic_max(ctx, word, AS(T, 45), pe);                                   \
    HOLDS(NAME, T, 45);                                                                         \
    shmemx_ctx_##NAME##_atomic_min(ctx, word, AS(T, 44), pe);                                   \
    HOLDS(NAME, T, 44);                                                                         \
  }

#define TEST_LATER(NAME, T, UNUSED)                                              \
  static void test_later_##NAME(int pe) {                                        \
    T *word = WORD(T), old[4] = {0};                                             \
    shmem_##NAME##_atomic_set(word, AS(T, 50), pe);                              \
    shmem_fence();                                                               \
    shmemx_##NAME##_atomic_fetch_max_nbi(&old[0], word, AS(T, 60), pe);          \
    shmem_fence();                                                               \
    shmemx_##NAME##_atomic_fetch_min_nbi(&old[1], word, AS(T, 40), pe);          \
    shmem_quiet();                                                               \
    shmemx_ctx_##NAME##_atomic_fetch_max_nbi(ctx, &old[2], word, AS(T, 41), pe); \
    shmem_ctx_fence(ctx);                                                        \
    shmemx_ctx_##NAME##_atomic_fetch_min_nbi(ctx, &old[3], word, AS(T, 39), pe); \
    HOLDS(NAME, T, 39);                                                          \
    CHECK_EQ(old[0], AS(T, 50));                                                 \
    CHECK_EQ(old[1], AS(T, 60));                                                 \
    CHECK_EQ(old[2], AS(T, 40));                                                 \
    CHECK_EQ(old[3], AS(T, 41));                                                 \
  }

/* -1 is the least of a signed type's three, and the greatest of an unsigned one's. */
#define TEST_SIGN(NAME, T, UNUSED)                                                    \
  static void test_sign_##NAME(int pe) {                                              \
    T *word = WORD(T), least = AS(T, -1) < AS(T, 7) ? AS(T, -1) : AS(T, 0);           \
    const T greatest = AS(T, -1) < AS(T, 7) ? AS(T, 7) : AS(T, -1);                   \
    shmem_##NAME##_atomic_set(word, AS(T, 7), pe);                                    \
    shmem_quiet();                                                                    \
    CHECK_OF_PE(pe, shmemx_##NAME##_atomic_fetch_max(word, AS(T, -1), pe), AS(T, 7)); \
    CHECK_OF_PE(pe, shmemx_##NAME##_atomic_fetch_max(word, AS(T, 0), pe), greatest);  \
    CHECK_OF_PE(pe, shmemx_##NAME##_atomic_fetch_min(word, AS(T, -1), pe), greatest); \
    shmemx_##NAME##_atomic_min(word, AS(T, 0), pe);                                   \
    HOLDS(NAME, T, least);                                                            \
  }

/* ---- Names without one: their types from a table of the tests, as a generic expands those of shmem/types.h
 */

#define TEST_GENERIC(NAME, T)                                                      \
  static void test_generic_##NAME(int pe) {                                        \
    T *word = WORD(T), old[4] = {0};                                               \
    shmem_atomic_set(word, AS(T, 50), pe);                                         \
    shmem_quiet();                                                                 \
    CHECK_OF_PE(pe, shmemx_atomic_fetch_max(word, AS(T, 60), pe), AS(T, 50));      \
    CHECK_OF_PE(pe, shmemx_atomic_fetch_min(ctx, word, AS(T, 40), pe), AS(T, 60)); \
    CHECK_OF_PE(pe, shmemx_atomic_fetch_max(ctx, word, AS(T, 41), pe), AS(T, 40)); \
    CHECK_OF_PE(pe, shmemx_atomic_fetch_min(word, AS(T, 30), pe), AS(T, 41));      \
    shmemx_atomic_max(word, AS(T, 31), pe);                                        \
    HOLDS(NAME, T, 31);                                                            \
    shmemx_atomic_min(ctx, word, AS(T, 21), pe);                                   \
    HOLDS(NAME, T, 21);                                                            \
    TEST_GENERIC_LATER(NAME, T)                                                    \
  }

#define TEST_GENERIC_LATER(NAME, T)                               \
  shmemx_atomic_max(ctx, word, AS(T, 22), pe);                    \
  shmem_ctx_quiet(ctx);                                           \
  shmemx_atomic_min(word, AS(T, 12), pe);                         \
  shmem_fence();                                                  \
  shmemx_atomic_fetch_max_nbi(&old[0], word, AS(T, 13), pe);      \
  shmem_fence();                                                  \
  shmemx_atomic_fetch_min_nbi(&old[1], word, AS(T, 11), pe);      \
  shmem_quiet();                                                  \
  shmemx_atomic_fetch_max_nbi(ctx, &old[2], word, AS(T, 14), pe); \
  shmem_ctx_fence(ctx);                                           \
  shmemx_atomic_fetch_min_nbi(ctx, &old[3], word, AS(T, 10), pe); \
  HOLDS(NAME, T, 10);                                             \
  CHECK_EQ(old[0], AS(T, 12));                                    \
  CHECK_EQ(old[1], AS(T, 13));                                    \
  CHECK_EQ(old[2], AS(T, 11));                                    \
  CHECK_EQ(old[3], AS(T, 14));

/* ---- Floating-point numbers that have no order */

/* Bit for bit: a NaN equals itself, and zeros of different sign differ. */
#define CHECK_SAME(GOT, EXPECTED) CHECK_BYTES(&(GOT), &(EXPECTED), sizeof(GOT))

/* Both operations, in each form, on a word that holds `start`: it still does, and `start` comes back. */
#define TEST_NO_CHANGE(NAME, T)                                   \
  static void leave_##NAME(T start, T val, int pe) {              \
    T *word = WORD(T), old[4] = {0}, now;                         \
    shmem_##NAME##_atomic_set(word, start, pe);                   \
    shmem_quiet();                                                \
    old[0] = shmemx_##NAME##_atomic_fetch_max(word, val, pe);     \
    old[1] = shmemx_##NAME##_atomic_fetch_min(word, val, pe);     \
    shmemx_##NAME##_atomic_max(word, val, pe);                    \
    shmemx_##NAME##_atomic_min(word, val, pe);                    \
    shmemx_##NAME##_atomic_fetch_max_nbi(&old[2], word, val, pe); \
    shmemx_##NAME##_atomic_fetch_min_nbi(&old[3], word, val, pe); \
    shmem_quiet();                                                \
    now = shmem_##NAME##_atomic_fetch(word, pe);                  \
    CHECK_SAME(now, start);                                       \
    CHECK_SAME(old[0], start);                                    \
    CHECK_SAME(old[1], start);                                    \
    CHECK_SAME(old[2], start);                                    \
    CHECK_SAME(old[3], start);                                    \
  }

#define TEST_REAL(NAME, T)                                                                       \
  TEST_NO_CHANGE(NAME, T)                                                                        \
  static void test_real_##NAME(int pe) {                                                         \
    const T numbers[] = {AS(T, -1.5), AS(T, -0.0), AS(T, 0), AS(T, INFINITY), AS(T, -INFINITY)}; \
    for (int i = 0; i < 5; ++i) {                                                                \
      leave_##NAME(numbers[i], AS(T, NAN), pe);                                                  \
      leave_##NAME(AS(T, NAN), numbers[i], pe);                                                  \
    }                                                                                            \
    leave_##NAME(AS(T, NAN), AS(T, -NAN), pe);                                                   \
    leave_##NAME(AS(T, 0), AS(T, -0.0), pe);                                                     \
    leave_##NAME(AS(T, -0.0), AS(T, 0), pe);                                                     \
    TEST_INFINITE(NAME, T)                                                                       \
  }

#define TEST_INFINITE(NAME, T)                                                                       \
  shmem_##NAME##_atomic_set(WORD(T), AS(T, -2.5), pe);                                               \
  shmem_quiet();                                                                                     \
  CHECK_OF_PE(pe, shmemx_##NAME##_atomic_fetch_max(WORD(T), AS(T, INFINITY), pe), AS(T, -2.5));      \
  CHECK_OF_PE(pe, shmemx_##NAME##_atomic_fetch_min(WORD(T), AS(T, -INFINITY), pe), AS(T, INFINITY)); \
  CHECK_OF_PE(pe, shmemx_##NAME##_atomic_fetch_min(WORD(T), AS(T, 1), pe), AS(T, -INFINITY));        \
  CHECK_OF_PE(pe, shmemx_##NAME##_atomic_fetch_max(WORD(T), AS(T, 1e-30), pe), AS(T, -INFINITY));    \
  CHECK_OF_PE(pe, shmem_##NAME##_atomic_fetch(WORD(T), pe), AS(T, 1e-30));

/* Several in a row, which may become one on the way: a NaN among them takes nothing along. */
#define TEST_ROW(NAME, T)                                                      \
  static void test_row_##NAME(int pe) {                                        \
    T* word = WORD(T);                                                         \
    const T up[] = {AS(T, NAN), AS(T, 3), AS(T, NAN)},                         \
            down[] = {AS(T, -NAN), AS(T, -2), AS(T, NAN), AS(T, 1)};           \
    shmem_##NAME##_atomic_set(word, AS(T, 1), pe);                             \
    shmem_fence();                                                             \
    for (int i = 0; i < 3; ++i) shmemx_##NAME##_atomic_max(word, up[i], pe);   \
    HOLDS(NAME, T, 3);                                                         \
    for (int i = 0; i < 4; ++i) shmemx_##NAME##_atomic_min(word, down[i], pe); \
    HOLDS(NAME, T, -2);                                                        \
  }

/* ---- All of them */

ATOLL_TYPES_AMO_EXT(TEST_TYPED, 0)
ATOLL_TYPES_AMO_EXT(TEST_CONTEXT, 0)
ATOLL_TYPES_AMO_EXT(TEST_LATER, 0)
ATOLL_TYPES_AMO(TEST_SIGN, 0)
EACH_AMO_EXT(TEST_GENERIC)
TEST_REAL(float, float)
TEST_REAL(double, double)
TEST_ROW(float, float)
TEST_ROW(double, double)

static void test_on_area(void) {
  for (int pe = 0; pe < shmem_n_pes(); ++pe) {
#define RUN(NAME, T, TEST) test_##TEST##_##NAME(pe);
    ATOLL_TYPES_AMO_EXT(RUN, typed)
    ATOLL_TYPES_AMO_EXT(RUN, context)
    ATOLL_TYPES_AMO_EXT(RUN, later)
    ATOLL_TYPES_AMO(RUN, sign)
#define RUN_GENERIC(NAME, T) test_generic_##NAME(pe);
    EACH_AMO_EXT(RUN_GENERIC)
    test_real_float(pe);
    test_real_double(pe);
    test_row_float(pe);
    test_row_double(pe);
  }
  shmem_barrier_all();
}

int main(void) {
  shmem_init();
  CHECK_EQ(shmem_ctx_create(0, &ctx), 0);
  area = shmem_calloc(64, 16);
  test_on_area();
  area = variable_area;
  test_on_area();
  shmem_ctx_session_start(SHMEM_CTX_DEFAULT, SHMEM_CTX_SESSION_BATCH, NULL, 0);
  shmem_ctx_session_start(ctx, SHMEM_CTX_SESSION_BATCH, NULL, 0);
  test_on_area();
  shmem_ctx_session_stop(ctx);
  shmem_ctx_session_stop(SHMEM_CTX_DEFAULT);
  shmem_ctx_destroy(ctx);
  shmem_finalize();
  return 0;
}
