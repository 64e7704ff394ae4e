/* SPDX-License-Identifier: BSD-3-Clause */
/* PEs that work in rounds and check what has come of it, while PE 1 disturbs them:
 *     links fetch|shared|add|barrier|get|put|small|flood|kv|nvm_get|nvm_fault reset|stop|freeze|nothing
 * SECONDS reset: from time to time PE 1 shuts down its connections to PEs, for so long.  stop: it is stopped
 * for so long, once. freeze: it is stopped, and nobody wakes it.  Before it is stopped it prints "stops
 * <seconds since 1970>".  All go on for two seconds after that, and PE 0 prints "right". */
#include <pthread.h>
#include <shmem.h>
#include <shmemx.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "connections.h"

enum { kDisturber = 1, kBytes = 1 << 22 };

static long word, rounds, total, going = 1, all_going, mine;
static char big[kBytes], here[kBytes];
static atomic_int disturbed; /* PE 1 is done with it */
static double seconds;
static int me, pes;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void reset_connections(void) {
  const int count = break_connections();
  if (count != 0) printf("reset %d\n", count);
  fflush(stdout);
}

static void* reset_now_and_then(void* unused) {
  for (const double end = now() + seconds; now() < end; usleep(100000 + (useconds_t)(rand() % 100000)))
    reset_connections();
  disturbed = 1;
  return unused;
}

/* In the middle of what the PEs do. */
static void* stop(void* wakes) {
  usleep((useconds_t)(rand() % 30000));
  struct timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  printf("stops %ld.%09ld\n", (long)time.tv_sec, time.tv_nsec);
  fflush(stdout);
  const pid_t parent = getpid();
  if (wakes != NULL && fork() == 0) {
    usleep((useconds_t)(1e6 * seconds));
    kill(parent, SIGCONT);
    _exit(0);
  }
  kill(parent, SIGSTOP);
  disturbed = 1;
  return NULL;
}

static void disturb(const char* how) {
  pthread_t thread;
  if (strcmp(how, "reset") == 0) {
    pthread_create(&thread, NULL, reset_now_and_then, NULL);
  } else if (strcmp(how, "nothing") != 0) {
    pthread_create(&thread, NULL, stop, strcmp(how, "stop") == 0 ? &seconds : NULL);
  } else {
    disturbed = 1;
  }
}

static void wrong(const char* what, long found, long wanted) {
  printf("PE %d: %s: %ld, and should be %ld\n", me, what, found, wanted);
  fflush(stdout);
  shmem_global_exit(9);
}

/* Each PE writes a block of its own on the next one, which reads it when all have; a put that is lost or late
 * shows. */
static void put(void) {
  enum { kWords = 512 };
  static long block[kWords], source[kWords], turn;
  for (int i = 0; i < 50; ++i) {
    ++turn;
    for (int j = 0; j < kWords; ++j) source[j] = turn * kWords + j;
    shmem_long_put(block, source, kWords, (me + 1) % pes);
    shmem_barrier_all();
    for (int j = 0; j < kWords; ++j)
      if (block[j] != turn * kWords + j) wrong("a word that was put", block[j], turn * kWords + j);
    shmem_barrier_all();
  }
}

/* The same by small operations, which travel in packets, and each PE reads what it has written. */
static void small(void) {
  enum { kWords = 512 };
  static long single[kWords], strided[2 * kWords], source[2 * kWords], back[kWords], with_signal, turn;
  static uint64_t signal_word;
  const int next = (me + 1) % pes;
  for (int i = 0; i < 20; ++i) {
    ++turn;
    for (int j = 0; j < 2 * kWords; ++j) source[j] = turn * kWords + j / 2;
    for (int j = 0; j < kWords; ++j) shmem_long_p(&single[j], source[2 * j], next);
    shmem_long_iput(strided, source, 2, 2, kWords, next);
    shmem_quiet();
    for (int j = 0; j < kWords; ++j) shmem_long_get_nbi(&back[j], &single[j], 1, next);
    shmem_quiet();
    shmem_long_put_signal(&with_signal, &turn, 1, &signal_word, (uint64_t)turn, SHMEM_SIGNAL_SET, next);
    shmem_signal_wait_until(&signal_word, SHMEM_CMP_GE, (uint64_t)turn);
    if (with_signal < turn) wrong("what came with a signal", with_signal, turn);
    shmem_barrier_all();
    for (int j = 0; j < kWords; ++j) {
      const long wanted = turn * kWords + j;
      if (back[j] != wanted) wrong("a word that was read", back[j], wanted);
      if (single[j] != wanted) wrong("a word that was put", single[j], wanted);
      if (strided[2 * j] != wanted) wrong("a word that was put among others", strided[2 * j], wanted);
    }
    shmem_barrier_all();
  }
}

static void* tell_memory(void* unused) {
  for (;; usleep(50000)) {
    long pages = 0, resident = 0;
    FILE* file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%ld %ld", &pages, &resident) != 2) wrong("no /proc/self/statm", 0, 1);
    fclose(file);
    printf("memory %ld\n", resident * sysconf(_SC_PAGESIZE));
    fflush(stdout);
  }
  return unused;
}

/* PE 0 puts words on PE 1 and gets words from it without an end, and a thread tells how much memory it has.
 */
