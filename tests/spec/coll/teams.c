/* SPDX-License-Identifier: BSD-3-Clause */
/* Teams: making, asking, translating, ending (semantics 13, 19, 20, 24, 25, 40, 42-48, 50, 52). */
#include <limits.h>

#include "coll_check.h"

static int me, np;

/* Semantics 40: what SHMEM_TEAM_INVALID gives. */
static void test_invalid(void) {
  shmem_team_config_t config = {12345};
  shmem_team_t a = SHMEM_TEAM_WORLD, b = SHMEM_TEAM_WORLD;
  shmem_ctx_t ctx = SHMEM_CTX_DEFAULT;
  static int object;
  CHECK_EQ(shmem_team_my_pe(SHMEM_TEAM_INVALID), -1);
  CHECK_EQ(shmem_team_n_pes(SHMEM_TEAM_INVALID), -1);
  CHECK_EQ(shmem_team_translate_pe(SHMEM_TEAM_INVALID, 0, SHMEM_TEAM_WORLD), -1);
  CHECK_EQ(shmem_team_translate_pe(SHMEM_TEAM_WORLD, 0, SHMEM_TEAM_INVALID), -1);
  CHECK_CMP(shmem_team_get_config(SHMEM_TEAM_INVALID, SHMEM_TEAM_NUM_CONTEXTS, &config), !=, 0);
  CHECK_EQ(config.num_contexts, 12345);
  CHECK_CMP(shmem_team_split_strided(SHMEM_TEAM_INVALID, 0, 1, 1, NULL, 0, &a), !=, 0);
  CHECK_EQ(a, SHMEM_TEAM_INVALID);
  a = SHMEM_TEAM_WORLD;
  CHECK_CMP(shmem_team_split_2d(SHMEM_TEAM_INVALID, 1, NULL, 0, &a, NULL, 0, &b), !=, 0);
  CHECK_EQ(a, SHMEM_TEAM_INVALID);
  CHECK_EQ(b, SHMEM_TEAM_INVALID);
  CHECK_CMP(shmem_team_create_ctx(SHMEM_TEAM_INVALID, 0, &ctx), !=, 0);
  CHECK_EQ(ctx, SHMEM_CTX_INVALID);
  CHECK_EQ(shmem_team_ptr(SHMEM_TEAM_INVALID, &object, 0), NULL); /* Semantics 19 */
  shmem_team_destroy(SHMEM_TEAM_INVALID);
}

/* Semantics 43, 45: triplets that leave the parent. */
static void test_bad_triplets(void) {
  const int bad[][3] = {
      {-1, 1, 1}, {np, 1, 1},     {0, 1, 0},  {0, 1, -2},         {0, 1, np + 1},          {0, -1, 2},
      {0, 0, 2},  {np - 1, 1, 2}, {0, np, 2}, {0, 0x7fffffff, 3}, {np - 1, -0x7fffffff, 3}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
    shmem_team_t team = SHMEM_TEAM_WORLD;
    CHECK_CMP(shmem_team_split_strided(SHMEM_TEAM_WORLD, bad[i][0], bad[i][1], bad[i][2], NULL, 0, &team), !=,
              0);
    CHECK_FOR(i, team, SHMEM_TEAM_INVALID);
  }
  shmem_team_t wrapped = SHMEM_TEAM_WORLD; /* no wrapping round the end, of 8 PEs or of any number */
  if (np == 8) CHECK_CMP(shmem_team_split_strided(SHMEM_TEAM_WORLD, 3, 3, 3, NULL, 0, &wrapped), !=, 0);
  if (np == 8) CHECK_EQ(wrapped, SHMEM_TEAM_INVALID);
  shmem_team_t x = SHMEM_TEAM_WORLD, y = SHMEM_TEAM_WORLD;
  CHECK_CMP(shmem_team_split_2d(SHMEM_TEAM_WORLD, -3, NULL, 0, &x, NULL, 0, &y), !=, 0);
  CHECK_EQ(x, SHMEM_TEAM_INVALID);
  CHECK_EQ(y, SHMEM_TEAM_INVALID);
  x = y = SHMEM_TEAM_WORLD;
  CHECK_CMP(shmem_team_split_2d(SHMEM_TEAM_WORLD, 0, NULL, 0, &x, NULL, 0, &y), !=, 0);
  CHECK_EQ(x, SHMEM_TEAM_INVALID);
  CHECK_EQ(y, SHMEM_TEAM_INVALID);
}

