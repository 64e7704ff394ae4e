/* SPDX-License-Identifier: BSD-3-Clause */
/* How long a stress test runs, decided for all PEs by the clock of one. */
#ifndef DURATION_H
#define DURATION_H
#include "check.h"

static long keep_going;

/* The same answer on all PEs, which all call: whether `end` (of now_seconds() on PE 0) is still to come. */
static int go_on(double end) {
  if (shmem_my_pe() == 0) {
    keep_going = now_seconds() < end;
    for (int pe = 1; pe < shmem_n_pes(); ++pe) shmem_long_p(&keep_going, keep_going, pe);
  }
  shmem_barrier_all();
  const int answer = (int)keep_going;
  shmem_barrier_all();
  return answer;
}

/* Seed of a run, the same on all PEs if none is given: by the clock of PE 0. Each PE has dice of its own. */
static inline void seed_dice(Random* dice) {
  static long clock_of_one;
  clock_of_one = (long)time(NULL);
  shmem_barrier_all();
  const uint64_t seed = seed_of_run((uint64_t)shmem_long_g(&clock_of_one, 0));
  dice->state = seed * 1000 + (uint64_t)shmem_my_pe();
}

/* When a run is to end, by now_seconds(). */
static inline double end_of_run(double default_seconds) {
  const char* seconds = getenv("ATOLL_STRESS_SECONDS");
  return now_seconds() + (seconds != NULL ? atof(seconds) : default_seconds);
}

#endif