static void flood(void) {
  static long words[4096], got[4096];
  if (rounds < 3 || me != 0) return;
  if (rounds == 3) {
    pthread_t thread;
    pthread_create(&thread, NULL, tell_memory, NULL);
  }
  for (long i = 0; i < 50000000; ++i) {
    if (i / 4096 % 2 == 0) shmem_long_p(&words[i % 4096], i, 1);
    if (i / 4096 % 2 != 0) shmem_long_get_nbi(&got[i % 4096], &words[i % 4096], 1, 1);
  }
}

/* Each PE stores under keys of its own and finds there what it has stored. */
static void kv(void) {
  enum { kKeys = 200 };
  static shmemx_kv_t table;
  static long turn;
  if (turn++ == 0) {
    shmemx_kv_options_t options;
    memset(&options, 0, sizeof options);
    options.key_bytes = options.value_bytes = sizeof(long);
    options.capacity = 8 * kKeys;
    if (shmemx_kv_create(&options, &table) != SHMEMX_KV_OK) wrong("no table", 0, 0);
  }
  for (long i = 0; i < kKeys; ++i) {
    const long key = me * kKeys + i, value = turn * kKeys + i;
    long found = 0;
    shmemx_kv_put(table, &key, sizeof key, &value, sizeof value);
    shmemx_kv_get(table, &key, sizeof key, &found, sizeof found, NULL);
    if (found != value) wrong("a value", found, value);
  }
}

/* Pages of a heap on NVM, of which few fit into memory: gets of the other's; or stores of all but the
 * disturber to their own, which it reads.  Longer than it takes to stop, so that the others wait for pages of
 * it then. */
static void nvm(int faults) {
  enum { kPage = 16384, kPages = kBytes / kPage };
  static char* block;
  static long turn;
  if (block == NULL) {
    block = shmem_malloc(kBytes);
    for (int i = 0; i < kPages; ++i) *(long*)(block + i * kPage) = 0;
    shmem_barrier_all();
  }
  const int stores = faults && me != kDisturber, gets = !faults || me == kDisturber;
  long last = turn;
  for (const double end = now() + 0.3; now() < end; ++last) {
    for (int i = 0; i < kPages; ++i) {
      long found, *own = (long*)(block + i * kPage);
      if (stores && *own != last) wrong("a word of one's own page", *own, last);
      if (stores) *own = last + 1;
      if (!gets) continue;
      shmem_getmem(here, block + i * kPage, kPage, (me + 1) % pes);
      memcpy(&found, here, sizeof found);
      if (found < turn && faults) wrong("an old word of another's page", found, turn);
    }
  }
  shmem_barrier_all(); /* who has made more rounds than others has as many at the end */
  for (int i = 0; stores && i < kPages; ++i) *(long*)(block + i * kPage) = turn + 1;
  ++turn;
  shmem_barrier_all();
}

static void work(const char* kind) {
  if (kind[0] == 'n') return nvm(strcmp(kind, "nvm_fault") == 0);
  if (kind[0] == 'p') return put();
  if (kind[0] == 'k') return kv();
  if (strcmp(kind, "small") == 0) return small();
  if (strcmp(kind, "flood") == 0) return flood();
  if (strcmp(kind, "shared") == 0) { /* on the other node: of all PEs of a node at the same time */
    for (int i = 0; i < 100; ++i, ++mine) shmem_long_atomic_fetch_add(&word, 1, (me + pes / 2) % pes);
    return;
  }
  if (strcmp(kind, "get") == 0) { /* answers, and small messages between them */
    if (me == 0) {
      for (int i = 0; i < 2000; ++i, ++mine) shmem_long_atomic_fetch_add(&word, 1, 1);
    } else {
      for (int i = 0; i < 20; ++i) shmem_getmem(here, big, kBytes, 0);
    }
    return;
  }
  for (int i = 0; i < (kind[0] == 'b' ? 10 : 1000); ++i, ++mine) {
    if (kind[0] == 'f') {
      shmem_long_atomic_fetch_add(&word, 1, (me + 1) % pes);
    } else {
      shmem_long_atomic_add(&word, 1, (me + 1) % pes);
    }
  }
  if (kind[0] == 'b')
    for (int i = 0; i < 1000; ++i) shmem_barrier_all();
}

int main(int count, char** arguments) {
  (void)count;
  printf("job %s\n", getenv("ATOLL_JOB_ID"));
  fflush(stdout);
  shmem_init();
  me = shmem_my_pe();
  pes = shmem_n_pes();
  seconds = atof(arguments[3]);
  srand((unsigned)getpid());
  double end = 0;
  do {
    work(arguments[1]);
    if (++rounds == 3 && me == kDisturber) disturb(arguments[2]);
    if (me == kDisturber && disturbed && end == 0) end = now() + 2;
    going = me == kDisturber && (end == 0 || now() < end);
    shmem_long_max_reduce(SHMEM_TEAM_WORLD, &all_going, &going, 1);
  } while (all_going);
  shmem_barrier_all();
  shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &total, &mine, 1);
  static long found;
  shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &found, &word, 1);
  if (found != total) wrong("what was added", found, total);
  shmem_barrier_all();
  if (me == 0) printf("right\n");
  shmem_finalize();
}
