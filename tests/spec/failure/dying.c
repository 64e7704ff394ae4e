/* SPDX-License-Identifier: BSD-3-Clause */
/* PE 1 dies in the middle of puts: `dying segv|kill|exit|leave|abort|thread`, or of shmem_init, which waits for PE 0:
 * `dying start`.  Tells check_death.sh who was there. */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

enum { kBytes = 1 << 20 };

static void* leave(void* unused) {
  (void)unused;
  exit(0);
}

/* Not the thread that has called shmem_init: it cannot finalize. */
static void exit_in_a_thread(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, leave, NULL);
  pthread_join(thread, NULL);
}

static void* leave_in_init(void* unused) {
  (void)unused;
  int (*connected)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "PMIx_Initialized");
  while (!connected()) usleep(100);
  exit(3);
}

static void die_in_init(int me) {
  pthread_t thread;
  if (me == 1) pthread_create(&thread, NULL, leave_in_init, NULL);
  while (me == 0) pause();
}

static void load_late(void) {
  if (dlopen(LOADED_LATE, RTLD_NOW | RTLD_LOCAL) == NULL) _exit(5);
}

static void die(const char* how) {
  if (strcmp(how, "leave") == 0) exit(3);
  if (strcmp(how, "thread") == 0) exit_in_a_thread();
  if (strcmp(how, "segv") == 0) raise(SIGSEGV);
  if (strcmp(how, "abort") == 0) abort();
  if (strcmp(how, "exit") == 0) _exit(3);
  raise(SIGKILL);
}

int main(int count, char** arguments) {
  (void)count;
  const int me = atoi(getenv("PMIX_RANK"));
  if (me == 0) printf("job %s\n", getenv("ATOLL_JOB_ID"));
  printf("process %d\n", (int)getpid());
  fflush(stdout);
  load_late();
  if (strcmp(arguments[1], "start") == 0) die_in_init(me);
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
