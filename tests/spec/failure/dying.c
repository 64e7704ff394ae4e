/* SPDX-License-Identifier: BSD-3-Clause */
/* PE 1 dies in the middle of puts, `dying segv|kill|abort|_exit|exit|exit_thread`, or of shmem_init, which waits for PE 0,
 * `dying exit_in_init`; or exits after a shmem_init_thread that has failed, `dying exit_refused`.  Tells check_death.sh who
 * was there, and exit() may not lose: "last words". */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "wait_for_launcher.h"

enum { kBytes = 1 << 20 };

static void* call_exit(void* code) {
  printf("last words\n");
  exit((int)(intptr_t)code);
}

/* Not the thread that has called shmem_init: it cannot finalize. */
static void exit_in_a_thread(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, call_exit, (void*)0);
  pthread_join(thread, NULL);
}

static void* exit_once_connected(void* unused) {
  (void)unused;
  wait_for_launcher();
  return call_exit((void*)3);
}

static void exit_in_init(int me) {
  pthread_t thread;
  if (me == 1) pthread_create(&thread, NULL, exit_once_connected, NULL);
  while (me == 0) pause();
}

static void load_late(void) {
  if (dlopen(LOADED_LATE, RTLD_NOW | RTLD_LOCAL) == NULL) _exit(5);
}

static void die(const char* how) {
  if (strcmp(how, "exit") == 0) call_exit((void*)3);
  if (strcmp(how, "exit_thread") == 0) exit_in_a_thread();
  if (strcmp(how, "segv") == 0) raise(SIGSEGV);
  if (strcmp(how, "abort") == 0) abort();
  if (strcmp(how, "_exit") == 0) _exit(3);
  raise(SIGKILL);
}

int main(int count, char** arguments) {
  (void)count;
  const int me = atoi(getenv("PMIX_RANK"));
  if (me == 1) printf("job %s\n", getenv("ATOLL_JOB_ID")); /* who dies has said it, if nobody else has */
  printf("process %d\n", (int)getpid());
  fflush(stdout);
  load_late();
  if (strcmp(arguments[1], "exit_in_init") == 0) exit_in_init(me);
  int provided;
  if (strcmp(arguments[1], "exit_refused") == 0) return shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) != 0 ? 6 : 5;
  shmem_init();
  char* block = shmem_malloc(kBytes);
  static char source[kBytes];
  static long word;
  shmem_barrier_all();
  for (int i = 0;; ++i) {
    shmem_putmem_nbi(block, source, i % 2 == 0 ? kBytes : 100, right_pe());
    shmem_long_atomic_inc(&word, left_pe());
    if (i % 8 == 0) shmem_quiet();
    if (i == 30 && me == 1) die(arguments[1]);
  }
}
