/* SPDX-License-Identifier: BSD-3-Clause */
/* A program from before shmem_init: start_pes, and no finalize at all.  `start_pes fails`: one PE ends with 3
 * and the others later; `start_pes thread`: the thread that starts has ended by then. */
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "check.h"

static long word;
static int left;

/* The library ends after the program, handlers included, even those that were registered before it started.
 */
static void last_words(void) {
  int started = 0;
  shmem_query_initialized(&started);
  CHECK(started);
  shmem_barrier_all();
  CHECK_EQ(word, left + 1);
}

static void* start(void* argument) {
  start_pes(0);
  shmem_long_p(&word, shmem_my_pe() + 1, right_pe());
  return argument;
}

static int end_late(const char* how) {
  if (strcmp(how, "thread") == 0) {
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, start, NULL), 0);
    pthread_join(thread, NULL);
  } else {
    start(NULL);
  }
  left = left_pe();
  const int fails = strcmp(how, "fails") == 0;
  if (!fails) atexit(last_words); /* in which each waits for the others */
  const int first = shmem_my_pe() == 0;
  struct timespec time = {0, first ? 300000000 : 0};
  while (nanosleep(&time, &time) != 0) continue; /* SIGTERM, had the others ended, does not shorten it */
  if (first) printf("the first PE has come to its end\n");
  return fails && !first ? 3 : 0;
}

int main(int count, char** arguments) {
  if (count > 1) return end_late(arguments[1]);
  atexit(last_words);
  start_pes(0); /* Semantics 9 */
  start_pes(17);
  start_pes(shmem_n_pes());
  CHECK_CMP(_num_pes(), >=, 1);
  left = left_pe();
  long* block = (long*)shmalloc(sizeof *block);
  *block = 0;
  shmem_barrier_all();
  shmem_long_put_nbi(&word, &(long){shmem_my_pe() + 1}, 1, right_pe());
  shmem_long_p(block, 1, right_pe());
  return 0;
}
