/* SPDX-License-Identifier: BSD-3-Clause */
/* The checks of team_types.c for one type: included once for each, with NAME and T defined. */
#define PASTE_(a, b) a##_##b
#define PASTE(a, b) PASTE_(a, b)
#define OWN(what) PASTE(what, NAME)                /* a function of ours */
#define CALL(what) PASTE(PASTE(shmem, NAME), what) /* the function under test */

static void OWN(broadcast)(shmem_team_t team, size_t n) {
  T *source = sym_source, *dest = sym_dest;
  const int me = shmem_team_my_pe(team), np = shmem_team_n_pes(team);
  for (int root = 0; root < np; ++root) {
    for (size_t i = 0; i < n; ++i) source[i] = (T)pattern(me, i, root), dest[i] = (T)99;
    shmem_team_sync(team);
    CHECK_EQ(CALL(broadcast)(team, dest, source, n, root), 0);
    for (size_t i = 0; i < n; ++i) CHECK_AT(dest, i, (T)pattern(root, i, root));
    shmem_team_sync(team);
  }
}

static void OWN(fcollect)(shmem_team_t team, size_t n) {
  T *source = sym_source, *dest = sym_dest;
  const int me = shmem_team_my_pe(team), np = shmem_team_n_pes(team);
  for (size_t i = 0; i < n; ++i) source[i] = (T)pattern(me, i, 1);
  for (size_t i = 0; i < n * (size_t)np; ++i) dest[i] = (T)99;
  shmem_team_sync(team);
  CHECK_EQ(CALL(fcollect)(team, dest, source, n), 0);
  for (size_t i = 0; i < n; ++i) source[i] = (T)77; /* Semantics 114: reusable */
  for (int pe = 0; pe < np; ++pe)
    for (size_t i = 0; i < n; ++i) CHECK_AT(dest, (size_t)pe * n + i, (T)pattern(pe, i, 1));
  shmem_team_sync(team);
}

static void OWN(collect)(shmem_team_t team, size_t n) {
  T *source = sym_source, *dest = sym_dest;
  const int me = shmem_team_my_pe(team), np = shmem_team_n_pes(team);
  for (int zero = 0; zero < 3; ++zero) { /* Semantics 117: counts differ, some are none */
    const size_t mine = me % 3 == zero ? 0 : n + (size_t)me;
    for (size_t i = 0; i < mine; ++i) source[i] = (T)pattern(me, i, 2);
    shmem_team_sync(team);
    CHECK_EQ(CALL(collect)(team, dest, source, mine), 0);
    for (size_t i = 0; i < mine; ++i) source[i] = (T)77;
    size_t at = 0;
    for (int pe = 0; pe < np; ++pe)
      for (size_t i = 0, end = pe % 3 == zero ? 0 : n + (size_t)pe; i < end; ++i, ++at)
        CHECK_AT(dest, at, (T)pattern(pe, i, 2));
    shmem_team_sync(team);
  }
}

static void OWN(alltoall)(shmem_team_t team, size_t n) {
  T *source = sym_source, *dest = sym_dest;
  const int me = shmem_team_my_pe(team), np = shmem_team_n_pes(team);
  for (int k = 0; k < np; ++k)
    for (size_t i = 0; i < n; ++i) source[(size_t)k * n + i] = (T)pattern(me, i, k);
  shmem_team_sync(team);
  CHECK_EQ(CALL(alltoall)(team, dest, source, n), 0);
  for (size_t i = 0; i < n * (size_t)np; ++i) source[i] = (T)77;
  for (int pe = 0; pe < np; ++pe)
    for (size_t i = 0; i < n; ++i) CHECK_AT(dest, (size_t)pe * n + i, (T)pattern(pe, i, me));
  shmem_team_sync(team);
}

static void OWN(alltoalls)(shmem_team_t team, size_t n, ptrdiff_t dst, ptrdiff_t sst) {
  T *source = sym_source, *dest = sym_dest;
  const int me = shmem_team_my_pe(team), np = shmem_team_n_pes(team);
  const size_t all = n * (size_t)np;
  for (size_t i = 0; i < all * (size_t)dst; ++i) dest[i] = (T)99;
  for (size_t i = 0; i < all; ++i) source[i * (size_t)sst] = (T)pattern(me, i, 3);
  shmem_team_sync(team);
  CHECK_EQ(CALL(alltoalls)(team, dest, source, dst, sst, n), 0);
  for (size_t i = 0; i < all * (size_t)dst; ++i) {
    const size_t k = i / (size_t)dst;
    const T want = i % (size_t)dst != 0 ? (T)99 : (T)pattern((int)(k / n), (size_t)me * n + k % n, 3);
    CHECK_AT(dest, i, want);
  }
  shmem_team_sync(team);
}

static void OWN(all)(shmem_team_t team, size_t n) {
  check_context("team of %d, %zu elements", shmem_team_n_pes(team), n);
  OWN(broadcast)(team, n);
  OWN(fcollect)(team, n);
  OWN(collect)(team, n);
  OWN(alltoall)(team, n);
  OWN(alltoalls)(team, n / 4, 1, 1);
  OWN(alltoalls)(team, n / 4, 3, 2);
  OWN(alltoalls)(team, n / 4, 1, 3);
}

#undef CALL
#undef OWN
#undef PASTE
#undef PASTE_
#undef T
#undef NAME
