/* SPDX-License-Identifier: BSD-3-Clause */
/* usage: kv_pauses [<elements> [<memory of a PE, MiB> [cpu] [large] [named] [counts]]]
 *
 * How long single calls take while a table of 1000 elements grows to so many of each PE: every PE inserts,
 * and looks after each tenth insertion for an element of its own that is there.  PE 0 prints the longest, and
 * percentiles, in microseconds, and how many were above 100 us and 1 ms: of elements of PEs of its node, and
 * of other nodes.
 *
 *   cpu     the time of the thread, not of the clock
 *   large   the table is made for all of them, so that nothing grows: what the same calls take otherwise
 *   named   the table is a named object on NVM (SHMEM_HEAP)
 *   counts  with one PE, and pages of 16 KiB or more: checks for each insertion what it has done, which takes
 * time as well
 *
 * What no other load of the machine changes is checked: that a call on another node's element is one message,
 * however much is being split there, that the table has grown no further than its elements need, and, with
 * `counts`, that no insertion has split more than one segment, or has brought more pages than two have, a few
 * times. */
#include <time.h>

#include "kv_check.h"

/* Two segments lie on at most 7 pages of 16 KiB, each of which a split may need three times: for the locks of
 * the homes, to copy, and at the end.  The others are the element's own, and those of the shard's header. */
enum { kCapacity = 1000, kMostPages = 3 * 7 + 8 };

typedef struct {
  const char* what;
  float* us;
  size_t n;
} Times;

enum { kPut, kGet, kKinds };

static clockid_t clock_used = CLOCK_MONOTONIC;
static int me, npes, counts;
static Times times[kKinds][2]; /* of elements of this node, and of others */
static char* is_near;          /* by PE */

