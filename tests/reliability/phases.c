/* SPDX-License-Identifier: BSD-3-Clause */
/* PEs that work without end in one phase of a program's life, of which one, the victim, comes to an end of its own:
 *     phases PHASE END [MICROSECONDS [VICTIM]]
 * PHASE: one of those below.  END: signal numbers (9), _exit3, _exit0 and exit3 (it calls these, without shmem_finalize),
 * memory (it takes what there is), fault (it stores to nowhere), none.  It comes from another thread than the one that works,
 * so that the victim (PE 1, if not given) is in the middle of something, so many microseconds after it has begun.
 * In `start` and `connect` that is in shmem_init, before or after the process has connected to its launcher.
 * Each PE prints "job <id>" and "process <pid>", the victim "dies <seconds since 1970>"; without an end each PE "under way"
 * when it has done this 100 times. */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include <pthread.h>
#include <shmem.h>
#include <shmemx.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "wait_for_launcher.h"

enum { kBytes = 1 << 20, kWords = kBytes / sizeof(long), kKeys = 64 };

static const char* how;
static long after; /* microseconds */
static int me, pes, victim = 1;
static long *block, source[kWords], word, lock, sums[2];
static volatile long sink;
static volatile long* nowhere;

/* More than the test gives the job, whose other processes the kernel's OOM killer spares. */
static void use_memory(void) {
  enum { kBlock = 1 << 20 };
  FILE* score = fopen("/proc/self/oom_score_adj", "w");
  if (score != NULL) {
    fputs("1000", score);
    fclose(score);
  }
  for (int i = 0; i < 2048; ++i) {
    char* memory = malloc(kBlock);
    if (memory == NULL) break;
    memset(memory, 1, kBlock);
  }
  _exit(6);
}

static void* end_this_pe(void* in_connect) {
  if (in_connect != NULL) wait_for_launcher();
  usleep((useconds_t)after);
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  printf("dies %ld.%09ld\n", (long)now.tv_sec, now.tv_nsec);
  fflush(stdout);
  if (strcmp(how, "memory") == 0) use_memory();
  if (strncmp(how, "_exit", 5) == 0) _exit(atoi(how + 5));
  if (strncmp(how, "exit", 4) == 0) exit(atoi(how + 4));
  prctl(PR_SET_DUMPABLE, 0); /* to write down its memory would take longer than the job may */
  if (strcmp(how, "fault") == 0) *nowhere = 0;
  kill(getpid(), atoi(how));
  return NULL;
}

static void end_in(int connect) {
  pthread_t thread;
  if (me == victim && strcmp(how, "none") != 0) pthread_create(&thread, NULL, end_this_pe, connect ? &after : NULL);
}
static void end_soon(void) { end_in(0); }

static int next_pe(void) { return (me + 1) % pes; }

static void put(void) {
  shmem_putmem_nbi(block, source, kBytes, next_pe());
  shmem_putmem(block, source, 100, (me + 2) % pes);
  shmem_quiet();
}
static void get(void) {
  shmem_getmem(source, block, kBytes, next_pe());
  for (int pe = 0; pe < pes; ++pe) sink = shmem_long_g(&word, pe);
}
static void atomic(void) {
  for (int pe = 0; pe < pes; ++pe) shmem_long_atomic_inc(&word, pe);
  sink = shmem_long_atomic_fetch_add(&word, 1, next_pe());
}
static void collective(void) {
  static int turn;
  switch (turn++ % 4) {
    case 0: shmem_barrier_all(); return;
    case 1: shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &sums[0], &sums[1], 1); return;
    case 2: shmem_broadcastmem(SHMEM_TEAM_WORLD, block, source, kBytes, 0); return;
    default: shmem_alltoallmem(SHMEM_TEAM_WORLD, block, source, 1000); return;
  }
}
static void holds_lock(void) {
  shmem_set_lock(&lock);
  if (me == victim) { /* everybody else waits */
    end_soon();
    for (;;) pause();
  }
  shmem_clear_lock(&lock);
}
static void waits_for_it(void) {
  if (me == victim) {
    end_soon();
    for (;;) pause();
  }
  shmem_long_wait_until(&word, SHMEM_CMP_NE, 0);
}
static void allocate(void) { shmem_free(shmem_malloc(4096)); }

