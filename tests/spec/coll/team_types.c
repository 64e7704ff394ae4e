/* SPDX-License-Identifier: BSD-3-Clause */
/* Every team collective that moves data, for every type, over every kind of team: sizes from none to large,
 * one after the other without synchronization (semantics 112-118, 122-124). */
#include "coll_check.h"

enum { kLarge = 9001 };

static void *sym_source, *sym_dest;
static size_t sizes[] = {0, 1, 3, 14, 15, 129, 1000, kLarge};

#define EACH_TYPE(X)                                                                                      \
  X(float, float)                                                                                         \
  X(double, double) X(longdouble, long double) X(char, char) X(schar, signed char) X(short, short)        \
      X(int, int) X(long, long) X(longlong, long long) X(uchar, unsigned char) X(ushort, unsigned short)  \
          X(uint, unsigned) X(ulong, unsigned long) X(ulonglong, unsigned long long) X(int8, int8_t)      \
              X(int16, int16_t) X(int32, int32_t) X(int64, int64_t) X(uint8, uint8_t) X(uint16, uint16_t) \
                  X(uint32, uint32_t) X(uint64, uint64_t) X(size, size_t) X(ptrdiff, ptrdiff_t)           \
                      X(mem, unsigned char)

#define shmem_mem_broadcast shmem_broadcastmem
#define shmem_mem_collect shmem_collectmem
#define shmem_mem_fcollect shmem_fcollectmem
#define shmem_mem_alltoall shmem_alltoallmem
#define shmem_mem_alltoalls shmem_alltoallsmem

/* Between two calls on the same buffers the program synchronizes: dest must be ready everywhere before any PE
 * enters.  Without it calls use other parts of the buffers. */
