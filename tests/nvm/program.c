/* SPDX-License-Identifier: BSD-3-Clause */
/* Plain loads and stores of a heap on NVM with few pages in memory, while a program forks, takes signals, has
 * a handler of faults of its own, pins pages, has threads, has objects in both heaps, gets without waiting,
 * reads its counters, says what it will do, or leaves without shmem_finalize; what is refused; and hints
 * where there is no such heap. The argument says which. */
#include <pthread.h>
#include <shmemx.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

enum { kWords = 60000, kThreads = 4 };
static long* words;
static volatile sig_atomic_t taken;
static int me;

static long value_of(size_t word) { return (long)word * 1000 + me; }

static void fill(void) {
  for (size_t i = 0; i < kWords; ++i) words[i] = value_of(i);
}

static void check_words(void) {
  for (size_t i = 0; i < kWords; ++i) CHECK_AT(words, i, value_of(i));
}

/* A child that runs another program does not disturb; one that touches the heap ends, alone. */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
static const int sanitized = 1;
#else
static const int sanitized = 0;
#endif

static void test_fork(void) {
  for (int i = 0; i < 10; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      execl("/bin/true", "true", (char*)NULL);
      _exit(1);
    }
    int status = -1;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
    check_words();
  }
  for (int bare = 0; bare < 2; ++bare) { /* with the library's handler, which it has inherited, or without */
    const pid_t child = fork();
    if (child == 0) {
      if (bare || sanitized) signal(SIGSEGV, SIG_DFL); /* or a sanitizer reports it */
      words[0] = 7;
      _exit(0);
    }
    int status = 0;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFSIGNALED(status));
    CHECK_EQ(WTERMSIG(status), SIGSEGV);
    check_words();
  }
}

/* A handler that the program had before shmem_init gets what is not of the heap, as it was installed, and as
 * often as there is something. */
static char* fence; /* where every access is a fault, until the handler opens it */
static volatile sig_atomic_t opened;

static void on_plain_fault(int number) {
  if (number != SIGSEGV || mprotect(fence, 4096, PROT_READ | PROT_WRITE) != 0 || ++opened > 100) _exit(3);
}

static void on_fault(int number, siginfo_t* info, void* context) {
  if (info == NULL || info->si_addr != fence + 5 || context == NULL) _exit(4);
  on_plain_fault(number);
}

static void install(const char* kind) {
  struct sigaction action = {0};
  if (strcmp(kind, "plain_handler") == 0) action.sa_handler = on_plain_fault;
  if (strcmp(kind, "full_handler") == 0) action.sa_sigaction = on_fault, action.sa_flags = SA_SIGINFO;
  if (action.sa_handler != NULL) CHECK_EQ(sigaction(SIGSEGV, &action, NULL), 0);
}

static void test_handler(void) {
  fence = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(fence != MAP_FAILED);
  for (int round = 1; round <= 3; ++round) {
    CHECK_EQ(mprotect(fence, 4096, PROT_NONE), 0);
    ((volatile char*)fence)[5] = (char)round;
    CHECK_EQ(opened, round);
    CHECK_AT(fence, 5, round);
    fill();
    check_words();
  }
}

static volatile sig_atomic_t wrong = -1; /* a word that was not as it should be */

static void on_alarm(int number) {
  (void)number;
  size_t word = (size_t)taken * 7919 % kWords;
  for (int i = 0; i < 5; ++i, word = (word + 12007) % kWords) {
    if (words[word] != value_of(word)) wrong = (sig_atomic_t)word;
    words[word] = value_of(word);
  }
  ++taken;
}

/* Handlers that touch the heap interrupt threads that do so, in the program and in the library. */
static void test_signals(void) {
  struct sigaction action = {.sa_handler = on_alarm};
  CHECK_EQ(sigaction(SIGALRM, &action, NULL), 0);
  const struct itimerval period = {{0, 7000}, {0, 7000}}, off = {{0, 0}, {0, 0}};
  static long buffer[kWords / 4];
  CHECK_EQ(setitimer(ITIMER_REAL, &period, NULL), 0);
  while (taken < 50 && wrong < 0) {
    check_words();
    shmem_long_get(buffer, words, kWords / 4, me);
    shmem_long_put(words, buffer, kWords / 4, me);
  }
  CHECK_EQ(setitimer(ITIMER_REAL, &off, NULL), 0);
  CHECK_EQ(wrong, -1);
}

