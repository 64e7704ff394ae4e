/* SPDX-License-Identifier: BSD-3-Clause
 * STREAM on arrays that need not fit into memory: each PE copies, scales, adds and combines its own ones by
 * plain loads and stores, and reads all of them back to compare with what must be there.
 *
 *   oshcc -O3 stream.c -o stream && oshrun -n 4 ./stream [MiB of an array of a PE] [rounds]
 *   oshrun -n 4 -x SHMEM_HEAP=nvm:/mnt/ssd -x SHMEM_SYMMETRIC_SIZE=3g -x SHMEM_NVM_CACHE=1g ./stream 1000
 *   oshrun -n 4 ... ./stream 1000 1 --no-advice           as a program that does not say what it will overwrite
 *   oshrun -n 4 ./stream 1000 1 --mmap /mnt/ssd 256      plain files; 256 MiB of page cache for each PE
 *   oshrun -n 1 --memory-servers 2 --memory-per-server 2g -x SHMEM_REMOTE_LOCAL=1g ./stream 1000 1 --remote
 */
#include "mapped_file.h" /* first: it asks for more of the system's headers */

#include <shmemx.h>
#include <time.h>

typedef struct {
  double *a, *b, *c;
  size_t n;
  double before,
      now; /* what stands at x in `a` is x times this: at the last round's beginning, and after it */
} Arrays;

static double at_first(size_t i) { return (double)(1 + i % 1021); } /* small: all that follows is exact */

static int advises = 1;

/* All of an array is about to be written, so what it holds need not be read from its file. */
static void will_overwrite(const Arrays* s, const double* array) {
  if (advises) shmemx_overwrite(array, s->n * sizeof *array);
}

static size_t copy(Arrays* s) {
  will_overwrite(s, s->c);
  for (size_t i = 0; i < s->n; ++i) s->c[i] = s->a[i];
  return 2;
}
static size_t scale(Arrays* s) {
  will_overwrite(s, s->b);
  for (size_t i = 0; i < s->n; ++i) s->b[i] = 3 * s->c[i];
  return 2;
}
static size_t add(Arrays* s) {
  will_overwrite(s, s->c);
  for (size_t i = 0; i < s->n; ++i) s->c[i] = s->a[i] + s->b[i];
  return 3;
}
static size_t triad(Arrays* s) {
  will_overwrite(s, s->a);
  for (size_t i = 0; i < s->n; ++i) s->a[i] = s->b[i] + 3 * s->c[i];
  s->before = s->now;
  s->now *= 15;
  return 3;
}
static uint64_t wrong, wrong_anywhere;
static size_t check(Arrays* s) {
  for (size_t i = 0; i < s->n; ++i) {
    const double x = at_first(i);
    wrong += (s->a[i] != x * s->now) | (s->b[i] != x * s->before * 3) | (s->c[i] != x * s->before * 4);
  }
  return 3;
}

static const struct {
  const char* name;
  size_t (*run)(Arrays*); /* returns how many arrays it goes through */
} kernels[] = {{"copy", copy}, {"scale", scale}, {"add", add}, {"triad", triad}, {"check", check}};
enum { kKernels = sizeof kernels / sizeof *kernels };

static double now(void) {
  struct timespec t;
  timespec_get(&t, TIME_UTC);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Seconds of all PEs together for one kernel; adds up what it moves. */
static double run(Arrays* s, int kernel, int to_files, double* bytes) {
  shmem_barrier_all();
  const double start = now();
  *bytes += (double)(kernels[kernel].run(s) * s->n * sizeof(double)) * shmem_n_pes();
  if (kernel == kKernels - 1 && to_files) mapped_sync();
  shmem_barrier_all();
  return now() - start;
}

int main(int argc, char** argv) {
  const size_t mib = argc > 1 ? strtoull(argv[1], NULL, 10) : 4,
               rounds = argc > 2 ? strtoull(argv[2], NULL, 10) : 2;
  const char* folder = argc > 4 && strcmp(argv[3], "--mmap") == 0 ? argv[4] : NULL;
  const int remote = argc == 4 && strcmp(argv[3], "--remote") == 0;
  advises = argc != 4 || strcmp(argv[3], "--no-advice") != 0;
  const size_t limit = argc > 5 ? strtoull(argv[5], NULL, 10) << 20 : 0;
  shmem_init();
  const int me = shmem_my_pe();
  if (mib == 0 || rounds == 0 || rounds > 10 || (argc > 3 && folder == NULL && !remote && advises)) {
    if (me == 0)
      fprintf(stderr,
              "usage: stream [MiB, 1 or more] [rounds, 1 to 10] [--remote | --no-advice | --mmap folder [MiB of "
              "cache]]\n");
    shmem_finalize();
    return 2;
  }
  Arrays s = {.n = (mib << 20) / sizeof(double), .before = 1, .now = 1};
  if (folder != NULL) mapped_open(folder, me, 3 * (mib << 20), limit);
  double** const arrays[] = {&s.a, &s.b, &s.c};
  for (int i = 0; i < 3; ++i) {
    *arrays[i] = folder != NULL ? mapped_malloc(mib << 20)
                 : remote       ? shmemx_remote_alloc(mib << 20)
                                : shmem_malloc(mib << 20);
    if (*arrays[i] == NULL) {
      if (me == 0) fprintf(stderr, "stream: no room for 3 x %zu MiB; see SHMEM_SYMMETRIC_SIZE\n", mib);
      shmem_global_exit(1);
    }
  }
  for (size_t i = 0; i < s.n; ++i) s.a[i] = at_first(i), s.b[i] = s.c[i] = 0;
  double seconds[kKernels] = {0}, bytes[kKernels] = {0}, all_seconds = 0, all_bytes = 0;
  for (size_t round = 0; round < rounds; ++round) {
    for (int k = 0; k < kKernels - 1; ++k) seconds[k] += run(&s, k, folder != NULL, &bytes[k]);
  }
  seconds[kKernels - 1] = run(&s, kKernels - 1, folder != NULL, &bytes[kKernels - 1]);
  for (int k = 0; k < kKernels; ++k) {
    if (me == 0) printf("%-6s %10.1f MB/s\n", kernels[k].name, 1e-6 * bytes[k] / seconds[k]);
    all_seconds += seconds[k];
    all_bytes += bytes[k];
  }
  shmem_uint64_sum_reduce(SHMEM_TEAM_WORLD, &wrong_anywhere, &wrong, 1);
  if (me == 0) {
    printf("%-6s %10.1f MB/s, %.3f s, 3 arrays of %zu MiB on each of %d PEs, %zu rounds, %s\n", "all",
           1e-6 * all_bytes / all_seconds, all_seconds, mib, shmem_n_pes(), rounds,
           wrong_anywhere != 0 ? "WRONG" : "every element verified");
  }
  if (folder != NULL) mapped_close();
  shmem_finalize();
  return wrong_anywhere != 0;
}
