/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the tests of collectives: the teams to try, patterns of data. */
#ifndef COLL_CHECK_H
#define COLL_CHECK_H

#include <unistd.h>

#include "check.h"

/* A test that hangs ends: SIGALRM kills it. */
static inline void bound_time(unsigned seconds) { alarm(seconds); }

/* Repeatable random numbers; all PEs draw the same. */
static inline unsigned long draw(unsigned long* state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state >> 8;
}

enum { kTeams = 8 };

/* Splits off a team and returns this PE's handle, or `other` where it is not a member. */
static inline shmem_team_t split(int start, int stride, int size, shmem_team_t other) {
  shmem_team_t team;
  CHECK_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, start, stride, size, NULL, 0, &team), 0);
  return team != SHMEM_TEAM_INVALID ? team : other;
}

/* Teams of all kinds; SHMEM_TEAM_INVALID where this PE is in none.  Returns how many. */
static inline int make_teams(shmem_team_t teams[kTeams]) {
  const int np = shmem_n_pes();
  int n = 0;
  teams[n++] = SHMEM_TEAM_WORLD;
  teams[n++] = SHMEM_TEAM_SHARED;
  teams[n] = split(0, 2, (np + 1) / 2, SHMEM_TEAM_INVALID);
  if (np > 1) teams[n] = split(1, 2, np / 2, teams[n]);
  ++n;
  teams[n++] = split(np - 1, -1, np, SHMEM_TEAM_INVALID);
  CHECK_EQ(shmem_team_split_2d(SHMEM_TEAM_WORLD, 2, NULL, 0, &teams[n], NULL, 0, &teams[n + 1]), 0);
  n += 2;
  teams[n] = SHMEM_TEAM_INVALID;
  for (int pe = 0; pe < np; ++pe) teams[n] = split(pe, 0, 1, teams[n]);
  ++n;
  teams[n++] = split(0, 1, (np + 2) / 2, SHMEM_TEAM_INVALID);
  return n;
}

static inline void destroy_teams(shmem_team_t teams[kTeams], int n) {
  for (int t = 2; t < n; ++t) shmem_team_destroy(teams[t]);
}

/* Small numbers, different for each PE and place, exact in every type. */
static inline int pattern(int pe, size_t i, int salt) { return (int)((pe * 5 + i * 3 + salt) % 11); }

#endif
