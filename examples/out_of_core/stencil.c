/* SPDX-License-Identifier: BSD-3-Clause
 * A stencil of 7 points on a grid that need not fit into memory, by OpenMP threads: time steps are taken in
 * blocks, and a block goes through the grid in pieces of space and time that are cut smaller and smaller, so
 * that each level of memory, from memory servers to the nearest cache, is read once for as many steps as it
 * has room for.
 *
 *   oshcc -O3 -fopenmp stencil.c -o stencil -lm
 *   oshrun -n 1 ./stencil 128 128 1024 256 64                          all of it local
 *   oshrun -n 1 --memory-servers 2 --memory-per-server 1g -x SHMEM_REMOTE_LOCAL=64m \
 *          ./stencil 128 128 1024 256 64
 *
 * The grid begins as a product of sines, which each step only makes smaller, by a known factor: so all of the
 * result is known, and compared. */
#include <math.h>
#include <omp.h>
#include <shmem.h>
#include <shmemx.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

static const double kCentre = 0.4, kSide = 0.1;
/* Of a piece that is not cut further; of one that is worth a task. */
enum { kFewSteps = 4, kStepsOfTask = 8 };

static struct {
  long nx, ny, nz, steps, block;
  double* at[2]; /* after an even number of steps, and an odd one */
} grid;

static size_t offset(long y, long z) { return (size_t)((z * grid.ny + y) * grid.nx); }

/* Where a piece begins and ends in one direction; how much that moves with each step. */
typedef struct {
  long begin, end;
  int begin_moves, end_moves;
} Side;

static void one_row(double* restrict to, const double* restrict from) {
  const long nx = grid.nx, plane = grid.nx * grid.ny;
  for (long x = 1; x < nx - 1; ++x) {
    to[x] = kCentre * from[x] + kSide * (from[x - 1] + from[x + 1] + from[x - nx] + from[x + nx] +
                                         from[x - plane] + from[x + plane]);
  }
}

static void step_by_step(long first, long last, Side y, Side z) {
  for (long t = first; t < last; ++t) {
    for (long k = z.begin; k < z.end; ++k) {
      for (long j = y.begin; j < y.end; ++j)
        one_row(grid.at[(t + 1) % 2] + offset(j, k), grid.at[t % 2] + offset(j, k));
    }
    y.begin += y.begin_moves, y.end += y.end_moves;
    z.begin += z.begin_moves, z.end += z.end_moves;
  }
}

/* So wide that the first half need not wait for the second. */
static int can_be_cut(Side s, long steps) {
  return 2 * (s.end - s.begin) + (s.end_moves - s.begin_moves) * steps >= 4 * steps;
}

/* Steps first to last of a piece. */
static void piece(long first, long last, Side y, Side z) {
  const long steps = last - first;
  if (steps <= kFewSteps) {
    step_by_step(first, last, y, z);
    return;
  }
  if (can_be_cut(z, steps)) {
    const long middle = (2 * (z.begin + z.end) + (2 + z.begin_moves + z.end_moves) * steps) / 4;
    piece(first, last, y, (Side){z.begin, middle, z.begin_moves, -1});
    piece(first, last, y, (Side){middle, z.end, -1, z.end_moves});
    return;
  }
  /* In y, two that become narrower and need nothing of each other, and then what lies between. */
  const long least = y.begin + (y.begin_moves + 1) * steps, most = y.end + (y.end_moves - 1) * steps;
  if (least <= most && y.begin < y.end) {
    const long middle = (least + most) / 2;
#pragma omp task if (steps >= kStepsOfTask)
    piece(first, last, (Side){y.begin, middle, y.begin_moves, -1}, z);
    piece(first, last, (Side){middle, y.end, 1, y.end_moves}, z);
#pragma omp taskwait
    piece(first, last, (Side){middle, middle, -1, 1}, z);
    return;
  }
  const long half = steps / 2;
  piece(first, first + half, y, z);
  y.begin += y.begin_moves * half, y.end += y.end_moves * half;
  z.begin += z.begin_moves * half, z.end += z.end_moves * half;
  piece(first + half, last, y, z);
}

static double half_wave(long i, long n) { return sin(M_PI * (double)i / (double)(n - 1)); }

