/* SPDX-License-Identifier: BSD-3-Clause */
/* The machine's own limit for the benchmarks of CircusTent: processes that share one mapping, lock-prefixed
 * instructions through calls of functions that are not inlined.  Takes CircusTent's options and prints its
 * lines, so that tools/circustent can run it as a peer: --peer 'machine|path/to/machine_kernels|env'.
 *
 * As there, the array of a process is written by its owner only, so that the first access to each page by
 * another takes a page fault within the time measured; with -f each process touches all pages beforehand.
 *
 * usage: machine_kernels -b RAND_ADD -m BYTES -i ITERATIONS -s STRIDE -p PROCESSES [-f] */
#define _GNU_SOURCE
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "metric.h"

typedef _Atomic uint64_t Word;

enum { kLine = 128 };

static const char* benchmark = "";
static long bytes, iterations, stride = 1, processes = 1, prefault, hot;
static long me;
static char* shared;
static size_t part; /* bytes of a process: its index table, then its array */
static int* targets;

#define CALLED __attribute__((noinline)) static
CALLED uint64_t load(Word* p) { return atomic_load_explicit(p, memory_order_relaxed); }
CALLED uint64_t fetch_add(Word* p, uint64_t value) { return atomic_fetch_add(p, value); }
CALLED uint64_t swap_if(Word* p, uint64_t old, uint64_t value) {
  atomic_compare_exchange_strong(p, &old, value);
  return old;
}

static Word* table_of(long process) { return (Word*)(void*)(shared + kLine + (size_t)process * part); }
static Word* array_of(long process) { return table_of(process) + iterations + 1; }

/* The three steps of the kernels: fetch a word that stays as it is, fetch and touch one, store into one. */
#define ALWAYS __attribute__((always_inline)) static inline
ALWAYS uint64_t read_word(int cas, Word* p) { return cas ? swap_if(p, 0, 0) : fetch_add(p, 0); }
ALWAYS uint64_t touch(int cas, Word* p) { return cas ? swap_if(p, 0, 0) : fetch_add(p, 1); }
ALWAYS uint64_t store(int cas, Word* p, uint64_t value) {
  return cas ? swap_if(p, 0, value) : fetch_add(p, value);
}

ALWAYS void one_word(int cas, const char* pattern) {
  Word *array = array_of(targets[0]), *table = table_of(targets[0]);
  if (strcmp(pattern, "RAND") == 0) {
    for (long i = 0; i < iterations; i++) touch(cas, array + load(table + i));
  } else if (strcmp(pattern, "STRIDE1") == 0) {
    for (long i = 0; i < iterations; i++) touch(cas, array + i);
  } else if (strcmp(pattern, "STRIDEN") == 0) {
    for (long i = 0; i < iterations; i++) touch(cas, array + i * stride);
  } else if (strcmp(pattern, "CENTRAL") == 0) {
    if (hot) array = array_of(0);
    for (long i = 0; i < iterations; i++) touch(cas, array);
  } else { /* PTRCHASE */
    uint64_t at = 0;
    for (long i = 0; i < iterations; i++) at = read_word(cas, table_of(targets[i]) + at);
  }
}

ALWAYS void several_words(int cas, const char* pattern) {
  Word *array = array_of(targets[0]), *table = table_of(targets[0]);
  const int gather = strcmp(pattern, "GATHER") == 0, both = strcmp(pattern, "SG") == 0;
  for (long i = 0; i < iterations; i++) {
    const uint64_t source = both ? read_word(cas, table + i) : (uint64_t)i;
    const uint64_t where = read_word(cas, table + i + 1);
    const uint64_t value = touch(cas, array + (gather ? where : source));
    store(cas, array + (gather ? source : where), value);
  }
}

/* Atomics of an iteration; 0: there is no such kernel. */
static int atomics_of(const char* pattern) {
  static const char* const kOne[] = {"RAND", "STRIDE1", "STRIDEN", "PTRCHASE", "CENTRAL"};
  for (size_t i = 0; i < sizeof kOne / sizeof *kOne; i++) {
    if (strcmp(pattern, kOne[i]) == 0) return 1;
  }
  if (strcmp(pattern, "SG") == 0) return 4;
  return strcmp(pattern, "SCATTER") == 0 || strcmp(pattern, "GATHER") == 0 ? 3 : 0;
}

