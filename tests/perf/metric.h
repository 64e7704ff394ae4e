/* SPDX-License-Identifier: BSD-3-Clause */
/* What the yardsticks share: a clock, and one way to time a loop.  Plain C11, so that any OpenSHMEM
 * implementation and programs without one can include it. */
#ifndef ATOLL_TESTS_METRIC_H
#define ATOLL_TESTS_METRIC_H

#include <stdio.h>
#include <time.h>

enum { kRepetitions = 5 };

static inline double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* One line per metric, "name value unit", printed by process 0 only. */
static inline void report(int me, const char* name, double value, const char* unit) {
  if (me != 0) return;
  printf("%-24s %14.3f %s\n", name, value, unit);
  fflush(stdout);
}

/* Seconds per iteration of BODY (which may use i) on processes where ACTIVE holds, best of the repetitions;
 * SYNC lets all begin and end together, FINISH completes what BODY started. */
#define BEST_OF(ITERATIONS, ACTIVE, SYNC, FINISH, BODY)             \
  __extension__({                                                   \
    double best_ = 1e30;                                            \
    for (int r_ = 0; r_ < kRepetitions; r_++) {                     \
      SYNC;                                                         \
      const double start_ = now();                                  \
      if (ACTIVE) {                                                 \
        for (long i = 0; i < (long)(ITERATIONS); i++) {             \
          BODY;                                                     \
        }                                                           \
        FINISH;                                                     \
      }                                                             \
      const double each_ = (now() - start_) / (double)(ITERATIONS); \
      if (each_ < best_) best_ = each_;                             \
      SYNC;                                                         \
    }                                                               \
    best_;                                                          \
  })

#endif
