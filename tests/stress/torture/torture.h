/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads of all PEs that use the whole library at once, each thread in a lane of its own.
 *
 * A lane is one thread of each PE, with a team of its own (lane 0: the world), at times a part of that team,
 * and symmetric memory that only it touches.  All its threads draw the same random numbers (Lane.common), so
 * they agree on what to do next, in which team, and on all data, which therefore can be checked everywhere.
 * Lanes know nothing of each other: what they do at the same time is up to the scheduler.  What must be
 * shared, is: locks, the default context, the allocator, tables.
 *
 * Between rounds of steps only the main thread of each PE is active.  All PEs then verify what the rounds
 * have left, and change what outlives them, as `plan` says, which is the same random sequence on all PEs. */
#ifndef TORTURE_H
#define TORTURE_H

#include <pthread.h>
#include <string.h>

#include "check.h"

enum { kLanes = 4, kMostPes = 16, kElements = 1024, kMail = 24, kCounters = 8, kLocks = 4 };

/* Symmetric; one for each lane.  What is [kMostPes] is written by one PE each. */
typedef struct {
  int of_int[kMostPes];
  uint32_t of_uint32[kMostPes];
  long of_long[kMostPes];
  uint64_t of_uint64[kMostPes];
  float of_float[kMostPes];
  double of_double[kMostPes];
} Words;

typedef struct {
  long source[kMostPes * kElements], dest[kMostPes * kElements];
  long counters[kCounters];
  long shares[kMostPes][kCounters];
  long mail[kMostPes][kMail];
  uint64_t signals[kMostPes];
  Words words;
  long psync[2][SHMEM_SYNC_SIZE], work[kElements];
} Memory;

typedef struct {
  int number;
  Random common; /* the same on all PEs */
  Random own;
  Memory* memory;
  Words words;              /* what my words hold, by the PE where they lie */
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

Step move_in_team, reduce_in_team, use_active_set;  /* collectives.c */
Step count_together, exchange_mail, allocate, lock; /* one_sided.c */
Step use_words;                                     /* words.c */
Step use_blocks;                                    /* blocks.c */
Step use_tables;                                    /* tables.c */

/* A context of a random kind: the default one, or one made for this step, at times on the team.
 * number_in() is what its operations take as the number of a member. */
typedef struct {
  shmem_ctx_t handle;
  int by_team;
} Stream;

Stream open_stream(const Team* team, Random* own); /* one_sided.c */
void close_stream(Stream stream, Random* own);
static inline int number_in(Stream stream, const Team* team, int member) {
  return stream.by_team ? member : team->pes[member];
}

/* Between rounds: collective, with no other thread active. */
void verify_locks(void); /* that each lock's holder was alone */
void verify_words(const Lane* lanes, int count);
void verify_blocks(void);
void verify_tables(void);
void change_blocks(Random* plan, int lanes);
void change_tables(Random* plan);

/* Before shmem_finalize: nothing of them is left but what is durable, which the next life finds.  One object
 * at least is made durable, where there are objects. */
void close_blocks(void);
void close_tables(void);

/* At the end: where there are objects, some life has found what an earlier one had made durable. */
void check_objects(void);

/* Datum i of a PE in a step. */
static inline long datum(uint64_t seed, int pe, size_t i) {
  return (long)(seed * 31 + (uint64_t)pe * 1000003u + (uint64_t)i * 7919u);
}

#endif