/* Product of sines, that is zero on all sides. */
static void fill(const double* sines) {
  for (long z = 0; z < grid.nz; ++z) {
    for (long y = 0; y < grid.ny; ++y) {
      const double scale = half_wave(y, grid.ny) * half_wave(z, grid.nz);
      double *const even = grid.at[0] + offset(y, z), *const odd = grid.at[1] + offset(y, z);
      for (long x = 0; x < grid.nx; ++x) even[x] = sines[x] * scale, odd[x] = 0;
      even[grid.nx - 1] = 0;
      if (y == 0 || y == grid.ny - 1 || z == 0 || z == grid.nz - 1) {
        for (long x = 0; x < grid.nx; ++x) even[x] = 0;
      }
    }
  }
}

static double largest_error(const double* sines) {
  const double factor = kCentre + 2 * kSide *
                                      (cos(M_PI / (double)(grid.nx - 1)) + cos(M_PI / (double)(grid.ny - 1)) +
                                       cos(M_PI / (double)(grid.nz - 1)));
  const double now = pow(factor, (double)grid.steps);
  double worst = 0;
  for (long z = 0; z < grid.nz; ++z) {
    for (long y = 0; y < grid.ny; ++y) {
      const double scale = now * half_wave(y, grid.ny) * half_wave(z, grid.nz);
      const double* const row = grid.at[grid.steps % 2] + offset(y, z);
      for (long x = 0; x < grid.nx; ++x) worst = fmax(worst, fabs(row[x] - sines[x] * scale));
    }
  }
  return worst;
}

/* On memory servers if the job has some; else here, on huge pages. */
static double* allocate(int remote) {
  const size_t huge = (size_t)2 << 20, bytes = (size_t)(grid.nx * grid.ny * grid.nz) * sizeof(double);
  if (remote) return shmemx_remote_alloc(bytes);
  const size_t whole = (bytes + huge - 1) / huge * huge;
  double* const memory = aligned_alloc(huge, whole);
  if (memory != NULL) madvise(memory, whole, MADV_HUGEPAGE);
  return memory;
}

static double now(void) { return omp_get_wtime(); }

int main(int argc, char** argv) {
  long* const words[] = {&grid.nx, &grid.ny, &grid.nz, &grid.steps, &grid.block};
  const long usual[] = {64, 64, 256, 64, 32};
  int wrong = argc > 6;
  for (int i = 0; i < 5; ++i) {
    *words[i] = i + 1 < argc ? strtol(argv[i + 1], NULL, 10) : usual[i];
    wrong |= *words[i] < 3;
  }
  shmem_init();
  if (wrong) {
    fprintf(stderr, "usage: stencil [nx] [ny] [nz] [steps] [steps of a block], each 3 or more\n");
    shmem_finalize();
    return 2;
  }
  const char* const servers = getenv("SHMEM_MEMORY_SERVERS");
  const int remote = servers != NULL && servers[0] != '0';
  for (int i = 0; i < 2; ++i) grid.at[i] = allocate(remote);
  double* const sines = malloc((size_t)grid.nx * sizeof *sines);
  if (grid.at[0] == NULL || grid.at[1] == NULL || sines == NULL) {
    fprintf(stderr, "stencil: no room\n");
    shmem_global_exit(1);
  }
  for (long x = 0; x < grid.nx; ++x) sines[x] = half_wave(x, grid.nx);
  sines[grid.nx - 1] = 0;
  fill(sines);
  shmemx_stats_reset();
  const double start = now();
#pragma omp parallel
#pragma omp single
  for (long t = 0; t < grid.steps; t += grid.block) {
    const long end = t + grid.block < grid.steps ? t + grid.block : grid.steps;
    piece(t, end, (Side){1, grid.ny - 1, 0, 0}, (Side){1, grid.nz - 1, 0, 0});
  }
  const double seconds = now() - start,
               cells = (double)(grid.nx - 2) * (double)(grid.ny - 2) * (double)(grid.nz - 2);
  shmemx_stats_t moved;
  shmemx_stats_read(&moved);
  const double error = largest_error(sines);
  printf("stencil %.3f ns a cell and step, %.4g MB/s moved, %.3f s, %d threads, %s memory, %s\n",
         1e9 * seconds / cells / (double)grid.steps,
         1e-6 * (double)(moved.remote_read_bytes + moved.remote_write_bytes) / seconds, seconds,
         omp_get_max_threads(), remote ? "remote" : "local", error < 1e-11 ? "verified" : "WRONG");
  free(sines);
  shmem_finalize();
  return error < 1e-11 ? 0 : 1;
}
