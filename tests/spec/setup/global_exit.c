/* SPDX-License-Identifier: BSD-3-Clause */
/* Semantics 12: one PE ends the job, whatever the others do: `global_exit <status> [<PE>]`, by default the
 * last PE.  All others are in the middle of something, each of something else.  With `-1` as the PE all of
 * them call it at once, and PE p passes status + p; with `before` it is called before shmem_init.  Of PE 0,
 * with exit handlers: `handlers`, `hangs` where they do not end, `nested` where one calls it again, `late`
 * where only one does, `twice` by two threads; `others`: all have something to be flushed. */
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

static long never, lock, number, ready;
static uint64_t signal_word;

static void compute(void) {
  for (volatile unsigned long i = 0;; ++i) {
  }
}

static void poll_by_test(void) {
  while (!shmem_long_test(&never, SHMEM_CMP_EQ, 1)) {
  }
}

static void* wait_for_good(void* unused) {
  shmem_long_wait_until(&never, SHMEM_CMP_NE, 0);
  return unused;
}

/* One thread waits, another sleeps in the operating system. */
static void wait_in_a_thread(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, wait_for_good, NULL);
  for (;;) pause();
}

static void be_busy(int how) {
  static long result;
  switch (how % 9) {
    case 0: shmem_barrier_all(); break;
    case 1: shmem_long_wait_until(&never, SHMEM_CMP_NE, 0); break;
    case 2: shmem_set_lock(&lock); break;
    case 3: compute(); break;
    case 4: shmem_malloc(1000); break;
    case 5: shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &result, &number, 1); break;
    case 6: shmem_signal_wait_until(&signal_word, SHMEM_CMP_EQ, 1); break;
    case 7: wait_in_a_thread(); break;
    default: poll_by_test(); break;
  }
}

static void end_the_job(int status) {
  printf("flushed without a newline");
  shmem_global_exit(status);
}

static int code;

/* Finds the library gone, as the others do not come any more. */
static void run_handler(void) {
  int started = 1;
  shmem_query_initialized(&started);
  shmem_finalize();
  if (!started) printf("the handler ran\n");
}
static void hang(void) {
  for (;;) pause();
}
static void exit_again(void) { shmem_global_exit(code); }
static void* exit_too(void* unused) {
  exit_again();
  return unused;
}
static void exit_twice(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, exit_too, NULL);
  exit_again();
}

static int use_handlers(const char* how) {
  if (strcmp(how, "handlers") == 0) atexit(run_handler);
  shmem_init();
  if (strcmp(how, "hangs") == 0) atexit(hang);
  if (strcmp(how, "nested") == 0 || (strcmp(how, "late") == 0 && shmem_my_pe() == 0)) atexit(exit_again);
  setvbuf(stdout, NULL, _IOFBF, 65536);
  if (strcmp(how, "others") == 0) printf("flushed by PE %d\n", shmem_my_pe());
  shmem_barrier_all();
  if (shmem_my_pe() == 0 && strcmp(how, "late") == 0) return 0;
  if (shmem_my_pe() == 0 && strcmp(how, "twice") == 0) exit_twice();
  if (shmem_my_pe() == 0) shmem_global_exit(code);
  if (shmem_my_pe() == 1) compute();
  shmem_barrier_all();
  return 98;
}

int main(int count, char** arguments) {
  int provided = -1;
  code = atoi(arguments[1]);
  if (count > 2 && strlen(arguments[2]) > 2 && strcmp(arguments[2], "before") != 0)
    return use_handlers(arguments[2]);
  if (count > 2 && strcmp(arguments[2], "before") == 0) end_the_job(atoi(arguments[1]));
  if (shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) != 0) return 99;
  const int status = atoi(arguments[1]), last = shmem_n_pes() - 1;
  const int one = count > 2 ? atoi(arguments[2]) : last, me = shmem_my_pe();
  if (me == one) shmem_set_lock(&lock); /* which nobody gets any more */
  shmem_barrier_all();
  if (one < 0) end_the_job(status + me);
  if (me == one) {
    shmem_long_wait_until(&ready, SHMEM_CMP_EQ, last);
    end_the_job(status);
  }
  shmem_long_atomic_inc(&ready, one);
  shmem_quiet();
  be_busy(me);
  return 98; /* the job has ended before */
}