static void* use(void* argument) {
  const size_t first = (size_t)(argument != NULL ? *(int*)argument : 0);
  for (int round = 0; round < 5; ++round) {
    for (size_t i = first; i < kWords; i += kThreads) {
      CHECK_AT(words, i, value_of(i));
      words[i] = value_of(i);
    }
  }
  return NULL;
}

/* Threads that write neighbouring words of the same pages. */
static void test_threads(void) {
  pthread_t threads[kThreads];
  static int numbers[kThreads];
  for (int i = 0; i < kThreads; ++i) {
    numbers[i] = i;
    CHECK_EQ(pthread_create(&threads[i], NULL, use, &numbers[i]), 0);
  }
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  check_words();
}

/* Data on NVM, announced by a signal in memory, and the other way round; blocks move within their heap. */
static void test_objects(void) {
  const int to = (me + 1) % shmem_n_pes(), from = (me + shmem_n_pes() - 1) % shmem_n_pes();
  uint64_t* signals = shmem_malloc_with_hints(2 * sizeof *signals, SHMEM_MALLOC_SIGNAL_REMOTE);
  long* data = shmem_malloc_with_hints(kWords * sizeof *data, SHMEMX_MALLOC_NVM);
  signals[0] = signals[1] = 0;
  CHECK_EQ(shmem_ptr(signals, me), signals);
  CHECK_EQ(shmem_ptr(signals, to) == NULL, shmem_ptr(&words, to) == NULL); /* in memory, like the variable */
  CHECK_OF_PE(to, shmem_ptr(data, to), NULL);
  CHECK_EQ(shmem_ptr(data, me), data);
  shmem_barrier_all();
  shmem_long_put_signal(data, words, kWords, &signals[0], 1, SHMEM_SIGNAL_SET, to); /* both on NVM */
  shmem_signal_wait_until(&signals[0], SHMEM_CMP_EQ, 1);
  for (size_t i = 0; i < kWords; ++i) CHECK_AT(data, i, (long)i * 1000 + from);
  shmem_barrier_all();
  data = shmem_realloc(data, 2 * kWords * sizeof *data);
  CHECK_OF_PE(to, shmem_ptr(data, to), NULL);
  for (size_t i = 0; i < kWords; ++i) CHECK_AT(data, i, (long)i * 1000 + from);
  shmem_free(data);
  shmem_free(signals);
}

/* A fence keeps what goes to memory ahead of what goes to NVM. */
static void test_order(void) {
  enum { kRounds = 300, kAdds = 64 };
  const int n = shmem_n_pes(), to = (me + n / 2) % n;
  uint64_t* sum = shmem_malloc_with_hints(sizeof *sum, SHMEM_MALLOC_ATOMICS_REMOTE);
  uint64_t* flag = shmem_malloc_with_hints(sizeof *flag, SHMEMX_MALLOC_NVM);
  *sum = *flag = 0;
  shmem_barrier_all();
  for (uint64_t round = 1; round <= kRounds; ++round) {
    for (int i = 0; i < kAdds; ++i) shmem_uint64_atomic_inc(sum, to);
    shmem_fence();
    shmem_uint64_p(flag, round, to);
    shmem_uint64_wait_until(flag, SHMEM_CMP_GE, round);
    CHECK_CMP(shmem_uint64_atomic_fetch(sum, me), >=, round * kAdds);
  }
  shmem_barrier_all();
  shmem_free(flag);
  shmem_free(sum);
}

/* Nonblocking gets are complete after quiet, the end of their context, or a barrier. */
static void check_peer(const long* got, size_t first, size_t n, int pe) {
  for (size_t i = 0; i < n; ++i) CHECK_AT(got, i, (long)(first + i) * 1000 + pe);
}

static void test_nonblocking(void) {
  static long got[kWords];
  const int npes = shmem_n_pes(), next = (me + 1) % npes;
  shmem_barrier_all();
  for (int pe = 0; pe < npes; ++pe) {
    for (size_t i = 0; i < kWords; i += 1000) shmem_long_get_nbi(got + i, words + i, 1000, pe);
    shmem_quiet();
    check_peer(got, 0, kWords, pe);
  }
  shmem_ctx_t context;
  CHECK_EQ(shmem_ctx_create(0, &context), 0);
  shmem_ctx_long_get_nbi(context, got, words + 1000, 20000, next);
  shmem_ctx_destroy(context);
  check_peer(got, 1000, 20000, next);
  shmem_long_get_nbi(got, words + 2000, 20000, next);
  shmem_barrier_all();
  check_peer(got, 2000, 20000, next);
}