/* Whether the team works: all members see the same sum of world numbers. */
static void use(shmem_team_t team, long expected) {
  static long source, dest;
  source = me;
  CHECK_EQ(shmem_long_sum_reduce(team, &dest, &source, 1), 0);
  CHECK_EQ(dest, expected);
}

/* Semantics 42, 44, 46, 52: every triplet of the parent, members and numbers, with immediate use. */
static void test_triplets(shmem_team_t parent) {
  const int size = shmem_team_n_pes(parent);
  for (int start = 0; start < size; ++start) {
    for (int stride = -size; stride <= size; ++stride) {
      for (int n = 1; n <= (stride == 0 ? 1 : size); ++n) {
        const int last = start + (n - 1) * stride;
        if (last < 0 || last >= size) continue;
        shmem_team_t team;
        check_context("start %d, stride %d, size %d", start, stride, n);
        CHECK_EQ(shmem_team_split_strided(parent, start, stride, n, NULL, 0, &team), 0);
        int number = -1;
        long sum = 0;
        for (int i = 0; i < n; ++i) {
          const int in_parent = start + i * stride;
          if (in_parent == shmem_team_my_pe(parent)) number = i;
          sum += shmem_team_translate_pe(parent, in_parent, SHMEM_TEAM_WORLD);
        }
        CHECK_EQ(number < 0, team == SHMEM_TEAM_INVALID);
        if (number < 0) continue;
        CHECK_EQ(shmem_team_my_pe(team), number);
        CHECK_EQ(shmem_team_n_pes(team), n);
        for (int i = 0; i < n; ++i)
          CHECK_FOR(i, shmem_team_translate_pe(team, i, parent), start + i * stride);
        CHECK_EQ(shmem_team_translate_pe(team, n, parent), -1);
        CHECK_EQ(shmem_team_translate_pe(team, -1, parent), -1);
        CHECK_EQ(shmem_team_ptr(team, &me, n), NULL);
        CHECK_EQ(shmem_team_ptr(team, &me, -1), NULL);
        CHECK_EQ(shmem_team_ptr(team, &me, number), &me);
        use(team, sum);
        shmem_team_destroy(team);
      }
    }
  }
}

/* Semantics 47: rows and columns. */
static void test_grid(shmem_team_t parent, int xrange) {
  const int size = shmem_team_n_pes(parent), mine = shmem_team_my_pe(parent);
  const int width = xrange < size ? xrange : size;
  shmem_team_t x, y;
  /* Semantics 48: equal within each new team, different between them. */
  shmem_team_config_t config = {3 + mine / width}, of_column = {1 + mine % width};
  const long asks = mine % width == 0 ? 0 : SHMEM_TEAM_NUM_CONTEXTS;
  CHECK_EQ(shmem_team_split_2d(parent, xrange, &config, SHMEM_TEAM_NUM_CONTEXTS, &x, asks ? &of_column : NULL,
                               asks, &y),
           0);
  CHECK_EQ(shmem_team_my_pe(x), mine % width);
  CHECK_EQ(shmem_team_my_pe(y), mine / width);
  for (int i = 0; i < shmem_team_n_pes(x); ++i)
    CHECK_FOR(i, shmem_team_translate_pe(x, i, parent), mine / width * width + i);
  for (int i = 0; i < shmem_team_n_pes(y); ++i)
    CHECK_FOR(i, shmem_team_translate_pe(y, i, parent), mine % width + i * width);
  const int row = mine / width, last_row = (size - 1) / width;
  CHECK_EQ(shmem_team_n_pes(x), row < last_row ? width : size - last_row * width);
  CHECK_EQ(shmem_team_n_pes(y), (size - mine % width + width - 1) / width);
  config.num_contexts = 0;
  CHECK_EQ(shmem_team_get_config(x, SHMEM_TEAM_NUM_CONTEXTS, &config), 0);
  CHECK_EQ(config.num_contexts, 3 + mine / width);
  CHECK_EQ(shmem_team_get_config(y, SHMEM_TEAM_NUM_CONTEXTS, &config), 0);
  CHECK_EQ(config.num_contexts, asks ? 1 + mine % width : 0);
  shmem_team_sync(x);
  shmem_team_sync(y);
  shmem_team_destroy(y);
  shmem_team_destroy(x);
}

