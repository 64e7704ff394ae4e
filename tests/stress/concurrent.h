/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads of all PEs that use the whole library at once, each thread in a lane of its own.
 *
 * A lane is one thread of each PE, with a team of its own (lane 0: the world), at times a part of that team,
 * and symmetric memory that only it touches.  All its threads draw the same random numbers (Lane.common), so
 * they agree on what to do next, in which team, and on all data, which therefore can be checked everywhere.
 * Lanes know nothing of each other: what they do at the same time is up to the scheduler.  What must be
 * shared, is: locks, the default context, the allocator. */
#ifndef CONCURRENT_H
#define CONCURRENT_H

#include <pthread.h>
#include <string.h>

#include "check.h"

enum { kLanes = 4, kMostPes = 16, kElements = 1024, kMail = 24, kCounters = 8, kLocks = 4 };

/* Symmetric; one for each lane. */
typedef struct {
  long source[kMostPes * kElements], dest[kMostPes * kElements];
  long region[kMostPes][kElements]; /* written by one PE each */
  long counters[kCounters];
  long shares[kMostPes][kCounters];
  long mail[kMostPes][kMail];
  uint64_t signals[kMostPes];
  long psync[2][SHMEM_SYNC_SIZE], work[kElements];
} Memory;

typedef struct {
  int number;
  Random common; /* the same on all PEs */
  Random own;
  Memory* memory;
  shmem_team_t base, child; /* child: SHMEM_TEAM_INVALID where this PE is not in it */
  int has_child;            /* on all PEs of the lane the same */
  long steps;
} Lane;

/* The team that a step works in.  `pes[i]` is the world's number of member i. */
typedef struct {
  shmem_team_t handle;
  int me, n;
  int pes[kMostPes];
} Team;

/* One kind of step.  All members of the team call it with the same `seed` and `dice`. */
typedef void Step(Lane* lane, const Team* team, Random* dice, uint64_t seed);

Step move_in_team, reduce_in_team, use_active_set;               /* concurrent_coll.c */
Step put_and_get, count_together, exchange_mail, allocate, lock; /* concurrent_rma.c */

/* Checks that each lock's holder was alone.  With no other thread active; collective. */
void verify_locks(void);

/* Datum i of a PE in a step. */
static inline long datum(uint64_t seed, int pe, size_t i) {
  return (long)(seed * 31 + (uint64_t)pe * 1000003u + (uint64_t)i * 7919u);
}

#endif