/* Each page of a call on the heap is counted once: it was here, it came, or the operation went to it. */
static uint64_t calls(const shmemx_stats_t* stats) {
  return stats->page_hits + stats->page_misses + stats->page_sent;
}

/* Of a mechanism, which may be left out: each is counted by itself. */
static int is_on(const char* name) {
  const char* said = getenv(name);
  return said == NULL || strcmp(said, "0") != 0;
}

static void test_counters(void) {
  enum { kCalls = 50, kApart = 1000 };
  const int there = (me + shmem_n_pes() / 2) % shmem_n_pes();
  shmemx_stats_t stats;
  shmem_barrier_all();
  shmemx_stats_reset();
  for (int i = 0; i < kCalls; ++i)
    CHECK_FOR(i, shmem_long_g(&words[i * kApart], there), i * kApart * 1000L + there);
  shmemx_stats_read(&stats);
  CHECK_EQ(calls(&stats), kCalls);
  const int goes = shmem_ptr(&words, there) == NULL && is_on("SHMEM_NVM_REMOTE_OPS");
  const int cooperative = is_on("SHMEM_NVM_COOPERATIVE"); /* else what is read comes */
  CHECK_EQ(stats.page_sent > 0, goes && cooperative);
  if (!cooperative) CHECK_EQ(stats.page_fetches, 0);
  shmem_barrier_all();
  shmemx_stats_reset();
  for (int i = 0; i < kCalls; ++i) shmem_long_p(&words[i * kApart], i * kApart * 1000L + there, there);
  shmem_quiet();
  shmemx_stats_read(&stats);
  CHECK_EQ(calls(&stats), kCalls);
  CHECK_EQ(stats.page_sent > 0, goes);
  shmem_barrier_all();
  shmemx_stats_reset();
  for (int i = 0; i < kCalls; ++i) shmem_long_p(&words[i * kApart], value_of((size_t)i * kApart), me);
  shmemx_stats_read(&stats);
  CHECK_EQ(calls(&stats), kCalls);
  shmem_barrier_all();
  words[0] = value_of(0); /* the page is here, and stays */
  shmemx_stats_reset();
  for (int i = 0; i < kCalls; ++i) shmem_long_p(&words[0], value_of(0), me);
  shmemx_stats_read(&stats);
  CHECK_EQ(stats.page_hits, kCalls);
  CHECK_EQ(stats.page_misses + stats.page_sent, 0);
  shmem_barrier_all();
}

static uint64_t counter(size_t offset) {
  shmemx_stats_t stats;
  shmemx_stats_read(&stats);
  return *(const uint64_t*)((const char*)&stats + offset);
}
#define COUNTER(NAME) counter(offsetof(shmemx_stats_t, NAME))

