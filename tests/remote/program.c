/* SPDX-License-Identifier: BSD-3-Clause */
/* What programs do with memory on memory servers; the argument says what. */
#include <errno.h>
#include <pthread.h>
#include <shmem.h>
#include <shmemx.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

enum { kMiB = 1 << 20, kThreads = 16 };

static uint64_t* words_of(size_t bytes) {
  uint64_t* const block = shmemx_remote_alloc(bytes);
  CHECK(block != NULL);
  return block;
}

/* More data than local memory, by one thread, then by several. */
static void data(void) {
  const size_t count = 64 * (size_t)kMiB / sizeof(uint64_t);
  uint64_t* const words = words_of(count * sizeof *words);
  for (size_t i = 0; i < count; i += 511) CHECK(words[i] == 0);
  for (size_t i = 0; i < count; ++i) words[i] = i * 3 + (uint64_t)shmem_my_pe();
  for (size_t i = count; i-- > 0;) CHECK(words[i] == i * 3 + (uint64_t)shmem_my_pe());
  shmemx_remote_free(words);
  uint64_t* const again = words_of(count * sizeof *again);
  for (size_t i = 0; i < count; i += 511) CHECK(again[i] == 0);
  shmemx_remote_free(again);
}

struct Part {
  uint64_t* words;
  size_t count, number;
};

static void* work(void* argument) {
  const struct Part* const part = argument;
  for (int round = 1; round <= 3; ++round) {
    for (size_t i = part->number; i < part->count; i += kThreads) part->words[i] += i + part->number;
  }
  for (size_t i = part->number; i < part->count; i += kThreads)
    CHECK(part->words[i] == 3 * (i + part->number));
  return NULL;
}

/* Threads that use neighbouring words of the same pages. */
static void threads(void) {
  const size_t count = 16 * (size_t)kMiB / sizeof(uint64_t);
  uint64_t* const words = words_of(count * sizeof *words);
  pthread_t thread[kThreads];
  struct Part part[kThreads];
  for (size_t t = 0; t < kThreads; ++t) {
    part[t] = (struct Part){words, count, t};
    CHECK(pthread_create(&thread[t], NULL, work, &part[t]) == 0);
  }
  for (size_t t = 0; t < kThreads; ++t) CHECK(pthread_join(thread[t], NULL) == 0);
  shmemx_remote_free(words);
}

/* 4000 allocations and frees against a model: each block keeps its bytes and overlaps no other. */
static void blocks(void) {
  enum { kBlocks = 40 };
  struct {
    unsigned char* at;
    size_t bytes;
    unsigned char value;
  } block[kBlocks] = {{0}};
  const unsigned seed = (unsigned)time(NULL);
  printf("seed %u\n", seed);
  srand(seed);
  for (int step = 0; step < 4000; ++step) {
    const int which = rand() % kBlocks;
    if (block[which].at != NULL) {
      const size_t bytes = block[which].bytes;
      CHECK(shmemx_remote_size(block[which].at) == bytes);
      CHECK(block[which].at[0] == block[which].value && block[which].at[bytes - 1] == block[which].value);
      shmemx_remote_free(block[which].at);
      block[which].at = NULL;
      continue;
    }
    const size_t bytes = 1 + (size_t)rand() % (step % 16 == 0 ? 2 * kMiB : 100000);
    unsigned char* const at = shmemx_remote_alloc(bytes);
    if (at == NULL) continue; /* said on stderr: no room */
    CHECK(at[0] == 0 && at[bytes - 1] == 0 && at[bytes / 2] == 0);
    block[which].at = at;
    block[which].bytes = bytes;
    block[which].value = (unsigned char)(1 + rand() % 255);
    at[0] = at[bytes - 1] = at[bytes / 2] = block[which].value;
  }
  CHECK(shmemx_remote_size(NULL) == 0 && shmemx_remote_size(block) == 0);
  for (int i = 0; i < kBlocks; ++i) shmemx_remote_free(block[i].at);
}