static void kernel(const char* pattern, int cas) {
  const int several = atomics_of(pattern) > 1;
  if (several && cas) several_words(1, pattern);
  if (several && !cas) several_words(0, pattern);
  if (!several && cas) one_word(1, pattern);
  if (!several && !cas) one_word(0, pattern);
}

static void barrier(void) {
  static long epoch;
  _Atomic long* arrived = (_Atomic long*)(void*)shared;
  epoch += processes;
  atomic_fetch_add(arrived, 1);
  while (atomic_load(arrived) < epoch) {
  }
}

static void fill(int chase) {
  srand((unsigned)me + 1);
  targets = malloc(sizeof(int) * (size_t)iterations);
  for (long i = 0; i < iterations; i++) targets[i] = (int)(chase ? rand() % processes : (me + 1) % processes);
  const long words = bytes / 8, reach = chase ? iterations : words;
  for (long i = 0; i <= iterations; i++) atomic_init(table_of(me) + i, (uint64_t)(rand() % reach));
  for (long i = 0; i < words; i++) atomic_init(array_of(me) + i, (uint64_t)rand());
  barrier();
  for (size_t at = 0; prefault && at < part * (size_t)processes; at += 4096) {
    atomic_fetch_add((Word*)(void*)(shared + kLine + at), 0);
  }
}

/* A core for each process while there are enough: two on one core would not meet. */
static void bind_to_core(void) {
  cpu_set_t allowed, mine;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) < processes) return;
  CPU_ZERO(&mine);
  for (int core = 0, seen = 0; seen <= me; core++) {
    if (CPU_ISSET(core, &allowed) && seen++ == me) CPU_SET(core, &mine);
  }
  sched_setaffinity(0, sizeof mine, &mine);
}

static int usage(void) {
  fprintf(stderr,
          "usage: machine_kernels -b RAND_ADD -m BYTES -i ITERATIONS -s STRIDE -p PROCESSES [-f] [-c]\n");
  return 2;
}

/* 0, or the code to end with. */
static int parse(int argc, char** argv) {
  for (int option; (option = getopt(argc, argv, "b:m:i:s:p:fc")) != -1;) {
    switch (option) {
      case 'b': benchmark = optarg; break;
      case 'm': bytes = atol(optarg); break;
      case 'i': iterations = atol(optarg); break;
      case 's': stride = atol(optarg); break;
      case 'p': processes = atol(optarg); break;
      case 'f': prefault = 1; break;
      case 'c': hot = 1; break;
      default: return usage();
    }
  }
  const int fits = iterations > 0 && stride > 0 && processes > 0 && (iterations - 1) * stride < bytes / 8;
  return fits ? 0 : usage();
}

int main(int argc, char** argv) {
  char pattern[16] = "";
  if (parse(argc, argv) != 0) return 2;
  const char* kind = strchr(benchmark, '_');
  if (kind != NULL) snprintf(pattern, sizeof pattern, "%.*s", (int)(kind - benchmark), benchmark);
  const int atomics = atomics_of(pattern);
  if (atomics == 0) return usage();
  part = (((size_t)iterations + 1) * 8 + (size_t)bytes + 4095) / 4096 * 4096;
  shared =
      mmap(NULL, kLine + part * (size_t)processes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return 1;
  for (long i = 1; i < processes && me == 0; i++) {
    if (fork() == 0) me = i;
  }
  bind_to_core();
  fill(strcmp(pattern, "PTRCHASE") == 0);
  barrier();
  const double start = now();
  kernel(pattern, strcmp(kind, "_CAS") == 0);
  barrier();
  const double seconds = now() - start;
  if (me != 0) return 0;
  printf(" Benchmark Kernel     : %s\n Timing (secs)        : %g\n Giga AMOs/sec (GAMS) : %g\n", benchmark,
         seconds, (double)(atomics * iterations * processes) / seconds * 1e-9);
  while (wait(NULL) > 0) {
  }
  return 0;
}