/* 64 pages of 16 KiB, of which 16 are in memory. */
static void test_advice(void) {
  enum { kPages = 64, kInMemory = 16, kPageWords = 16384 / sizeof(long), kAll = kPages * kPageWords };
  const size_t bytes = kAll * sizeof(long);
  long* block = shmem_malloc(bytes);
  uint64_t loads = COUNTER(page_loads);
  for (size_t i = 0; i < kAll; ++i) block[i] = 1;
  CHECK_CMP(COUNTER(page_loads) - loads, <=, kInMemory); /* what has never been written need not be read */

  loads = COUNTER(page_loads);
  for (size_t i = 0; i < kAll; ++i) block[i] = 2;
  CHECK_CMP(COUNTER(page_loads) - loads, >=, kPages - kInMemory);

  for (long round = 3; round < 6; ++round) {
    shmemx_nvm_advise(block, bytes, SHMEMX_NVM_OVERWRITE);
    loads = COUNTER(page_loads);
    for (size_t i = 0; i < kAll; ++i) block[i] = round;
    CHECK_CMP(COUNTER(page_loads) - loads, <=, kInMemory);
    for (size_t i = 0; i < kAll; ++i) CHECK_AT(block, i, round);
  }

  /* Only whole pages lose what they hold. */
  shmemx_nvm_advise(block + 1, bytes - 2 * sizeof(long), SHMEMX_NVM_OVERWRITE);
  for (size_t i = 0; i < kPageWords; ++i) CHECK_AT(block, i, 5);
  for (size_t i = kAll - kPageWords; i < kAll; ++i) CHECK_AT(block, i, 5);
  for (size_t i = 0; i < kAll; ++i) block[i] = 6;

  /* Pages leave, and come back before they are used, if nobody else has taken their room. */
  shmem_barrier_all();
  if (me == 0) {
    for (size_t i = 0; i < kAll; ++i) CHECK_AT(block, i, 6);
    const uint64_t evictions = COUNTER(page_evictions), ahead = COUNTER(page_ahead);
    const double end = now_seconds() + 20;
    while (COUNTER(page_evictions) == evictions && now_seconds() < end)
      shmemx_nvm_advise(block, bytes, SHMEMX_NVM_DONTNEED);
    CHECK_CMP(COUNTER(page_evictions), >, evictions);
    while (COUNTER(page_ahead) == ahead && now_seconds() < end)
      shmemx_nvm_advise(block, bytes, SHMEMX_NVM_WILLNEED);
    CHECK_CMP(COUNTER(page_ahead), >, ahead);
  }
  shmem_barrier_all();
  shmemx_nvm_advise(block, bytes, SHMEMX_NVM_SEQUENTIAL);
  for (size_t i = 0; i < kAll; ++i) CHECK_AT(block, i, 6);

  shmemx_nvm_advise(&words, sizeof words, SHMEMX_NVM_OVERWRITE); /* in memory: nothing happens */
  shmemx_nvm_advise(block, 0, SHMEMX_NVM_OVERWRITE);
  for (size_t i = 0; i < kAll; ++i) CHECK_AT(block, i, 6);
  shmem_free(block);
}

/* ---- What is refused: by a line, and the end of the job */

static void pin_past_end(void) {
  if (me == 0) shmemx_nvm_pin(words, (size_t)1 << 40, SHMEMX_NVM_READ);
}

static void unpin_past_end(void) {
  if (me == 0) shmemx_nvm_unpin((char*)words - ((size_t)1 << 40), (size_t)1 << 41);
}

static void advise_past_end(void) {
  if (me == 0) shmemx_nvm_advise(words, (size_t)1 << 40, SHMEMX_NVM_WILLNEED);
}

static void advise_unknown(void) {
  if (me == 0) shmemx_nvm_advise(words, 8, SHMEMX_NVM_DONTNEED + 1);
}

static void reduce_past_end(void) {
  static long source[1];
  if (me == 0) shmem_long_sum_reduce(SHMEM_TEAM_WORLD, words, source, (size_t)1 << 37);
}

static void put_too_high(void) {
  if (me == 0) shmem_long_p(words, 1, shmem_n_pes());
}

static void realloc_pinned(void) {
  if (me == 0) CHECK_EQ(shmemx_nvm_pin(words, 8, SHMEMX_NVM_READ), 0);
  words = shmem_realloc(words, 2 * kWords * sizeof *words);
}

static void unpin_twice(void) {
  if (me == 0) CHECK_EQ(shmemx_nvm_pin(words, 8, SHMEMX_NVM_READ), 0);
  if (me == 0) shmemx_nvm_unpin(words, 8);
  if (me == 0) shmemx_nvm_unpin(words, 8);
}

static void pin_mode(void) {
  if (me == 0) shmemx_nvm_pin(words, 8, SHMEMX_NVM_WRITE + 1);
}

static void persist_pinned(void) {
  long* object = shmemx_nvm_open("pinned", 8);
  if (me == 0) CHECK_EQ(shmemx_nvm_pin(object, 8, SHMEMX_NVM_WRITE), 0);
  shmemx_nvm_persist(object);
}

/* PEs that differ in a collective call. */
static void unlike_size(void) { shmemx_nvm_open("object", 8 + 8 * (size_t)me); }
static void unlike_name(void) { shmemx_nvm_open(me == 0 ? "object" : "another", 8); }
static void unlike_object(void) {
  long *object = shmemx_nvm_open("object", 8), *another = shmemx_nvm_open("another", 8);
  shmemx_nvm_persist(me == 0 ? object : another);
}

