/* SPDX-License-Identifier: BSD-3-Clause */
/* A stencil of 7 points on two grids, by threads with a part of the planes each. */
#pragma once

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "require.h"

enum { kSide = 128, kSteps = 3, kThreads = 4, kCells = kSide * kSide * kSide };

static double* grids[2]; /* steps go from the first to the second and back */
/* On the heap: who waits for a lock on a page that has left is told EFAULT. */
static pthread_barrier_t* step_done;

static size_t cell(int x, int y, int z) { return ((size_t)z * kSide + (size_t)y) * kSide + (size_t)x; }

static void* compute_planes(void* argument) {
  const int me = (int)(intptr_t)argument;
  const int first = 1 + (kSide - 2) * me / kThreads, last = 1 + (kSide - 2) * (me + 1) / kThreads;
  for (int step = 0; step < kSteps; step++) {
    const double* a = grids[step % 2];
    double* b = grids[1 - step % 2];
    for (int z = first; z < last; z++)
      for (int y = 1; y < kSide - 1; y++)
        for (int x = 1; x < kSide - 1; x++)
          b[cell(x, y, z)] = 0.4 * a[cell(x, y, z)] +
                             0.1 * (a[cell(x - 1, y, z)] + a[cell(x + 1, y, z)] + a[cell(x, y - 1, z)] +
                                    a[cell(x, y + 1, z)] + a[cell(x, y, z - 1)] + a[cell(x, y, z + 1)]);
    pthread_barrier_wait(step_done);
  }
  return NULL;
}

/* On grids of kCells, which it gives values.  The result is in `to`; returns a sum that depends on all of it.
 */
static double compute_stencil(double* from, double* to) {
  for (size_t i = 0; i < kCells; i++) from[i] = to[i] = (double)(i * 2654435761U % 1000);
  grids[0] = from;
  grids[1] = to;
  step_done = malloc(sizeof *step_done);
  REQUIRE(step_done != NULL && pthread_barrier_init(step_done, NULL, kThreads) == 0);
  pthread_t threads[kThreads];
  for (intptr_t t = 0; t < kThreads; t++) pthread_create(&threads[t], NULL, compute_planes, (void*)t);
  for (int t = 0; t < kThreads; t++) pthread_join(threads[t], NULL);
  double sum = 0;
  for (size_t i = 0; i < kCells; i++) sum += to[i] * (double)(i % 7);
  return sum;
}
