/* SPDX-License-Identifier: BSD-3-Clause */
/* Every team collective that moves data, for every type: of sizes from none to large over all PEs, and of
 * some over every kind of team (semantics 112-118, 122-124). */
#include "coll_check.h"

enum { kLarge = 9001 };

static void *sym_source, *sym_dest;
static const size_t sizes[] = {0, 1, 3, 14, 15, 129, 1000, kLarge};
/* Of other teams, which take turns.  Of other sizes random.c and large.c, for long. */
static const size_t pairs[][2] = {{0, 129}, {7, 1000}, {3, 15}};

#define shmem_mem_broadcast shmem_broadcastmem
#define shmem_mem_collect shmem_collectmem
#define shmem_mem_fcollect shmem_fcollectmem
#define shmem_mem_alltoall shmem_alltoallmem
#define shmem_mem_alltoalls shmem_alltoallsmem

/* Between two calls on the same buffers the program synchronizes: dest must be ready everywhere before any PE
 * enters.  Without it calls use other parts of the buffers. */
#define NAME float
#define T float
#include "team_types_of.h"
#define NAME double
#define T double
#include "team_types_of.h"
#define NAME longdouble
#define T long double
#include "team_types_of.h"
#define NAME char
#define T char
#include "team_types_of.h"
#define NAME schar
#define T signed char
#include "team_types_of.h"
#define NAME short
#define T short
#include "team_types_of.h"
#define NAME int
#define T int
#include "team_types_of.h"
#define NAME long
#define T long
#include "team_types_of.h"
#define NAME longlong
#define T long long
#include "team_types_of.h"
#define NAME uchar
#define T unsigned char
#include "team_types_of.h"
#define NAME ushort
#define T unsigned short
#include "team_types_of.h"
#define NAME uint
#define T unsigned
#include "team_types_of.h"
#define NAME ulong
#define T unsigned long
#include "team_types_of.h"
#define NAME ulonglong
#define T unsigned long long
#include "team_types_of.h"
#define NAME int8
#define T int8_t
#include "team_types_of.h"
#define NAME int16
#define T int16_t
#include "team_types_of.h"
#define NAME int32
#define T int32_t
#include "team_types_of.h"
#define NAME int64
#define T int64_t
#include "team_types_of.h"
#define NAME uint8
#define T uint8_t
#include "team_types_of.h"
#define NAME uint16
#define T uint16_t
#include "team_types_of.h"
#define NAME uint32
#define T uint32_t
#include "team_types_of.h"
#define NAME uint64
#define T uint64_t
#include "team_types_of.h"
#define NAME size
#define T size_t
#include "team_types_of.h"
#define NAME ptrdiff
#define T ptrdiff_t
#include "team_types_of.h"
#define NAME mem
#define T unsigned char
#include "team_types_of.h"

#define EACH_NAME(X)                                                                                      \
  X(float)                                                                                                \
  X(double) X(longdouble) X(char) X(schar) X(short) X(int) X(long) X(longlong) X(uchar) X(ushort) X(uint) \
      X(ulong) X(ulonglong) X(int8) X(int16) X(int32) X(int64) X(uint8) X(uint16) X(uint32) X(uint64)     \
          X(size) X(ptrdiff) X(mem)

#define RUN(NAME) all_##NAME(team, n);

static void run(shmem_team_t team, const size_t* counts, size_t how_many) {
  for (size_t s = 0; s < how_many; ++s) {
    const size_t n = counts[s];
    EACH_NAME(RUN)
  }
}

int main(void) {
  bound_time(240);
  shmem_init();
  const size_t room = (size_t)(kLarge + 64) * (size_t)shmem_n_pes() * sizeof(long double);
  sym_source = shmem_malloc(room);
  sym_dest = shmem_malloc(room);
  CHECK(sym_source != NULL);
  CHECK(sym_dest != NULL);
  shmem_team_t teams[kTeams];
  const int count = make_teams(teams);
  run(SHMEM_TEAM_WORLD, sizes, sizeof sizes / sizeof *sizes);
  for (int t = 1; t < count; ++t) {
    if (teams[t] != SHMEM_TEAM_INVALID) run(teams[t], pairs[t % 3], 2);
    shmem_sync_all();
  }
  destroy_teams(teams, count);
  shmem_finalize();
  return 0;
}