/* Semantics 20: PEs whose heap this PE reaches by loads and stores, and nobody else: on NVM it is alone. */
static void test_shared(void) {
  int* object = shmem_malloc(sizeof *object);
  int reached = 0;
  for (int pe = 0; pe < np; ++pe) {
    const int number = shmem_team_translate_pe(SHMEM_TEAM_WORLD, pe, SHMEM_TEAM_SHARED);
    CHECK_EQ(number >= 0, shmem_ptr(object, pe) != NULL);
    if (number < 0) continue;
    ++reached;
    CHECK_EQ(shmem_team_ptr(SHMEM_TEAM_SHARED, object, number), shmem_ptr(object, pe)); /* Semantics 19 */
  }
  CHECK_EQ(reached, shmem_team_n_pes(SHMEM_TEAM_SHARED));
  CHECK_EQ(shmem_team_ptr(SHMEM_TEAM_WORLD, object, me), shmem_ptr(object, me));
  shmem_free(object);
  test_triplets(SHMEM_TEAM_SHARED);
}

/* Where there is room for one team more, a grid takes none. */
static void test_half_a_grid(shmem_team_t* last) {
  shmem_team_t x = SHMEM_TEAM_WORLD, y = SHMEM_TEAM_WORLD;
  shmem_team_destroy(*last);
  CHECK_CMP(shmem_team_split_2d(SHMEM_TEAM_WORLD, 2, NULL, 0, &x, NULL, 0, &y), !=, 0);
  CHECK_EQ(x, SHMEM_TEAM_INVALID);
  CHECK_EQ(y, SHMEM_TEAM_INVALID);
  CHECK_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, np, NULL, 0, last), 0);
}

/* Many at once, then too many: the same answer everywhere, and everything still works. */
static void test_many(void) {
  enum { kTry = 2000 };
  static shmem_team_t teams[kTry];
  int made = 0;
  while (made < kTry && shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, np, NULL, 0, &teams[made]) == 0)
    ++made;
  CHECK_CMP(made, >=, 64);
  if (made < kTry) CHECK_AT(teams, made, SHMEM_TEAM_INVALID);
  if (made < kTry) test_half_a_grid(&teams[made - 1]);
  for (int i = 0; i < made; ++i) use(teams[i], (long)np * (np - 1) / 2);
  for (int i = 0; i < made; ++i) shmem_team_destroy(teams[i]);
  use(SHMEM_TEAM_WORLD, (long)np * (np - 1) / 2);
  test_grid(SHMEM_TEAM_WORLD, 2);
}

/* A team of one has no use for its stride; nor has a team that is split from it. */
static void test_huge_strides(void) {
  static const int strides[] = {INT_MAX, INT_MIN, -1, 1 << 30};
  for (size_t i = 0; i < sizeof strides / sizeof *strides; ++i) {
    shmem_team_t one, again;
    CHECK_FOR(i, shmem_team_split_strided(SHMEM_TEAM_WORLD, np - 1, strides[i], 1, NULL, 0, &one), 0);
    CHECK_EQ(one == SHMEM_TEAM_INVALID, me != np - 1);
    if (one == SHMEM_TEAM_INVALID) continue;
    CHECK_FOR(i, shmem_team_split_strided(one, 0, strides[i], 1, NULL, 0, &again), 0);
    CHECK_EQ(shmem_team_translate_pe(again, 0, SHMEM_TEAM_WORLD), me);
    use(again, me);
    shmem_team_destroy(again);
    shmem_team_destroy(one);
  }
  shmem_team_t none;
  if (np > 1) CHECK_CMP(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, INT_MAX, np, NULL, 0, &none), !=, 0);
}

int main(void) {
  bound_time(120);
  static shmem_team_t initialised = SHMEM_TEAM_SHARED; /* Semantics 24 */
  shmem_init();
  me = shmem_my_pe();
  np = shmem_n_pes();
  CHECK_EQ(initialised, SHMEM_TEAM_SHARED);
  CHECK_EQ(shmem_team_my_pe(SHMEM_TEAM_WORLD), me);
  CHECK_EQ(shmem_team_n_pes(SHMEM_TEAM_WORLD), np);              /* Semantics 13 */
  CHECK_EQ(shmem_team_get_config(SHMEM_TEAM_WORLD, 0, NULL), 0); /* Semantics 50 */
  test_invalid();
  test_bad_triplets();
  test_triplets(SHMEM_TEAM_WORLD);
  shmem_team_t reversed;
  CHECK_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, np - 1, -1, np, NULL, 0, &reversed), 0);
  test_triplets(reversed);
  for (int xrange = 1; xrange <= np + 1; ++xrange) test_grid(reversed, xrange);
  shmem_team_destroy(reversed);
  test_huge_strides();
  test_shared();
  shmem_sync_all();
  test_many();
  shmem_finalize();
  return 0;
}