static double now_us(void) {
  struct timespec time;
  clock_gettime(clock_used, &time);
  return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static int order(const void* a, const void* b) {
  const float x = *(const float*)a, y = *(const float*)b;
  return (x > y) - (x < y);
}

static void report(Times of) {
  if (of.n == 0) return;
  float* us = of.us;
  size_t long_ones = 0, very_long = 0;
  for (size_t i = 0; i < of.n; ++i) long_ones += us[i] > 100, very_long += us[i] > 1000;
  qsort(us, of.n, sizeof *us, order);
  printf(
      "%s: %zu calls, us: median %.3f, p99 %.2f, p99.9 %.2f, p99.99 %.2f, longest %.1f; above 100 us: %zu, 1 "
      "ms: %zu\n",
      of.what, of.n, us[of.n / 2], us[of.n - 1 - of.n / 100], us[of.n - 1 - of.n / 1000],
      us[of.n - 1 - of.n / 10000], us[of.n - 1], long_ones, very_long);
}

static void note(int kind, int pe, double begin) {
  Times* of = &times[kind][!is_near[pe]];
  of->us[of->n++] = (float)(now_us() - begin);
}

static void begin_times(size_t elements) {
  static const char* const what[kKinds][2] = {{"put, on node", "put, off node"},
                                              {"get, on node", "get, off node"}};
  for (int kind = 0; kind < kKinds; ++kind)
    for (int far = 0; far < 2; ++far)
      times[kind][far] = (Times){what[kind][far], malloc(elements * sizeof(float)), 0};
  is_near = malloc((size_t)npes);
  for (int pe = 0; pe < npes; ++pe)
    is_near[pe] = shmem_team_translate_pe(SHMEM_TEAM_WORLD, pe, SHMEM_TEAM_SHARED) >= 0;
}

static void end_times(void) {
  for (int kind = 0; kind < kKinds; ++kind)
    for (int far = 0; far < 2; ++far) {
      if (me == 0) report(times[kind][far]);
      free(times[kind][far].us);
    }
  free(is_near);
}

static int has(int argc, char** argv, const char* word) {
  for (int i = 3; i < argc; ++i)
    if (strcmp(argv[i], word) == 0) return 1;
  return 0;
}

static int is_on_nvm(int named) {
  const char* heap = getenv("SHMEM_HEAP");
  return named || (heap != NULL && strncmp(heap, "nvm:", 4) == 0);
}

/* What insertions have done so far, where nobody else inserts. */
typedef struct {
  uint64_t slots, segment_slots, made; /* made: segments */
  uint64_t misses, most_misses;        /* pages that had to come, and of one insertion at most */
} Steps;

static uint64_t page_misses(void) {
  shmemx_stats_t stats;
  shmemx_stats_read(&stats);
  return stats.page_misses;
}

static void begin_steps(shmemx_kv_t kv, Steps* steps) {
  shmemx_kv_report_t all;
  shmemx_kv_report(kv, &all, sizeof all);
  *steps = (Steps){.slots = all.slots, .segment_slots = all.slots / all.segments, .misses = page_misses()};
}

static void check_step(shmemx_kv_t kv, Steps* steps) {
  shmemx_kv_stats_t table;
  shmemx_kv_stats(kv, &table);
  const uint64_t made = (table.slots - steps->slots) / steps->segment_slots, misses = page_misses();
  CHECK(made <= 1);
  if (misses - steps->misses > steps->most_misses) steps->most_misses = misses - steps->misses;
  CHECK(steps->most_misses <= kMostPages);
  steps->made += made;
  steps->slots = table.slots;
  steps->misses = misses;
}

static void put_one(shmemx_kv_t kv, uint64_t key, int i) {
  const uint64_t value = key + 1;
  const int pe = shmemx_kv_pe(kv, &key, sizeof key);
  const double begin = now_us();
  CHECK_FOR(i, shmemx_kv_put(kv, &key, sizeof key, &value, sizeof value), SHMEMX_KV_OK);
  note(kPut, pe, begin);
}

static void get_one(shmemx_kv_t kv, uint64_t key, int i) {
  uint64_t found = 0;
  const int pe = shmemx_kv_pe(kv, &key, sizeof key);
  const double begin = now_us();
  CHECK_FOR(i, shmemx_kv_get(kv, &key, sizeof key, &found, sizeof found, NULL), SHMEMX_KV_OK);
  note(kGet, pe, begin);
  CHECK_EQ(found, key + 1);
}

int main(int argc, char** argv) {
  const long elements = argc > 1 ? atol(argv[1]) : 20000;
  const size_t memory = (size_t)(argc > 2 ? atol(argv[2]) : 4) << 20;
  if (has(argc, argv, "cpu")) clock_used = CLOCK_THREAD_CPUTIME_ID;
  const int large = has(argc, argv, "large"), named = has(argc, argv, "named");
  shmem_init();
  me = shmem_my_pe(), npes = shmem_n_pes();
  counts = has(argc, argv, "counts") && npes == 1;
  const uint64_t all = (uint64_t)elements * (uint64_t)npes;
  shmemx_kv_options_t options = {.key_bytes = 8, .value_bytes = 8, .memory_bytes = memory};
  options.capacity = large ? all + all / 10 : kCapacity;
  options.name = named ? "pauses" : NULL;
  shmemx_kv_t kv = NULL;
  CHECK_EQ(shmemx_kv_create(&options, &kv), SHMEMX_KV_OK);
  begin_times((size_t)elements);
  Random dice = {(uint64_t)me};
  shmemx_kv_stats_t before, after;
  Steps steps = {0};
  shmemx_kv_stats(kv, &before);
  if (counts) begin_steps(kv, &steps);
  shmem_barrier_all();
  for (long i = 0; i < elements; ++i) {
    put_one(kv, (uint64_t)i * (uint64_t)npes + (uint64_t)me, (int)i);
    if (counts) check_step(kv, &steps);
    if (i % 10 == 9) get_one(kv, random_below(&dice, (uint64_t)i) * (uint64_t)npes + (uint64_t)me, (int)i);
  }
  shmem_barrier_all();
  shmemx_kv_stats(kv, &after);
  const uint64_t remote = after.remote_calls - before.remote_calls, far = times[kPut][1].n + times[kGet][1].n;
  CHECK_EQ(after.packets - before.packets, remote);
  if (is_on_nvm(named)) {
    CHECK(remote <= far); /* some had better have the pages come */
  } else {
    CHECK_EQ(remote, far);
  }
  CHECK_EQ(shmemx_kv_count(kv), all);
  if (large) {
    CHECK_EQ(after.slots, before.slots);
  } else {
    CHECK(after.slots > before.slots);
    CHECK(3 * after.elements > after.slots);
  }
  end_times();
  if (me == 0) printf("slots: %zu, then %zu\n", (size_t)before.slots, (size_t)after.slots);
  if (counts) {
    printf("insertions that split a segment: %zu; pages that one of them has brought: at most %zu\n",
           (size_t)steps.made, (size_t)steps.most_misses);
  }
  shmemx_kv_destroy(kv);
  shmem_finalize();
  return 0;
}
