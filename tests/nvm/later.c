/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations on another node's pages that are completed later: while that node stands still nonblocking ones
 * return, and those that bring nothing back.  What they did is there after quiet, and a fence keeps them in
 * order.  Threads may complete each other's.  So do those on its memory, beside such a heap. */
#include <dirent.h>
#include <pthread.h>
#include <shmemx.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

enum { kPage = 65536, kWords = kPage / sizeof(long), kPages = 12, kMany = 3 * kPage, kThreads = 4 };
static long* words; /* kPages pages, of which each page has a use of its own */
static int me;

static long* page(int number) { return words + number * kWords; }

static char state_of(pid_t process) {
  char name[64], state = '?';
  snprintf(name, sizeof name, "/proc/%d/stat", process);
  FILE* file = fopen(name, "r");
  CHECK(file != NULL);
  CHECK_EQ(fscanf(file, "%*d %*s %c", &state), 1);
  fclose(file);
  return state;
}

/* Stops PE 1, and returns its process. */
static pid_t stop_other(const long* process) {
  const pid_t other = (pid_t)shmem_long_g(process, 1);
  CHECK_EQ(kill(other, SIGSTOP), 0);
  while (state_of(other) != 'T') usleep(1000);
  return other;
}

/* PE 0 puts and gets while PE 1, which has all of its pages, is stopped. */
static void test_while_the_other_stands_still(long* process) {
  static long many[kMany / sizeof(long)], back[kMany / sizeof(long)];
  long source = 7, got = -1, found = -1;
  int small = -1;
  for (size_t i = 0; i < kPages * kWords; ++i) words[i] = (long)i;
  *process = getpid();
  shmem_barrier_all();
  if (me == 0) {
    const pid_t other = stop_other(process);
    shmem_long_put_nbi(page(0), &source, 1, 1);
    shmem_long_get_nbi(&got, page(1) + 5, 1, 1);
    shmem_long_p(page(2), 9, 1);
    shmem_long_atomic_add(page(3), 100, 1);
    shmem_long_atomic_fetch_add_nbi(&found, page(3) + 1, 100, 1);
    shmem_int_atomic_fetch_inc_nbi(&small, (int*)(page(4) + 8), 1);
    shmem_long_iput(page(5), many, 100, 1, 3, 1);
    shmem_long_put_nbi(page(6), many, kMany / sizeof(long), 1);
    shmem_long_get_nbi(back, page(9) + 10, kMany / sizeof(long) - 10, 1);
    for (size_t i = 0; i < kMany / sizeof(long); ++i) many[i] = -(long)i; /* of the long one: before quiet */
    CHECK_EQ(state_of(other), 'T');
    CHECK_EQ(kill(other, SIGCONT), 0);
    shmem_quiet();
    CHECK_EQ(got, kWords + 5);
    CHECK_EQ(found, 3 * kWords + 1);
    CHECK_EQ(small, 4 * kWords + 8);
    for (int i = 0; i < kMany / (int)sizeof(long) - 10; ++i) CHECK_AT(back, i, 9 * kWords + 10 + i);
  }
  shmem_barrier_all();
  if (me == 1) {
    CHECK_EQ(page(0)[0], 7);
    CHECK_EQ(page(2)[0], 9);
    CHECK_EQ(page(3)[0], 3 * kWords + 100);
    CHECK_EQ(page(3)[1], 3 * kWords + 101);
    CHECK_EQ(page(4)[8], 4 * kWords + 9);
    for (int i = 0; i < 3; ++i) CHECK_AT(page(5), 100 * i, 0);
    for (int i = 0; i < kMany / (int)sizeof(long); ++i) CHECK_AT(page(6), i, -i);
  }
  shmem_barrier_all();
}

static shmemx_stats_t stats_now(void) {
  shmemx_stats_t stats;
  shmemx_stats_read(&stats);
  return stats;
}

static void* get_three_pages(void* back) {
  shmem_getmem(back, page(3), kMany, 1);
  return NULL;
}