#define TEST(NAME, T)                                                                                        \
  static void broadcast_##NAME(shmem_team_t team, size_t n) {                                                \
    T *source = sym_source, *dest = sym_dest;                                                                \
    const int me = shmem_team_my_pe(team), np = shmem_team_n_pes(team);                                      \
    for (int root = 0; root < np; ++root) {                                                                  \
      for (size_t i = 0; i < n; ++i) source[i] = (T)pattern(me, i, root), dest[i] = (T)99;                   \
      shmem_team_sync(team);                                                                                 \
      CHECK(shmem_##NAME##_broadcast(team, dest, source, n, root) == 0);                                     \
      for (size_t i = 0; i < n; ++i)                                                                         \
        CHECK(dest[i] == (T)pattern(root, i, root), #NAME " broadcast n %zu root %d i %zu", n, root, i);     \
      shmem_team_sync(team);                                                                                 \
    }                                                                                                        \
  }                                                                                                          \
  static void fcollect_##NAME(shmem_team_t team, size_t n) {                                                 \
    T *source = sym_source, *dest = sym_dest;                                                                \
    const int me = shmem_team_my_pe(team), np = shmem_team_n_pes(team);                                      \
    for (size_t i = 0; i < n; ++i) source[i] = (T)pattern(me, i, 1);                                         \
    for (size_t i = 0; i < n * (size_t)np; ++i) dest[i] = (T)99;                                             \
    shmem_team_sync(team);                                                                                   \
    CHECK(shmem_##NAME##_fcollect(team, dest, source, n) == 0);                                              \
    for (size_t i = 0; i < n; ++i) source[i] = (T)77; /* 114: reusable */                                    \
    for (int pe = 0; pe < np; ++pe)                                                                          \
      for (size_t i = 0; i < n; ++i)                                                                         \
        CHECK(dest[(size_t)pe * n + i] == (T)pattern(pe, i, 1), #NAME " fcollect n %zu pe %d i %zu", n, pe,  \
              i);                                                                                            \
    shmem_team_sync(team);                                                                                   \
  }                                                                                                          \
  static void collect_##NAME(shmem_team_t team, size_t n) {                                                  \
    T *source = sym_source, *dest = sym_dest;                                                                \
    const int me = shmem_team_my_pe(team), np = shmem_team_n_pes(team);                                      \
    for (int zero = 0; zero < 3; ++zero) { /* 117: counts differ, some are none */                           \
      const size_t mine = me % 3 == zero ? 0 : n + (size_t)me;                                               \
      for (size_t i = 0; i < mine; ++i) source[i] = (T)pattern(me, i, 2);                                    \
      shmem_team_sync(team);                                                                                 \
      CHECK(shmem_##NAME##_collect(team, dest, source, mine) == 0);                                          \
      for (size_t i = 0; i < mine; ++i) source[i] = (T)77;                                                   \
      size_t at = 0;                                                                                         \
      for (int pe = 0; pe < np; ++pe)                                                                        \
        for (size_t i = 0, end = pe % 3 == zero ? 0 : n + (size_t)pe; i < end; ++i, ++at)                    \
          CHECK(dest[at] == (T)pattern(pe, i, 2), #NAME " collect n %zu pe %d i %zu", n, pe, i);             \
      shmem_team_sync(team);                                                                                 \
    }                                                                                                        \
  }                                                                                                          \
  static void alltoall_##NAME(shmem_team_t team, size_t n) {                                                 \
    T *source = sym_source, *dest = sym_dest;                                                                \
    const int me = shmem_team_my_pe(team), np = shmem_team_n_pes(team);                                      \
    for (int k = 0; k < np; ++k)                                                                             \
      for (size_t i = 0; i < n; ++i) source[(size_t)k * n + i] = (T)pattern(me, i, k);                       \
    shmem_team_sync(team);                                                                                   \
    CHECK(shmem_##NAME##_alltoall(team, dest, source, n) == 0);                                              \
    for (size_t i = 0; i < n * (size_t)np; ++i) source[i] = (T)77;                                           \
    for (int pe = 0; pe < np; ++pe)                                                                          \
      for (size_t i = 0; i < n; ++i)                                                                         \
        CHECK(dest[(size_t)pe * n + i] == (T)pattern(pe, i, me), #NAME " alltoall n %zu pe %d i %zu", n, pe, \
              i);                                                                                            \
    shmem_team_sync(team);                                                                                   \
  }                                                                                                          \
  static void alltoalls_##NAME(shmem_team_t team, size_t n, ptrdiff_t dst, ptrdiff_t sst) {                  \
    T *source = sym_source, *dest = sym_dest;                                                                \
    const int me = shmem_team_my_pe(team), np = shmem_team_n_pes(team);                                      \
    const size_t all = n * (size_t)np;                                                                       \
    for (size_t i = 0; i < all * (size_t)dst; ++i) dest[i] = (T)99;                                          \
    for (size_t i = 0; i < all; ++i) source[i * (size_t)sst] = (T)pattern(me, i, 3);                         \
    shmem_team_sync(team);                                                                                   \
    CHECK(shmem_##NAME##_alltoalls(team, dest, source, dst, sst, n) == 0);                                   \
    for (size_t i = 0; i < all * (size_t)dst; ++i) {                                                         \
      const size_t k = i / (size_t)dst;                                                                      \
      const T want = i % (size_t)dst != 0 ? (T)99 : (T)pattern((int)(k / n), (size_t)me * n + k % n, 3);     \
      CHECK(dest[i] == want, #NAME " alltoalls n %zu dst %td sst %td i %zu", n, dst, sst, i);                \
    }                                                                                                        \
    shmem_team_sync(team);                                                                                   \
  }                                                                                                          \
  static void all_##NAME(shmem_team_t team, size_t n) {                                                      \
    broadcast_##NAME(team, n);                                                                               \
    fcollect_##NAME(team, n);                                                                                \
    collect_##NAME(team, n);                                                                                 \
    alltoall_##NAME(team, n);                                                                                \
    alltoalls_##NAME(team, n / 4, 1, 1);                                                                     \
    alltoalls_##NAME(team, n / 4, 3, 2);                                                                     \
    alltoalls_##NAME(team, n / 4, 1, 3);                                                                     \
  }
EACH_TYPE(TEST)

#define RUN(NAME, T) all_##NAME(team, n);

int main(void) {
  bound_time(240);
  shmem_init();
  const size_t room = (size_t)(kLarge + 64) * (size_t)shmem_n_pes() * sizeof(long double);
  sym_source = shmem_malloc(room);
  sym_dest = shmem_malloc(room);
  CHECK(sym_source != NULL && sym_dest != NULL);
  shmem_team_t teams[kTeams];
  const int count = make_teams(teams);
  for (int t = 0; t < count; ++t) {
    shmem_team_t team = teams[t];
    for (size_t s = 0; team != SHMEM_TEAM_INVALID && s < sizeof sizes / sizeof *sizes; ++s) {
      const size_t n = sizes[s];
      EACH_TYPE(RUN)
    }
    shmem_sync_all();
  }
  destroy_teams(teams, count);
  shmem_finalize();
  return 0;
}
