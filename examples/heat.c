/* SPDX-License-Identifier: BSD-3-Clause
 * Heat flows through a square plate whose rows are divided among the PEs.  Each step needs the last row of
 * both neighbours: put_signal brings the row and the news that it is there in one call.
 *
 *   oshcc -O2 heat.c -o heat && oshrun -n 4 ./heat */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>

enum { kSize = 192, kSteps = 200 };
typedef double Row[kSize];

static uint64_t from_above, from_below; /* number of the last step whose row has come */

static int first_row(int pe, int npes) { return (int)((long)pe * kSize / npes); }

/* Rows 1 .. rows of `next` from rows 0 .. rows + 1 of `now`; the plate's own edges keep their heat. */
static void step(Row* next, Row* now, int rows, int first) {
  for (int i = 1; i <= rows; ++i) {
    const int row = first + i - 1;
    for (int j = 0; j < kSize; ++j) {
      const int edge = row == 0 || row == kSize - 1 || j == 0 || j == kSize - 1;
      next[i][j] = edge ? now[i][j] : 0.25 * (now[i - 1][j] + now[i + 1][j] + now[i][j - 1] + now[i][j + 1]);
    }
  }
}

static void heat_up(Row* plate, int rows, int first) { /* one edge is hot, the rest is cold */
  for (int i = 1; i <= rows; ++i) {
    for (int j = 0; j < kSize; ++j) plate[i][j] = first + i - 1 == 0 ? 100.0 : 0.0;
  }
}

/* PE 0 computes the whole plate alone and compares: the same arithmetic gives the same bits. */
static int verify(Row* part, int npes) {
  Row* plates[2] = {calloc(kSize + 2, sizeof(Row)), calloc(kSize + 2, sizeof(Row))};
  heat_up(plates[0], kSize, 0);
  for (int t = 0; t < kSteps; ++t) step(plates[(t + 1) % 2], plates[t % 2], kSize, 0);
  int wrong = 0;
  Row row;
  for (int pe = 0; pe < npes; ++pe) {
    for (int i = first_row(pe, npes); i < first_row(pe + 1, npes); ++i) {
      shmem_double_get(row, part[i - first_row(pe, npes) + 1], kSize, pe);
      for (int j = 0; j < kSize; ++j) wrong += row[j] != plates[kSteps % 2][i + 1][j];
    }
  }
  printf(
      "%d steps on %d x %d points, %.3f degrees 8 rows from the hot edge, %d points differ from one PE's "
      "result\n",
      kSteps, kSize, kSize, plates[kSteps % 2][9][kSize / 2], wrong);
  free(plates[0]);
  free(plates[1]);
  return wrong;
}

int main(void) {
  shmem_init();
  const int me = shmem_my_pe(), npes = shmem_n_pes();
  const int first = first_row(me, npes), rows = first_row(me + 1, npes) - first;
  const size_t bytes = (size_t)(kSize / npes + 3) * sizeof(Row); /* the same on all PEs */
  Row* plates[2] = {shmem_calloc(1, bytes), shmem_calloc(1, bytes)};
  heat_up(plates[0], rows, first);
  for (uint64_t t = 0; t < kSteps; ++t) {
    Row* now = plates[t % 2];
    if (me > 0) { /* my first row becomes the row below the last one of the PE above */
      const int below = first - first_row(me - 1, npes) + 1;
      shmem_double_put_signal(now[below], now[1], kSize, &from_below, t + 1, SHMEM_SIGNAL_SET, me - 1);
    }
    if (me < npes - 1) {
      shmem_double_put_signal(now[0], now[rows], kSize, &from_above, t + 1, SHMEM_SIGNAL_SET, me + 1);
    }
    if (me > 0) shmem_signal_wait_until(&from_above, SHMEM_CMP_GE, t + 1);
    if (me < npes - 1) shmem_signal_wait_until(&from_below, SHMEM_CMP_GE, t + 1);
    step(plates[(t + 1) % 2], now, rows, first);
  }
  shmem_barrier_all();
  const int wrong = me == 0 ? verify(plates[kSteps % 2], npes) : 0;
  shmem_barrier_all(); /* PE 0 reads the others' rows until here */
  shmem_finalize();
  return wrong != 0;
}
