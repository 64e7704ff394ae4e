/* SPDX-License-Identifier: BSD-3-Clause */
/* What operations between nodes cost: the measurements of bare_fabric.cpp through the OpenSHMEM API, under the same
 * names.  Two PEs on two (virtual) nodes; PE 0 acts, PE 1 is the target.
 *
 * usage: oshrun -n 2 --virtual-nodes 2 offnode [poll|agent]...
 *   poll: the target waits inside the library;  agent: it computes and never calls it */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kRepeats = 7, kPings = 500, kMiB = 1 << 20 };

static long done; /* the target goes on when it reaches the number of the phase */
static char* sym;
static char* local;
static long* words;
static long value, old[5000];

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int by_time(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

typedef void (*Work)(int i);

/* Seconds for `count` calls and a quiet: sorted, of several repeats after one that warms up. */
static void times_of(Work work, int count, double sorted[kRepeats]) {
  for (int r = -1; r < kRepeats; r++) {
    const double start = now();
    for (int i = 0; i < count; i++) work(i);
    shmem_quiet();
    if (r >= 0) sorted[r] = now() - start;
  }
  qsort(sorted, kRepeats, sizeof *sorted, by_time);
}

static void latency(const char* mode, const char* name, Work work) {
  double t[kRepeats];
  times_of(work, kPings, t);
  printf("%s_%s %.3f us\n", mode, name, t[kRepeats / 2] / kPings * 1e6);
  fflush(stdout);
}

static void stream(const char* mode, const char* name, Work work, int count, double unit, const char* unit_name) {
  double t[kRepeats];
  times_of(work, count, t);
  printf("%s_%s %.3f %s\n", mode, name, count / t[0] * unit, unit_name);
  fflush(stdout);
}

static void put_and_quiet(int i) {
  shmem_long_p(words, i, 1);
  shmem_quiet();
}
static void get(int i) { value += shmem_long_g(words, 1) + i; }
static void fetch_add(int i) { value += shmem_long_atomic_fetch_add(words, i, 1); }
static void put_one(int i) { shmem_long_p(words, i, 1); }
static void get_one(int i) { shmem_long_get_nbi(old + i, words, 1, 1); }
static void add_one(int i) { shmem_long_atomic_add(words, i, 1); }
static void fetch_add_one(int i) { shmem_long_atomic_fetch_add_nbi(old + i, words, i, 1); }
static void put_64k(int i) { shmem_putmem_nbi(sym + (i & 1), local, 65536, 1); }
static void get_64k(int i) { shmem_getmem_nbi(local + (i & 1), sym, 65536, 1); }
static void put_1m(int i) { shmem_putmem_nbi(sym + (i & 1), local, kMiB, 1); }
static void get_1m(int i) { shmem_getmem_nbi(local + (i & 1), sym, kMiB, 1); }

static void act(const char* mode) {
  latency(mode, "put_8", put_and_quiet);
  latency(mode, "get_8", get);
  latency(mode, "fetch_add", fetch_add);
  stream(mode, "put_8_stream", put_one, 5000, 1e-6, "M/s");
  stream(mode, "get_8_stream", get_one, 5000, 1e-6, "M/s");
  stream(mode, "add_stream", add_one, 5000, 1e-6, "M/s");
  stream(mode, "fetch_add_stream", fetch_add_one, 5000, 1e-6, "M/s");
  stream(mode, "put_64k", put_64k, 1000, 65536e-9, "GB/s");
  stream(mode, "get_64k", get_64k, 1000, 65536e-9, "GB/s");
  stream(mode, "put_1m", put_1m, 100, kMiB * 1e-9, "GB/s");
  stream(mode, "get_1m", get_1m, 100, kMiB * 1e-9, "GB/s");
}

/* Returns when PE 0 has come to the end of the phase. */
static void be_target(const char* mode, long phase) {
  if (strcmp(mode, "poll") == 0) {
    shmem_long_wait_until(&done, SHMEM_CMP_GE, phase);
    return;
  }
  volatile unsigned long computed = 0;
  while (*(volatile long*)&done < phase) {
    for (int i = 0; i < 1000; i++) computed = computed + (unsigned long)i;
  }
}

int main(int argc, char** argv) {
  static char* both[] = {"offnode", "poll", "agent"};
  shmem_init();
  if (shmem_n_pes() != 2) {
    fprintf(stderr, "offnode: needs 2 PEs\n");
    shmem_global_exit(2);
  }
  sym = shmem_malloc(2 * kMiB);
  words = shmem_malloc(sizeof *words);
  local = malloc(2 * kMiB);
  memset(sym, 1, 2 * kMiB);
  memset(local, 2, 2 * kMiB);
  if (argc < 2) {
    argc = 3;
    argv = both;
  }
  for (int i = 1; i < argc; i++) {
    shmem_barrier_all();
    if (shmem_my_pe() == 0) {
      act(argv[i]);
      shmem_long_p(&done, i, 1);
      shmem_quiet();
    } else {
      be_target(argv[i], i);
    }
  }
  shmem_barrier_all();
  free(local);
  shmem_finalize();
  return 0;
}