/* Past the cache, of pages that are here and of others. */
static void past(void) {
  const size_t bytes = 32 * (size_t)kMiB, piece = 300000;
  unsigned char* const far = shmemx_remote_alloc(bytes);
  unsigned char* const near = malloc(piece);
  CHECK(far != NULL && near != NULL);
  for (size_t at = 0; at + piece <= bytes; at += piece) {
    memset(near, (int)(at / piece), piece);
    shmemx_remote_put(far + at, near, piece);
  }
  for (size_t at = 0; at + piece <= bytes; at += piece) {
    if (at / piece % 3 == 0) CHECK(far[at + 5] == (unsigned char)(at / piece)); /* brings it */
    if (at / piece % 5 == 0) far[at + 7] = 99;
    shmemx_remote_get(near, far + at, piece);
    for (size_t i = 0; i < piece; i += 37)
      CHECK(near[i] == (i == 7 && at / piece % 5 == 0 ? 99 : (unsigned char)(at / piece)));
  }
  shmemx_overwrite(far, bytes);
  memset(far, 7, bytes);
  for (size_t i = 0; i < bytes; i += 4095) CHECK(far[i] == 7);
  free(near);
  shmemx_remote_free(far);
}

/* Pinned pages are there for system calls. */
static void pins(void) {
  const size_t bytes = 256 * 1024;
  unsigned char* const far = shmemx_remote_alloc(8 * kMiB);
  int ends[2];
  CHECK(far != NULL && pipe(ends) == 0);
  for (size_t i = 0; i < 8 * kMiB; ++i) far[i] = (unsigned char)(i / 4096);
  CHECK(shmemx_pin(far, bytes, SHMEMX_NVM_READ) == 0);
  for (size_t i = bytes; i < 8 * kMiB; i += 4096) CHECK(far[i] == (unsigned char)(i / 4096));
  unsigned char back[4096];
  for (size_t at = 0; at < bytes; at += sizeof back) {
    CHECK(write(ends[1], far + at, sizeof back) == (ssize_t)sizeof back);
    CHECK(read(ends[0], back, sizeof back) == (ssize_t)sizeof back);
    CHECK(back[9] == (unsigned char)(at / 4096));
  }
  CHECK(shmemx_pin(far, 8 * kMiB, SHMEMX_NVM_WRITE) == 1); /* more than a quarter of the local memory */
  shmemx_unpin(far, bytes);
  int here = 0;
  CHECK(shmemx_pin(&here, sizeof here, SHMEMX_NVM_WRITE) == 0);
  shmemx_unpin(&here, sizeof here);
  shmemx_overwrite(&here, sizeof here);
  shmemx_remote_free(far);
}

/* Such memory as the local argument of what goes to other PEs. */
static void arguments(void) {
  enum { kCount = 100000 };
  static long there[kCount], word, words[kCount];
  const int me = shmem_my_pe(), n = shmem_n_pes(), next = (me + 1) % n, before = (me + n - 1) % n;
  const size_t bytes = sizeof there;
  long* const far = shmemx_remote_alloc(20 * bytes);
  CHECK(far != NULL);
  for (int round = 0; round < 20; ++round) {
    long* const part = far + (size_t)round * kCount;
    for (long i = 0; i < kCount; ++i) part[i] = i + me + round;
    shmem_long_put_nbi(there, part, kCount, next);
    shmem_barrier_all();
    for (long i = 0; i < kCount; i += 97) CHECK(there[i] == i + before + round);
    memset(part, 0, bytes);
    shmem_long_get(part, there, kCount, next);
    for (long i = 0; i < kCount; i += 97) CHECK(part[i] == i + me + round);
    shmem_long_get_nbi(part, there, kCount, me);
    shmem_quiet();
    for (long i = 0; i < kCount; i += 97) CHECK(part[i] == i + before + round);
    shmem_long_atomic_fetch_add_nbi(&part[5], &word, 1, next);
    shmem_quiet();
    CHECK(part[5] == round);
    shmem_long_iput(words, part, 2, 3, 1000, next);
    shmem_barrier_all();
  }
  shmem_barrier_all();
  shmemx_remote_free(far);
}

static uint64_t* handled;
static volatile int signals;
static void on_alarm(int number) {
  (void)number;
  ++signals;
  const size_t at = (size_t)signals * 99991 % (32 * (size_t)kMiB / sizeof *handled);
  handled[at] += 0; /* a fault of the handler's own, perhaps within a fault of the program's */
}

