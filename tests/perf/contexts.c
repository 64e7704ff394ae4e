/* SPDX-License-Identifier: BSD-3-Clause */
/* What threads of one PE gain from contexts of their own: T threads of PE 0 work on PEs of the other
 * (virtual) node at the same time, all on the default context or each on its own.  Prints the sum over the
 * threads.
 *
 * usage: oshrun -n 4 --bind none --virtual-nodes 2 contexts [threads]...     (default: 1 2 4)
 * Bound to one core each, as oshrun does with as many PEs as cores, the threads of a PE cannot gain anything.
 * Thread t works on PE 1 + t modulo the other PEs; PEs of this node would be reached by plain stores. */
#include <pthread.h>
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kRepeats = 5, kMaxThreads = 16, kBlock = 65536 };

static long done;
static char* sym;   /* kMaxThreads blocks */
static long* words; /* kMaxThreads cache lines */

typedef struct {
  shmem_ctx_t ctx;
  int index, pe;
  char* local;
  long value;
} Worker;

typedef struct {
  const char* name;
  void (*work)(Worker*, int i);
  int count;
  double unit;
  const char* unit_name;
} Metric;

static long* word(const Worker* w) { return words + 8 * w->index; }

static void put_nbi(Worker* w, int i) {
  (void)i;
  shmem_ctx_long_put_nbi(w->ctx, word(w), &w->value, 1, w->pe);
}
static void put_quiet(Worker* w, int i) {
  shmem_ctx_long_p(w->ctx, word(w), i, w->pe);
  shmem_ctx_quiet(w->ctx);
}
static void get(Worker* w, int i) { w->value += shmem_ctx_long_g(w->ctx, word(w), w->pe) + i; }
static void fetch_add(Worker* w, int i) {
  w->value += shmem_ctx_long_atomic_fetch_add(w->ctx, word(w), i, w->pe);
}
static void add(Worker* w, int i) { shmem_ctx_long_atomic_add(w->ctx, word(w), i, w->pe); }
static void put_64k(Worker* w, int i) {
  (void)i;
  shmem_ctx_putmem_nbi(w->ctx, sym + kBlock * w->index, w->local, kBlock, w->pe);
}

static const Metric metrics[] = {
    {"put_8_stream", put_nbi, 4000, 1e-6, "M/s"},  {"add_stream", add, 4000, 1e-6, "M/s"},
    {"put_8_quiet", put_quiet, 1000, 1e-6, "M/s"}, {"get_8", get, 1000, 1e-6, "M/s"},
    {"fetch_add", fetch_add, 1000, 1e-6, "M/s"},   {"put_64k", put_64k, 500, kBlock * 1e-9, "GB/s"},
};
enum { kMetrics = sizeof metrics / sizeof *metrics };

static pthread_barrier_t barrier;
static const Metric* metric;
static double best; /* seconds; of thread 0 */

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void* run(void* argument) {
  Worker* w = argument;
  for (int r = -1; r < kRepeats; r++) { /* the first one warms up */
    pthread_barrier_wait(&barrier);
    const double start = now();
    for (int i = 0; i < metric->count; i++) metric->work(w, i);
    shmem_ctx_quiet(w->ctx);
    pthread_barrier_wait(&barrier);
    const double time = now() - start;
    if (w->index == 0 && r >= 0 && time < best) best = time;
  }
  return NULL;
}

static void* work_on_own_context(void* argument) {
  Worker* w = argument;
  if (shmem_ctx_create(SHMEM_CTX_PRIVATE, &w->ctx) != 0) shmem_global_exit(3);
  run(w);
  shmem_ctx_destroy(w->ctx);
  return NULL;
}

/* `own`: each thread has a context with these options, else all use the default one. */
static void measure(const char* kind, int threads, int own, long options) {
  Worker workers[kMaxThreads];
  pthread_t ids[kMaxThreads];
  pthread_barrier_init(&barrier, NULL, (unsigned)threads);
  for (int t = 0; t < threads; t++) {
    Worker* w = &workers[t];
    w->ctx = SHMEM_CTX_DEFAULT;
    w->index = t;
    w->value = t;
    w->local = malloc(kBlock);
    memset(w->local, t, kBlock);
    /* PEs of the other node are the upper half. */
    const int others = (shmem_n_pes() + 1) / 2;
    w->pe = shmem_n_pes() - others + t % others;
  }
  const int private_contexts = own && options == SHMEM_CTX_PRIVATE;
  if (own && !private_contexts) {
    for (int t = 0; t < threads; t++) shmem_ctx_create(options, &workers[t].ctx);
  }
  for (int m = 0; m < kMetrics; m++) {
    metric = &metrics[m];
    best = 1e30;
    for (int t = 0; t < threads; t++) {
      pthread_create(&ids[t], NULL, private_contexts ? work_on_own_context : run, &workers[t]);
    }
    for (int t = 0; t < threads; t++) pthread_join(ids[t], NULL);
    printf("%d_%s_%s %.4f %s\n", threads, kind, metric->name, threads * metric->count / best * metric->unit,
           metric->unit_name);
    fflush(stdout);
  }
  for (int t = 0; t < threads; t++) {
    if (own && !private_contexts) shmem_ctx_destroy(workers[t].ctx);
    free(workers[t].local);
  }
  pthread_barrier_destroy(&barrier);
}

int main(int argc, char** argv) {
  int provided;
  if (shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) != 0 || provided != SHMEM_THREAD_MULTIPLE) return 2;
  if (shmem_n_pes() < 2) {
    fprintf(stderr, "contexts: needs 2 PEs or more\n");
    shmem_global_exit(2);
  }
  sym = shmem_malloc((size_t)kMaxThreads * kBlock);
  words = shmem_calloc(kMaxThreads * 8, sizeof *words);
  shmem_barrier_all();
  if (shmem_my_pe() == 0) {
    const char* const standard[] = {"1", "2", "4"};
    const int steps = argc > 1 ? argc - 1 : 3;
    for (int i = 0; i < steps; i++) {
      const int threads = atoi(argc > 1 ? argv[i + 1] : standard[i]);
      if (threads < 1 || threads > kMaxThreads) shmem_global_exit(2);
      measure("default", threads, 0, 0);
      measure("shareable", threads, 1, 0);
      measure("private", threads, 1, SHMEM_CTX_PRIVATE);
    }
    for (int pe = 1; pe < shmem_n_pes(); pe++) shmem_long_p(&done, 1, pe);
  } else {
    shmem_long_wait_until(&done, SHMEM_CMP_EQ, 1);
  }
  shmem_barrier_all();
  shmem_finalize();
  return 0;
}
