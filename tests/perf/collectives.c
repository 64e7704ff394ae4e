/* SPDX-License-Identifier: BSD-3-Clause */
/* What collective operations cost, by operation and size.  Calls of OpenSHMEM 1.4 except for the scans, so
 * that every implementation can run it; compare_collectives.py puts several side by side.  Each iteration is
 * the call and a barrier, which the old interfaces need before they are called again.
 *
 * usage: collectives [NAME,NAME,...|all [MILLISECONDS [SMALLEST [LARGEST]]]]
 *
 * Prints lines "name/bytes value us".  bytes: what each PE contributes to each other (the block of a collect
 * or an alltoall, the vector of a reduction); MILLISECONDS: how long each of the repetitions takes, about. */
#include <shmem.h>
#include <stdlib.h>
#include <string.h>

#include "metric.h"

#if SHMEM_MAJOR_VERSION > 1 || SHMEM_MINOR_VERSION >= 6
#define HAVE_SCANS 1
#endif

enum { kBlockLimit = 4 << 20, kAllLimit = 32 << 20, kSyncWords = 1024 };

static int me, pes;
static char *source, *dest, *work;
static long sync_words[2][kSyncWords];
static long agreed;
static const char* names = "all";
static double target = 5e-3;
static size_t smallest = 8, largest = kBlockLimit;

typedef void (*Operation)(size_t bytes, long* psync);

static void none(size_t bytes, long* psync) { (void)bytes, (void)psync; }
static void sync_all(size_t bytes, long* psync) { (void)bytes, (void)psync, shmem_sync_all(); }

static void broadcast(size_t bytes, long* psync) {
  shmem_broadcast64(dest, source, bytes / 8, 0, 0, 0, pes, psync);
}
static void collect(size_t bytes, long* psync) { shmem_collect64(dest, source, bytes / 8, 0, 0, pes, psync); }
static void fcollect(size_t bytes, long* psync) {
  shmem_fcollect64(dest, source, bytes / 8, 0, 0, pes, psync);
}
static void alltoall(size_t bytes, long* psync) {
  shmem_alltoall64(dest, source, bytes / 8, 0, 0, pes, psync);
}
static void alltoalls(size_t bytes, long* psync) {
  shmem_alltoalls64(dest, source, 1, 2, bytes / 8, 0, 0, pes, psync);
}

#define REDUCTION(NAME, TYPE, FUNCTION)                                                               \
  static void NAME(size_t bytes, long* psync) {                                                       \
    FUNCTION((TYPE*)dest, (TYPE*)source, (int)(bytes / sizeof(TYPE)), 0, 0, pes, (TYPE*)work, psync); \
  }
REDUCTION(sum_int, int, shmem_int_sum_to_all)
REDUCTION(sum_long, long, shmem_long_sum_to_all)
REDUCTION(max_double, double, shmem_double_max_to_all)
REDUCTION(sum_double, double, shmem_double_sum_to_all)
REDUCTION(prod_complex, double _Complex, shmem_complexd_prod_to_all)

#ifdef HAVE_SCANS
static void inscan(size_t bytes, long* psync) {
  (void)psync;
  shmem_long_sum_inscan(SHMEM_TEAM_WORLD, (long*)dest, (long*)source, bytes / sizeof(long));
}
static void exscan(size_t bytes, long* psync) {
  (void)psync;
  shmem_long_sum_exscan(SHMEM_TEAM_WORLD, (long*)dest, (long*)source, bytes / sizeof(long));
}
#endif

/* All PEs time a few iterations, and take the number that PE 0 derives from its time. */
static long iterations_for(Operation run, size_t bytes) {
  const double begin = now();
  for (long i = 0; i < 4; i++) {
    run(bytes, sync_words[i & 1]);
    shmem_barrier_all();
  }
  const double each = (now() - begin) / 4;
  const double fit = target / each;
  const long mine = fit < 4 ? 4 : fit > 20000 ? 20000 : (long)fit;
  if (me == 0) {
    for (int pe = 0; pe < pes; pe++) shmem_long_p(&agreed, mine, pe);
  }
  shmem_barrier_all();
  const long n = agreed;
  shmem_barrier_all();
  return n;
}

static int wanted(const char* name) {
  const size_t length = strlen(name);
  if (strcmp(names, "all") == 0) return 1;
  for (const char* at = names; at != NULL; at = strchr(at, ',')) {
    at += *at == ',';
    if (strncmp(at, name, length) == 0 && (at[length] == ',' || at[length] == 0)) return 1;
  }
  return 0;
}

static void measure(const char* name, Operation run, size_t bytes) {
  const long n = iterations_for(run, bytes);
  const double each =
      BEST_OF(n, 1, shmem_barrier_all(), (void)0, run(bytes, sync_words[i & 1]); shmem_barrier_all());
  char label[64];
  snprintf(label, sizeof label, "%s/%zu", name, bytes);
  report(me, label, each * 1e6, "us");
}

/* `copies`: how many blocks of `bytes` the larger of the two arrays has. */
static void sweep(const char* name, Operation run, size_t copies, size_t element) {
  if (!wanted(name)) return;
  for (size_t bytes = smallest < element ? element : smallest; bytes <= largest;
       bytes *= bytes < 65536 ? 2 : 4) {
    if (bytes * copies <= kAllLimit) measure(name, run, bytes);
  }
}

int main(int argc, char** argv) {
  if (argc > 1) names = argv[1];
  if (argc > 2) target = atof(argv[2]) / 1e3;
  if (argc > 3) smallest = (size_t)atol(argv[3]);
  if (argc > 4) largest = (size_t)atol(argv[4]);
  shmem_init();
  me = shmem_my_pe();
  pes = shmem_n_pes();
  for (int i = 0; i < 2 * kSyncWords; i++) sync_words[i / kSyncWords][i % kSyncWords] = SHMEM_SYNC_VALUE;
  source = shmem_malloc(kAllLimit);
  dest = shmem_malloc(kAllLimit);
  work = shmem_malloc(kBlockLimit + SHMEM_REDUCE_MIN_WRKDATA_SIZE * sizeof(double _Complex));
  if (source == NULL || dest == NULL || work == NULL) shmem_global_exit(2);
  memset(source, 0, kAllLimit);
  memset(dest, 0, kAllLimit);
  shmem_barrier_all();
  const size_t all = (size_t)pes;
  if (wanted("barrier")) measure("barrier", none, 0);
  if (wanted("sync")) measure("sync", sync_all, 0);
  sweep("broadcast", broadcast, 1, 8);
  sweep("collect", collect, all, 8);
  sweep("fcollect", fcollect, all, 8);
  sweep("alltoall", alltoall, all, 8);
  sweep("alltoalls", alltoalls, 2 * all, 8);
  sweep("sum_int", sum_int, 1, 8);
  sweep("sum_long", sum_long, 1, 8);
  sweep("sum_double", sum_double, 1, 8);
  sweep("max_double", max_double, 1, 8);
  sweep("prod_complex", prod_complex, 1, 16);
#ifdef HAVE_SCANS
  sweep("inscan", inscan, 1, 8);
  sweep("exscan", exscan, 1, 8);
#endif
  shmem_finalize();
  return 0;
}