static void in_handlers(void) {
  const size_t count = 32 * (size_t)kMiB / sizeof *handled;
  handled = words_of(count * sizeof *handled);
  for (size_t i = 0; i < count; ++i) handled[i] = i;
  struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
  CHECK(sigaction(SIGALRM, &action, NULL) == 0);
  timer_t timer;
  CHECK(timer_create(CLOCK_MONOTONIC, NULL, &timer) == 0);
  const struct itimerspec often = {{0, 500000}, {0, 500000}};
  CHECK(timer_settime(timer, 0, &often, NULL) == 0);
  for (int round = 0; round < 2; ++round) {
    for (size_t i = 0; i < count; ++i) CHECK(handled[i] == i);
  }
  timer_delete(timer);
  CHECK(signals > 0);
  shmemx_remote_free(handled);
}

/* Until somebody ends the job, but no longer than a minute. */
static void endless(void) {
  const size_t count = 16 * (size_t)kMiB / sizeof(uint64_t);
  uint64_t* const words = words_of(count * sizeof *words);
  const time_t end = time(NULL) + 60;
  for (size_t i = 0; i < count; ++i) words[i] = i;
  puts("running");
  fflush(stdout);
  while (time(NULL) < end) {
    for (size_t i = 0; i < count; i += 512) CHECK(words[i]++ >= i);
  }
}

/* A child has none of it, and the parent loses nothing. */
static void forks(void) {
  uint64_t* const words = words_of(16 * kMiB);
  words[0] = 7;
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGSEGV, SIG_DFL);
    _exit((int)words[0]);
  }
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
  CHECK(words[0] == 7);
  shmemx_remote_free(words);
}

/* Returns NULL, with a line of the library, and all goes on. */
static void too_much(void) {
  CHECK(shmemx_remote_alloc(SIZE_MAX) == NULL);
  CHECK(shmemx_remote_alloc((size_t)1 << 40) == NULL);
  CHECK(shmemx_remote_alloc(0) == NULL);
  uint64_t* const words = shmemx_remote_alloc(kMiB);
  if (words != NULL) words[5] = 5;
  shmemx_remote_free(words);
  shmemx_remote_free(NULL);
}

static void misuse(const char* what) {
  char* const block = shmemx_remote_alloc(3 * kMiB);
  static char other[100];
  if (strcmp(what, "free_twice") == 0) {
    shmemx_remote_free(block);
    shmemx_remote_free(block);
  } else if (strcmp(what, "free_within") == 0) {
    shmemx_remote_free(block + 4096);
  } else if (strcmp(what, "free_other") == 0) {
    shmemx_remote_free(other);
  } else if (strcmp(what, "free_pinned") == 0) {
    if (shmemx_pin(block, 10, SHMEMX_NVM_READ) == 0) shmemx_remote_free(block);
  } else if (strcmp(what, "get_other") == 0) {
    shmemx_remote_get(other, other + 50, 50);
  } else if (strcmp(what, "get_past_end") == 0) {
    shmemx_remote_get(other, block + 3 * kMiB - 10, 100);
  } else if (strcmp(what, "put_to_other") == 0) {
    shmemx_remote_put(other, other + 50, 50);
  } else if (strcmp(what, "get_into_remote") == 0) {
    shmemx_remote_get(block + 100, block, 50);
  } else if (strcmp(what, "pin_mode") == 0) {
    shmemx_pin(block, 10, 5);
  } else if (strcmp(what, "unpin_unpinned") == 0) {
    shmemx_unpin(block, 10);
  }
}

int main(int argc, char** argv) {
  const struct {
    const char* name;
    void (*run)(void);
  } what[] = {{"data", data},         {"threads", threads},     {"blocks", blocks}, {"past", past},
              {"pins", pins},         {"arguments", arguments}, {"forks", forks},   {"handlers", in_handlers},
              {"too_much", too_much}, {"endless", endless}};
  shmem_init();
  for (size_t i = 0; argc > 1 && i < sizeof what / sizeof *what; ++i) {
    if (strcmp(argv[1], what[i].name) == 0) {
      what[i].run();
      shmem_finalize();
      return 0;
    }
  }
  if (argc > 1) misuse(argv[1]);
  shmem_finalize();
  return 0;
}