static void persist_block(void) {
  if (me == 0) shmemx_nvm_persist(words);
}

static void open_nothing(void) {
  if (me == 0) shmemx_nvm_open("object", 0);
}

static void open_nameless(void) {
  if (me == 0) shmemx_nvm_open(NULL, 8);
}

/* NULL on all PEs, and a line: more than the whole heap. */
static void open_too_large(void) { CHECK_EQ(shmemx_nvm_open("object", (size_t)1 << 40), NULL); }

/* A quarter of the node's 16 pages may be pinned, and no more, in one piece or in several. */
static void test_most_pinned(void) {
  enum { kPage = 16384, kMost = 4 };
  char* block = shmem_malloc((kMost + 1) * kPage); /* begins at a page */
  shmem_barrier_all();
  for (int round = 0; me == 0 && round < 3; ++round) {
    CHECK_EQ(shmemx_nvm_pin(block, (kMost + 1) * kPage, SHMEMX_NVM_READ), 1);
    CHECK_EQ(shmemx_nvm_pin(block, kMost * kPage, SHMEMX_NVM_READ), 0);
    CHECK_EQ(shmemx_nvm_pin(block + kMost * kPage, 1, SHMEMX_NVM_READ), 1);
    shmemx_nvm_unpin(block, kMost * kPage);
    CHECK_EQ(shmemx_nvm_pin(block, (kMost - 1) * kPage, SHMEMX_NVM_WRITE), 0);
    CHECK_EQ(shmemx_nvm_pin(block + kMost * kPage, 1, SHMEMX_NVM_WRITE), 0);
    shmemx_nvm_unpin(block + kMost * kPage, 1);
    shmemx_nvm_unpin(block, (kMost - 1) * kPage);
  }
  shmem_barrier_all();
  shmem_free(block);
}

/* A pin holds its own pages: the blocks before and behind it may go. No bytes need none. */
static void test_pins(void) {
  enum { kBlocks = 9, kPinned = 4, kBytes = 4096 };
  char* blocks[kBlocks];
  CHECK_EQ(shmemx_nvm_pin(words, 0, SHMEMX_NVM_WRITE), 0);
  shmemx_nvm_unpin(words, 0);
  for (int i = 0; i < kBlocks; ++i) CHECK((blocks[i] = shmem_malloc(kBytes)) != NULL);
  if (me == 0) CHECK_EQ(shmemx_nvm_pin(blocks[kPinned], kBytes, SHMEMX_NVM_READ), 0);
  int before = 0, behind = 0;
  for (int i = 0; i < kBlocks; ++i) {
    before += blocks[i] + kBytes == blocks[kPinned];
    behind += blocks[kPinned] + kBytes == blocks[i];
    if (i != kPinned) shmem_free(blocks[i]);
  }
  CHECK_EQ(before + behind, 2);
  if (me == 0) shmemx_nvm_unpin(blocks[kPinned], kBytes);
  shmem_free(blocks[kPinned]);
  test_most_pinned();
}

/* A block of several pages, of 64 KiB here, begins at one; what is asked for too much is refused by a line.
 */
static void test_alignment(void) {
  const size_t page = 65536;
  char* small = shmem_malloc(100);
  char* large = shmem_malloc(4 * page);
  CHECK_EQ((uintptr_t)large % page, 0);
  large = shmem_realloc(large, 9 * page + 1);
  CHECK_EQ((uintptr_t)large % page, 0);
  shmem_free(large);
  shmem_free(small);
  CHECK_EQ(shmem_align((size_t)128 << 20, 8), NULL);
}

