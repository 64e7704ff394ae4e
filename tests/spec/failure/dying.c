/* SPDX-License-Identifier: BSD-3-Clause */
/* PE 1 dies in the middle of puts: `dying segv|kill|exit|leave|abort|thread`.  Tells check_death.sh who was
 * there. */
#include <glob.h>
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

/* Registered before shmem_init, so it runs after what the library does at exit, and before its objects and
 * libfabric's are destroyed: no thread of its may use them any more. */
static void look_for_agent(void) {
  glob_t names;
  glob("/proc/self/task/*/comm", 0, NULL, &names);
  for (size_t i = 0; i < names.gl_pathc; ++i) {
    char name[64] = "";
    FILE* file = fopen(names.gl_pathv[i], "r");
    if (file == NULL) continue;
    if (fgets(name, sizeof name, file) != NULL && strcmp(name, "atoll-agent\n") == 0) _exit(4);
    fclose(file);
  }
  globfree(&names);
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
  atexit(look_for_agent);
  shmem_init();
  const int me = shmem_my_pe();
  char* block = shmem_malloc(kBytes);
  static char source[kBytes];
  static long word;
  if (me == 0) printf("job %s\n", getenv("ATOLL_JOB_ID"));
  printf("process %d\n", (int)getpid());
  fflush(stdout);
  shmem_barrier_all();
  for (int i = 0;; ++i) {
    shmem_putmem_nbi(block, source, i % 2 == 0 ? kBytes : 100, right_pe());
    shmem_long_atomic_inc(&word, left_pe());
    if (i % 8 == 0) shmem_quiet();
    if (i == 30 && me == 1) die(arguments[1]);
  }
}