/* Pages of the heap, of which the pool has few. */
static void fault(void) {
  for (size_t i = 0; i < kWords; i += 512) block[(i * 7919) % kWords] += 1;
  sink = shmem_long_g(&block[((unsigned)rand()) % kWords], next_pe());
}
static void persist(void) {
  static long* object;
  if (object == NULL) object = shmemx_nvm_open("phases", kBytes);
  for (size_t i = 0; i < kWords; i += 2048) object[i] += 1;
  shmemx_nvm_persist(object);
}
static void remote(void) {
  static long* pages;
  if (pages == NULL) pages = shmemx_remote_alloc(8L * kBytes);
  for (size_t i = 0; i < 8L * kWords; i += 4096) pages[i] += 1;
}
static shmemx_kv_t table_of(size_t value_bytes) {
  shmemx_kv_options_t options;
  memset(&options, 0, sizeof options);
  options.key_bytes = sizeof(long);
  options.value_bytes = value_bytes;
  options.capacity = 16 * kKeys;
  shmemx_kv_t table = NULL;
  if (shmemx_kv_create(&options, &table) != SHMEMX_KV_OK) exit(4);
  return table;
}
static void kv(void) {
  static shmemx_kv_t table;
  if (table == NULL) table = table_of(64);
  long key = rand() % kKeys, value[8] = {key};
  shmemx_kv_put(table, &key, sizeof key, value, sizeof value);
  key = rand() % kKeys;
  shmemx_kv_get(table, &key, sizeof key, value, sizeof value, NULL);
}
/* Batches and requests, several of which are under way at any time, and values that take three journeys. */
static void kv_later(void) {
  enum { kBatches = 4, kPuts = 8, kLong = 10000 };
  static shmemx_kv_t table;
  static long keys[kBatches][kKeys], values[kBatches][kKeys], single[kPuts], old[kPuts], turn;
  static char long_value[kLong];
  if (table == NULL) table = table_of(kLong);
  const long one = 1;
  shmemx_kv_request_t under_way[kBatches + 2 * kPuts] = {NULL};
  for (int i = 0; i < kBatches; ++i) {
    for (int j = 0; j < kKeys; ++j) keys[i][j] = rand() % kKeys;
    if (i % 2 == 0) {
      shmemx_kv_upsert_batch_nbi(table, kKeys, keys[i], sizeof(long), SHMEMX_KV_INT64, SHMEMX_KV_ADD, values[i],
                                 NULL, NULL, &under_way[i]);
    } else {
      shmemx_kv_get_batch_nbi(table, kKeys, keys[i], sizeof(long), values[i], sizeof(long), NULL, NULL, &under_way[i]);
    }
  }
  for (int i = 0; i < kPuts; ++i) {
    single[i] = rand() % kKeys;
    shmemx_kv_upsert_nbr(table, &single[i], sizeof(long), SHMEMX_KV_INT64, SHMEMX_KV_ADD, &one, NULL, NULL,
                         &under_way[kBatches + 2 * i]);
    shmemx_kv_get_nbr(table, &single[i], sizeof(long), &old[i], sizeof(long), NULL, NULL, &under_way[kBatches + 2 * i + 1]);
  }
  const long key = kKeys + rand() % kKeys;
  shmemx_kv_put(table, &key, sizeof key, long_value, sizeof long_value);
  shmemx_kv_get(table, &key, sizeof key, long_value, sizeof long_value, NULL);
  const size_t all = sizeof under_way / sizeof *under_way;
  if (turn++ % 2 == 0) {
    while (shmemx_kv_request_wait_any(all, under_way) != all) continue;
  } else {
    shmemx_kv_quiet(table);
    for (size_t i = 0; i < all; ++i) shmemx_kv_request_wait(&under_way[i]);
  }
}
/* Each but the victim for a key of the PE opposite that nobody puts: two at each other, which live, and one at the victim. */
static void kv_wait(void) {
  static shmemx_kv_t table;
  if (table == NULL) table = table_of(64);
  if (me == victim) {
    end_soon();
    for (;;) pause();
  }
  long key = 0, value;
  while (shmemx_kv_pe(table, &key, sizeof key) != (me + 2) % pes) ++key;
  shmemx_kv_get_wait(table, &key, sizeof key, &value, sizeof value, NULL);
}
/* Streams that travel in packets. */
static void small(void) {
  static uint64_t signal_word;
  for (int i = 0; i < 300; ++i) {
    const int pe = (me + 1 + i % 2) % pes;
    shmem_long_p(&block[i], i, pe);
    shmem_long_get_nbi(&source[i], &block[1000 + i], 1, pe);
    shmem_long_put_signal(&block[2000 + i], &source[4000 + i], 1, &signal_word, 1, SHMEM_SIGNAL_ADD, pe);
    shmem_long_atomic_add(&word, 1, pe);
  }
  if (rand() % 2) shmem_quiet();
}
static void compute(void) { sink += rand(); }

static const struct {
  const char* name;
  void (*step)(void);
} kPhases[] = {{"put", put},         {"get", get},         {"atomic", atomic},   {"collective", collective},
               {"lock", holds_lock}, {"wait", waits_for_it}, {"allocate", allocate}, {"fault", fault},
               {"persist", persist}, {"remote", remote},   {"kv", kv},           {"compute", compute},
               {"small", small},     {"kv_later", kv_later}, {"kv_wait", kv_wait}};

int main(int count, char** arguments) {
  const char* phase = arguments[1];
  how = arguments[2];
  if (count > 3) after = atol(arguments[3]);
  if (count > 4) victim = atoi(arguments[4]);
  const char* job = getenv("ATOLL_JOB_ID");
  printf("job %s\n", job != NULL ? job : getenv("PMIX_NAMESPACE"));
  const int connect = strcmp(phase, "connect") == 0, start = connect || strcmp(phase, "start") == 0;
  if (start) { /* before it knows who it is */
    const char* rank = getenv("PMIX_RANK");
    me = rank != NULL ? atoi(rank) : 0;
    printf("process %d\n", (int)getpid());
    fflush(stdout);
    end_in(connect);
  }
  shmem_init();
  me = shmem_my_pe();
  pes = shmem_n_pes();
  if (start)
    for (;;) shmem_barrier_all();
  block = shmem_malloc(kBytes);
  printf("process %d\n", (int)getpid());
  fflush(stdout);
  shmem_barrier_all();
  if (strcmp(phase, "finalize") == 0) {
    end_soon();
    if (me == (victim + 1) % pes) usleep(100000); /* the others wait for it in there */
    shmem_finalize();
    while (me == victim) pause();
    return 0;
  }
  void (*step)(void) = NULL;
  for (size_t i = 0; i < sizeof kPhases / sizeof *kPhases; ++i)
    if (strcmp(phase, kPhases[i].name) == 0) step = kPhases[i].step;
  if (step == NULL) exit(5);
  step(); /* what is made is there */
  if (step != holds_lock && step != waits_for_it && step != kv_wait) end_soon();
  if (strcmp(how, "none") == 0) {
    for (int i = 0; i < 100; ++i) step();
    printf("under way\n");
    fflush(stdout);
  }
  for (;;) step();
}