/* Whole pages that are put are not read first, whoever has them; parts of pages are. */
static void test_whole_pages(void) {
  enum { kPages = 64, kPage = 16384, kPiece = 4 * kPage, kBytes = kPages * kPage };
  static unsigned char piece[kPiece];
  unsigned char* block = shmem_malloc(kBytes);
  const int npes = shmem_n_pes(), to = (me + 1) % npes, from = (me + npes - 1) % npes;
  for (int round = 1; round <= 3; ++round) {
    memset(piece, 16 * round + me, sizeof piece);
    shmem_barrier_all();
    const uint64_t loads = COUNTER(page_loads);
    for (size_t at = 0; at < kBytes; at += kPiece) shmem_putmem(block + at, piece, kPiece, to);
    shmem_barrier_all();
    CHECK_CMP(COUNTER(page_loads) - loads, <=, 2); /* of what else the test has there */
    for (size_t i = 0; i < kBytes; ++i) CHECK_AT(block, i, 16 * round + from);
  }
  shmem_barrier_all();
  const uint64_t loads = COUNTER(page_loads);
  for (size_t at = 0; at < kBytes; at += kPage) shmem_putmem(block + at, piece, kPage - 1, to);
  shmem_barrier_all();
  CHECK_CMP(COUNTER(page_loads) - loads, >=, kPages / 4);
  for (size_t i = kPage - 1; i < kBytes; i += kPage) CHECK_AT(block, i, 48 + from);
  shmem_barrier_all();
  shmem_free(block);
}

/* Where there is no NVM heap, blocks for it are in memory. */
static void test_hints(void) {
  for (int i = 0; i < 2; ++i) {
    long* block = shmem_malloc_with_hints(sizeof *block, SHMEMX_MALLOC_NVM);
    CHECK_EQ(shmem_ptr(block, me), block);
    CHECK_EQ(shmemx_nvm_pin(block, sizeof *block, SHMEMX_NVM_WRITE), 0);
    shmemx_nvm_advise(block, sizeof *block, SHMEMX_NVM_OVERWRITE);
    shmemx_nvm_unpin(block, sizeof *block);
    shmem_free(block);
  }
  CHECK_EQ(shmemx_nvm_open("object", 8), NULL); /* it would not outlive the job */
}

int main(int argc, char** argv) {
  CHECK_EQ(argc, 2);
  install(argv[1]);
  int provided;
  shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
  me = shmem_my_pe();
  words = shmem_malloc(kWords * sizeof *words);
  CHECK(words != NULL);
  fill();
  shmem_barrier_all();
  if (strcmp(argv[1], "fork") == 0) test_fork();
  if (strcmp(argv[1], "signals") == 0) test_signals();
  if (strcmp(argv[1], "threads") == 0) test_threads();
  if (strcmp(argv[1], "objects") == 0) test_objects();
  if (strcmp(argv[1], "order") == 0) test_order();
  if (strcmp(argv[1], "nonblocking") == 0) test_nonblocking();
  if (strcmp(argv[1], "counters") == 0) test_counters();
  if (strcmp(argv[1], "alignment") == 0) test_alignment();
  if (strcmp(argv[1], "advice") == 0) test_advice();
  if (strcmp(argv[1], "whole") == 0) test_whole_pages();
  if (strcmp(argv[1], "hints") == 0) test_hints();
  if (strcmp(argv[1], "pins") == 0) test_pins();
  if (strcmp(argv[1], "plain_handler") == 0 || strcmp(argv[1], "full_handler") == 0) test_handler();
  if (strcmp(argv[1], "pin_past_end") == 0) pin_past_end();
  if (strcmp(argv[1], "advise_past_end") == 0) advise_past_end();
  if (strcmp(argv[1], "advise_unknown") == 0) advise_unknown();
  if (strcmp(argv[1], "unpin_past_end") == 0) unpin_past_end();
  if (strcmp(argv[1], "reduce_past_end") == 0) reduce_past_end();
  if (strcmp(argv[1], "put_too_high") == 0) put_too_high();
  if (strcmp(argv[1], "realloc_pinned") == 0) realloc_pinned();
  if (strcmp(argv[1], "unpin_twice") == 0) unpin_twice();
  if (strcmp(argv[1], "pin_mode") == 0) pin_mode();
  if (strcmp(argv[1], "persist_block") == 0) persist_block();
  if (strcmp(argv[1], "persist_pinned") == 0) persist_pinned();
  if (strcmp(argv[1], "unlike_size") == 0) unlike_size();
  if (strcmp(argv[1], "unlike_name") == 0) unlike_name();
  if (strcmp(argv[1], "unlike_object") == 0) unlike_object();
  if (strcmp(argv[1], "open_nothing") == 0) open_nothing();
  if (strcmp(argv[1], "open_nameless") == 0) open_nameless();
  if (strcmp(argv[1], "open_too_large") == 0) open_too_large();
  check_words();
  if (strcmp(argv[1], "leave") == 0) return 0;
  shmem_free(words);
  shmem_finalize();
  return 0;
}
