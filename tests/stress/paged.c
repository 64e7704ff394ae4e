/* SPDX-License-Identifier: BSD-3-Clause */
/* A heap of few pages that all PEs use at once, in every way: put, get, single elements, strided, atomics,
 * and plain loads and stores of the owner, by two threads. Meant for a heap on NVM whose pages come and go
 * all the time.
 *
 * Word i of each PE's array is written by PE i % npes alone, with numbers that only grow: so the writer knows
 * what each word must be, and everybody else that it never goes back. `sums` are added to by all.
 *
 * ATOLL_STRESS_SECONDS says how long to go on; ATOLL_TEST_SEED repeats a run. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "check.h"
#include "duration.h"

enum { kMostPes = 16, kWords = 40000, kMostRun = 6000, kSums = 8 };

static long* words;             /* [kWords], 10 to 80 pages */
static long* sums;              /* [kSums] */
static long* written[kMostPes]; /* what I wrote last, by PE and word */
static long* seen[kMostPes];    /* what I saw last of others */
static long added[kMostPes];    /* to the sums of a PE */
static long next_number = 1;
static Random dice;
static int me, npes;
static atomic_int stop;

static int writer(size_t word) { return (int)(word % (size_t)npes); }

/* A value that was read of a word of a PE. */
static void check(int pe, size_t word, long value) {
  if (writer(word) == me) {
    CHECK_EQ(value, written[pe][word]);
  } else {
    CHECK_CMP(value, >=, seen[pe][word]);
    seen[pe][word] = value;
  }
}

static size_t my_word(void) {
  const size_t word = random_below(&dice, kWords / (size_t)npes - 1) * (size_t)npes + (size_t)me;
  return word;
}

static void write_one(int pe) {
  const size_t word = my_word();
  const long number = next_number++;
  switch (random_below(&dice, pe == me ? 5 : 4)) {
    case 0: shmem_long_p(&words[word], number, pe); break;
    case 1: shmem_long_put(&words[word], &number, 1, pe); break;
    case 2: shmem_long_atomic_set(&words[word], number, pe); break;
    case 3: CHECK_OF_PE(pe, shmem_long_atomic_swap(&words[word], number, pe), written[pe][word]); break;
    default: __atomic_store_n(&words[word], number, __ATOMIC_RELAXED); break;
  }
  written[pe][word] = number;
}

/* Many of my words, which lie npes apart. */
static void write_many(int pe) {
  static long numbers[kMostRun];
  const size_t first = my_word();
  size_t n = 1 + random_below(&dice, kMostRun / (size_t)npes);
  if (first + n * (size_t)npes > kWords) n = (kWords - first + (size_t)npes - 1) / (size_t)npes;
  for (size_t i = 0; i < n; ++i) written[pe][first + i * (size_t)npes] = numbers[i] = next_number++;
  shmem_long_iput(&words[first], numbers, npes, 1, n, pe);
}

static void read_some(int pe) {
  static long values[kMostRun];
  const size_t first = random_below(&dice, kWords);
  size_t n = random_below(&dice, 4) == 0 ? 1 + random_below(&dice, kMostRun) : 1;
  if (first + n > kWords) n = kWords - first;
  if (n == 1) {
    values[0] = random_below(&dice, 2) == 0 ? shmem_long_g(&words[first], pe)
                                            : shmem_long_atomic_fetch(&words[first], pe);
  } else {
    shmem_long_get(values, &words[first], n, pe);
  }
  for (size_t i = 0; i < n; ++i) check(pe, first + i, values[i]);
}

static void read_own(void) {
  const size_t first = random_below(&dice, kWords - 64);
  for (size_t i = first; i < first + 64; ++i) check(me, i, __atomic_load_n(&words[i], __ATOMIC_RELAXED));
}

static void step(void) {
  const int pe = (int)random_below(&dice, (uint64_t)npes);
  switch (random_below(&dice, 8)) {
    case 0:
    case 1: write_one(pe); break;
    case 2: write_many(pe); break;
    case 3:
    case 4: read_some(pe); break;
    case 5: read_own(); break;
    default: shmem_long_atomic_add(&sums[random_below(&dice, kSums)], 3, pe); added[pe] += 3;
  }
}

/* Loads of the owner's words, while others write them. */
static void* look(void* unused) {
  static long last[kWords];
  size_t word = 0;
  while (!atomic_load(&stop)) {
    const long value = __atomic_load_n(&words[word], __ATOMIC_RELAXED);
    CHECK_CMP(value, >=, last[word]);
    last[word] = value;
    word = (word + 61) % kWords;
  }
  return unused;
}

static void check_all(void) {
  static long total[kMostPes], source[kMostPes];
  shmem_barrier_all();
  for (int pe = 0; pe < npes; ++pe) {
    for (size_t word = (size_t)me; word < kWords; word += (size_t)npes * 37)
      CHECK_FOR(word, shmem_long_g(&words[word], pe), written[pe][word]);
  }
  memcpy(source, added, sizeof source);
  shmem_long_sum_reduce(SHMEM_TEAM_WORLD, total, source, (size_t)npes);
  long sum = 0;
  for (int i = 0; i < kSums; ++i) sum += sums[i];
  CHECK_EQ(sum, total[me]);
  shmem_barrier_all();
}

int main(void) {
  int provided;
  shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
  me = shmem_my_pe(), npes = shmem_n_pes();
  CHECK_CMP(npes, <=, kMostPes);
  seed_dice(&dice);
  words = shmem_calloc(kWords, sizeof *words);
  sums = shmem_calloc(kSums, sizeof *sums);
  CHECK(words != NULL);
  CHECK(sums != NULL);
  for (int pe = 0; pe < npes; ++pe) {
    written[pe] = calloc(kWords, sizeof(long));
    seen[pe] = calloc(kWords, sizeof(long));
  }
  shmem_barrier_all();
  pthread_t thread;
  CHECK_EQ(pthread_create(&thread, NULL, look, NULL), 0);
  const double end = end_of_run(2);
  int epochs = 0;
  do {
    for (int i = 0; i < 300; ++i) step();
    check_all();
    ++epochs;
  } while (go_on(end));
  atomic_store(&stop, 1);
  pthread_join(thread, NULL);
  if (me == 0) printf("%d epochs\n", epochs);
  shmem_barrier_all();
  shmem_free(sums);
  shmem_free(words);
  shmem_finalize();
  return 0;
}