/* Several pages are on their way at a time: all are asked for while none can come. */
static void test_pages_come_together(const long* process) {
  static long back[kMany / sizeof(long)];
  for (size_t i = 0; i < kPages * kWords; ++i) words[i] = (long)i;
  shmem_barrier_all();
  if (me == 0) {
    pthread_t thread;
    const pid_t other = stop_other(process);
    const uint64_t before = stats_now().page_misses;
    CHECK_EQ(pthread_create(&thread, NULL, get_three_pages, back), 0);
    while (stats_now().page_misses - before < 3) usleep(1000);
    CHECK_EQ(kill(other, SIGCONT), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    for (int i = 0; i < kMany / (int)sizeof(long); ++i) CHECK_AT(back, i, 3 * kWords + i);
  }
  shmem_barrier_all();
}

/* Those of a nonblocking get are asked for when it is called, not by quiet: where frames are to be had for
 * them. */
static void test_pages_come_before_quiet(int have_frames) {
  static long back[kMany / sizeof(long)];
  for (size_t i = 0; i < kPages * kWords; ++i) words[i] = (long)i;
  shmem_barrier_all();
  if (me == 0) {
    const uint64_t before = stats_now().page_ahead;
    shmem_long_get_nbi(back, page(3), kMany / sizeof(long), 1);
    while (have_frames && stats_now().page_ahead - before < 3) usleep(1000);
    shmem_quiet();
    for (int i = 0; i < kMany / (int)sizeof(long); ++i) CHECK_AT(back, i, 3 * kWords + i);
  }
  shmem_barrier_all();
}

/* More than may be under way, to words here and there; and one word, whose page comes meanwhile. */
static void test_many(void) {
  enum { kPuts = 1000, kStride = kPages * kWords / kPuts };
  static long mine[kPuts], got[kPuts];
  const int next = (me + 1) % shmem_n_pes();
  for (int round = 1; round <= 3; ++round) {
    for (int i = 0; i < kPuts; ++i) mine[i] = 10000 * round + i;
    shmem_barrier_all();
    for (int i = 0; i < kPuts; ++i) shmem_long_put_nbi(words + i * kStride, mine + i, 1, next);
    shmem_quiet();
    shmem_long_iget(got, words, 1, kStride, kPuts, next);
    for (int i = 0; i < kPuts; ++i) CHECK_AT(got, i, mine[i]);
    shmem_long_iput(words + 1, mine, kStride, 1, kPuts, next);
    shmem_quiet();
    for (int i = 0; i < kPuts; ++i) shmem_long_get_nbi(got + i, words + 1 + i * kStride, 1, next);
    shmem_quiet();
    for (int i = 0; i < kPuts; ++i) CHECK_AT(got, i, mine[i]);
    shmem_barrier_all();
    if (me == 0) {
      for (int i = 0; i < kPuts; ++i) {
        shmem_long_put_nbi(words, mine + i, 1, 1);
        shmem_fence();
      }
      for (int i = 0; i < kPuts; ++i) shmem_long_atomic_add(words, 1, 1);
      shmem_quiet();
      CHECK_EQ(shmem_long_g(words, 1), mine[kPuts - 1] + kPuts);
    }
  }
  shmem_barrier_all();
}

/* Pages of which no two threads use the same, by one context. */
static void* get_and_put(void* number) {
  enum { kPart = kWords / 2 };
  const int mine = *(const int*)number;
  long *kept = malloc(kPart * sizeof(long)), *got = malloc(kPart * sizeof(long));
  for (int round = 0; round < 50; ++round) {
    long* there = page(mine + kThreads * (round % (kPages / kThreads))) + 100;
    for (int i = 0; i < kPart; ++i) kept[i] = 1000 * round + i;
    shmem_long_put_nbi(there, kept, kPart, 1);
    shmem_quiet();
    shmem_long_get_nbi(got, there, kPart, 1);
    shmem_quiet();
    for (int i = 0; i < kPart; ++i) CHECK_AT(got, i, kept[i]);
  }
  free(got);
  free(kept);
  return NULL;
}

static void test_threads(void) {
  pthread_t threads[kThreads];
  int numbers[kThreads];
  for (int i = 0; i < kThreads && me == 0; ++i) {
    numbers[i] = i;
    CHECK_EQ(pthread_create(threads + i, NULL, get_and_put, numbers + i), 0);
  }
  for (int i = 0; i < kThreads && me == 0; ++i) CHECK_EQ(pthread_join(threads[i], NULL), 0);
  shmem_barrier_all();
}

/* How often the pager of this PE has been given a core. */
static long turns_of_pager(void) {
  DIR* tasks = opendir("/proc/self/task");
  CHECK(tasks != NULL);
  long turns = -1;
  for (const struct dirent* task; turns < 0 && (task = readdir(tasks)) != NULL;) {
    char name[300], text[64] = "";
    snprintf(name, sizeof name, "/proc/self/task/%s/comm", task->d_name);
    FILE* file = fopen(name, "r");
    if (file == NULL) continue;
    const int read = fscanf(file, "%63s", text);
    fclose(file);
    if (read != 1 || strcmp(text, "atoll-pager") != 0) continue;
    snprintf(name, sizeof name, "/proc/self/task/%s/schedstat", task->d_name);
    file = fopen(name, "r");
    CHECK(file != NULL);
    CHECK_EQ(fscanf(file, "%*d %*d %ld", &turns), 1);
    fclose(file);
  }
  closedir(tasks);
  return turns;
}

/* Operations on a page that its home has are carried out by who receives them: its pager sleeps on. The page
 * is so large that it does not come for them. */
static void test_at_once(long* said) {
  enum { kAdds = 200, kLooks = 1000 };
  static const long other = 9;
  words[0] = 5;
  shmem_barrier_all();
  const long before = turns_of_pager();
  shmem_barrier_all();
  for (int i = 0; i < kAdds && me == 0; ++i) CHECK_EQ(shmem_long_atomic_fetch_add(words, 1, 1), 5 + i);
  shmem_barrier_all();
  if (me == 1) CHECK_CMP(turns_of_pager() - before, <, kAdds / 4);
  if (me == 1) CHECK_EQ(words[0], 5 + kAdds);
  /* What a program has pinned is not written to. */
  *said = 0;
  if (me == 1) CHECK_EQ(shmemx_nvm_pin(words, sizeof *words, SHMEMX_NVM_WRITE), 0);
  shmem_barrier_all();
  if (me == 0) shmem_long_put_nbi(words, &other, 1, 1);
  if (me == 0) shmem_long_p(said, 1, 1);
  if (me == 1) {
    shmem_long_wait_until(said, SHMEM_CMP_EQ, 1);
    for (int i = 0; i < kLooks; ++i)
      CHECK_EQ(shmem_long_test(said, SHMEM_CMP_EQ, 2), 0); /* messages are taken */
    CHECK_EQ(words[0], 5 + kAdds);
    shmemx_nvm_unpin(words, sizeof *words);
  }
  shmem_barrier_all();
  if (me == 1) CHECK_EQ(words[0], other);
  shmem_barrier_all();
}

/* Of memory, by a program that has a heap on NVM too: while the other node stands still a fence waits for
 * nothing, and short puts whose source is on a page are packed. */
static void test_memory_beside_the_heap(const long* process) {
  enum { kRounds = 20, kShort = 20, kPutsOfARound = 4 };
  static long there[kShort], signaled[kShort], strided[2 * kShort], last;
  static uint64_t signal_word;
  long* source = page(0);
  for (int i = 0; i < kShort; ++i) source[i] = i + 1;
  shmem_barrier_all();
  if (me == 0) {
    shmem_quiet();
    shmemx_stats_reset();
    const pid_t other = stop_other(process);
    for (long round = 1; round <= kRounds; ++round) {
      shmem_long_put_nbi(there, source, kShort, 1);
      shmem_fence();
      shmem_long_p(&last, round, 1);
      shmem_fence();
      shmem_long_put_signal(signaled, source, kShort, &signal_word, 1, SHMEM_SIGNAL_ADD, 1);
      shmem_long_iput(strided, source, 2, 1, 1, 1);
    }
    CHECK_EQ(state_of(other), 'T');
    for (int i = 0; i < kShort; ++i) source[i] = 0; /* before quiet */
    CHECK_EQ(kill(other, SIGCONT), 0);
    shmem_quiet();
    CHECK_EQ(stats_now().packed_puts, kRounds * kPutsOfARound);
  }
  shmem_barrier_all();
  for (int i = 0; i < kShort && me == 1; ++i) CHECK_AT(there, i, i + 1);
  for (int i = 0; i < kShort && me == 1; ++i) CHECK_AT(signaled, i, i + 1);
  if (me == 1) CHECK_EQ(last, kRounds);
  if (me == 1) CHECK_EQ(signal_word, kRounds);
  if (me == 1) CHECK_EQ(strided[0], 1);
  shmem_barrier_all();
}

int main(int argc, char** argv) {
  int provided;
  shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
  CHECK_EQ(provided, SHMEM_THREAD_MULTIPLE);
  me = shmem_my_pe();
  words = shmem_malloc(kPages * kPage);
  long* process = shmem_malloc_with_hints(sizeof *process, SHMEM_MALLOC_SIGNAL_REMOTE); /* in memory */
  CHECK(words != NULL && process != NULL);
  if (argc > 1 && strcmp(argv[1], "at_once") == 0) {
    test_at_once(process);
  } else if (argc > 1 && strcmp(argv[1], "beside") == 0) {
    *process = getpid();
    test_memory_beside_the_heap(process);
  } else {
    test_while_the_other_stands_still(process);
    test_pages_come_together(process);
    test_pages_come_before_quiet(argc > 1 && strcmp(argv[1], "have_frames") == 0);
    test_many();
    test_threads();
  }
  shmem_free(process);
  shmem_free(words);
  shmem_finalize();
  return 0;
}
