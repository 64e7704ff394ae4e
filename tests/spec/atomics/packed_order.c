/* SPDX-License-Identifier: BSD-3-Clause */
/* Semantics 67, 82, 83, 87, 88, 106-108, 110: order and completion while atomics are outstanding, many of
 * which may travel in one packet, where they wait for others. Everything is done without a session and within
 * one. */
#include <string.h>

#include "check.h"
#include "packed_limit.h"

/* kRow words are too many to be packed, and half of them are just few enough. */
enum { kScratch = 32, kMostPes = 16, kMostTimes = 1200, kRow = 2 * kPackedUpTo / 8 };

typedef struct {
  _Alignas(64) uint64_t at; /* in a cache line of its own */
} Line;

static Line data_in_variable, flag, answer, counters[kMostPes], notes[kMostPes];
static Line* data_in_heap;
static uint64_t scratch[kScratch], row[kRow], sent[kMostPes], arrived[kMostPes];
static uint64_t numbers[kMostTimes + 1], old[kMostTimes + 1]; /* numbers[i] is i; old: where fetches go */
static shmem_ctx_t contexts[2];                               /* the default one, and another */
static Random dice;
static int me, npes, in_session, across; /* that one is on another node, if there is one */

/* Additions that nobody waits for: often few, now and then more than go into one packet. */
static void burst(shmem_ctx_t ctx, int pe) {
  static const size_t most[] = {1, 2, 20, 20, 600};
  const size_t count = random_below(&dice, most[random_below(&dice, 5)]);
  for (size_t i = 0; i < count; ++i) shmem_ctx_uint64_atomic_add(ctx, &scratch[i % kScratch], 1, pe);
  sent[pe] += count;
}

static uint64_t sum_of_scratch(void) {
  uint64_t sum = 0;
  for (int i = 0; i < kScratch; ++i) sum += __atomic_load_n(&scratch[i], __ATOMIC_ACQUIRE);
  return sum;
}

/* The end of a test: all bursts have arrived, and all words are 0 again. */
static void settle(void) {
  for (int c = 0; c < 2; ++c) shmem_ctx_quiet(contexts[c]);
  shmem_uint64_sum_reduce(SHMEM_TEAM_WORLD, arrived, sent, kMostPes);
  CHECK_EQ(sum_of_scratch(), arrived[me]);
  data_in_variable.at = data_in_heap->at = flag.at = answer.at = 0;
  memset(scratch, 0, sizeof scratch), memset(sent, 0, sizeof sent);
  memset(counters, 0, sizeof counters), memset(notes, 0, sizeof notes);
  shmem_barrier_all();
}

/* Data, fence, flag, data, fence, flag ... by operations of all kinds, without waiting for anybody. */
static void write_stream(uint64_t times) {
  for (uint64_t i = 1; i <= times; ++i) {
    burst(SHMEM_CTX_DEFAULT, across);
    switch (i % 3) {
      case 0: shmem_uint64_p(&data_in_variable.at, i, across); break;
      case 1: shmem_uint64_atomic_inc(&data_in_variable.at, across); break;
      default: shmem_uint64_atomic_set(&data_in_variable.at, i, across);
    }
    if (i % 2 == 0) shmem_uint64_atomic_add(&data_in_heap->at, 1, across);
    if (i % 2 != 0) shmem_uint64_atomic_fetch_add_nbi(&old[i], &data_in_heap->at, 1, across);
    /* Now and then the data travel in packets and the flag does not. */
    if (in_session && i % 4 == 0) shmem_ctx_session_stop(SHMEM_CTX_DEFAULT);
    shmem_fence();
    switch (i % 5) {
      case 0: shmem_uint64_p(&flag.at, i, across); break;
      case 1: shmem_uint64_atomic_add(&flag.at, 1, across); break;
      case 2: shmem_uint64_atomic_set(&flag.at, i, across); break;
      case 3: shmem_uint64_put_nbi(&flag.at, &numbers[i], 1, across); break;
      default:
        shmem_uint64_put_signal(row, numbers, i % 2 ? 10 : kRow, &flag.at, i, SHMEM_SIGNAL_SET, across);
    }
    if (in_session && i % 4 == 0)
      shmem_ctx_session_start(SHMEM_CTX_DEFAULT, SHMEM_CTX_SESSION_BATCH, NULL, 0);
  }
  shmem_quiet();
  for (uint64_t i = 1; i <= times; i += 2) CHECK_AT(old, i, i - 1);
}

/* Never a flag without its data. The flag of `pe`, which may be me, is read first. Returns it. */
static uint64_t observe(int pe) {
  uint64_t seen;
  if (pe != me) {
    seen = shmem_uint64_atomic_fetch(&flag.at, pe);
    CHECK_CMP(shmem_uint64_atomic_fetch(&data_in_variable.at, pe), >=, seen);
    CHECK_CMP(shmem_uint64_atomic_fetch(&data_in_heap->at, pe), >=, seen);
    return seen;
  }
  switch (random_below(&dice, 3)) {
    case 0: seen = shmem_uint64_atomic_fetch(&flag.at, me); break;
    case 1: seen = shmem_signal_fetch(&flag.at); break;
    default: seen = __atomic_load_n(&flag.at, __ATOMIC_ACQUIRE); /* in none of the library's calls */
  }
  CHECK_CMP(__atomic_load_n(&data_in_heap->at, __ATOMIC_RELAXED), >=, seen);
  CHECK_CMP(__atomic_load_n(&data_in_variable.at, __ATOMIC_RELAXED), >=, seen);
  return seen;
}

/* Some PEs write, each to the one across; the others look on, at themselves and at one of those. */
static void test_flag_after_data(void) {
  const uint64_t times = (uint64_t)rounds(kMostTimes, 60);
  for (int round = 0; round < 2 && npes > 1; ++round) {
    const int first = round * (npes / 2), one = (first + npes / 2) % npes;
    const int place = (me - first + npes) % npes; /* the writers' are below npes / 2 */
    if (place < npes / 2) {
      write_stream(times);
    } else {
      const int written = place < npes / 2 * 2 ? me : one; /* of an odd number of PEs one is left over */
      while (observe(written) < times)
        if (one != me && random_below(&dice, 8) == 0) observe(one);
    }
    settle();
  }
}

/* A payload of any size, packed or not, a burst, a fence and a flag, which is answered. */
static void test_payload(void) {
  const int from = (me + npes - npes / 2) % npes;
  for (uint64_t i = 1; i <= (uint64_t)rounds(500, 30); ++i) {
    const size_t count = 1 + random_below(&dice, i % 2 == 0 ? kRow : 10);
    uint64_t source[kRow];
    for (size_t k = 0; k < kRow; ++k) source[k] = i * 1000 + k;
    shmem_uint64_put(row, source, count, across);
    burst(SHMEM_CTX_DEFAULT, across);
    shmem_uint64_p(&counters[0].at, count, across);
    shmem_fence();
    switch (i % 4) {
      case 0: shmem_uint64_atomic_add(&flag.at, 1, across); break;
      case 1: shmem_signal_add(&flag.at, 1, across); break;
      case 2: shmem_uint64_atomic_set(&flag.at, i, across); break;
      default: shmem_uint64_put_signal_nbi(&notes[0].at, numbers, 1, &flag.at, 1, SHMEM_SIGNAL_ADD, across);
    }
    if (i % 2 == 0) shmem_uint64_wait_until(&flag.at, SHMEM_CMP_GE, i);
    while (i % 2 != 0 && !shmem_uint64_test(&flag.at, SHMEM_CMP_GE, i)) continue;
    for (size_t k = 0; k < counters[0].at; ++k) CHECK_AT(row, k, i * 1000 + k);
    burst(contexts[1], from);
    shmem_uint64_atomic_inc(&answer.at, from);
    shmem_uint64_wait_until(&answer.at, SHMEM_CMP_GE, i);
    CHECK_EQ(answer.at, i);
  }
  settle();
}

/* Completes everything on context c. */
static void complete(int c) {
  int all[kMostPes];
  for (int pe = 0; pe < npes; ++pe) all[pe] = pe;
  switch (random_below(&dice, c == 0 ? 5 : 2)) {
    case 0: shmem_ctx_quiet(contexts[c]); break;
    case 1: shmem_ctx_pe_quiet(contexts[c], all, (size_t)npes); break;
    case 2: shmem_quiet(); break;
    case 3: shmem_pe_quiet(all, (size_t)npes); break;
    default:
      for (int pe = 0; pe < npes; ++pe) shmem_pe_quiet(&pe, 1);
  }
}

/* Each PE has a counter on every PE. What is complete is seen by all: by me, and by who is told. */
static void test_completion(void) {
  uint64_t added[kMostPes] = {0}, fetched[kMostPes];
  const int right = right_pe(), teller = left_pe();
  for (uint64_t i = 1; i <= (uint64_t)rounds(500, 30); ++i) {
    const int c = (int)random_below(&dice, 2);
    for (int k = 1; k <= npes; ++k) { /* the other context's operations may go on for long */
      const int pe = (me + k) % npes;
      burst(contexts[random_below(&dice, 2)], pe);
      shmem_ctx_uint64_atomic_fetch_add_nbi(contexts[c], &fetched[pe], &counters[me].at, i, pe);
      shmem_ctx_fence(contexts[c]);
      shmem_ctx_uint64_atomic_inc(contexts[c], &counters[me].at, pe);
    }
    complete(c);
    for (int pe = 0; pe < npes; ++pe) {
      CHECK_AT(fetched, pe, added[pe]);
      added[pe] += i + 1;
      CHECK_OF_PE(pe, shmem_uint64_g(&counters[me].at, pe), added[pe]);
    }
    shmem_fence(); /* after the last note */
    shmem_uint64_p(&notes[me].at, added[0], right);
    shmem_uint64_wait_until(&notes[teller].at, SHMEM_CMP_GE, added[0]); /* the teller's numbers are mine */
    for (int pe = 0; pe < npes; ++pe) CHECK_CMP(shmem_uint64_g(&counters[teller].at, pe), >=, added[0]);
  }
  settle();
}

/* A barrier completes what is on the default context. */
static void test_barrier(void) {
  uint64_t fetched[kMostPes], added = 0;
  for (uint64_t i = 1; i <= (uint64_t)rounds(300, 40); ++i) {
    for (int k = 1; k <= npes; ++k) {
      const int pe = (me + k) % npes;
      burst(SHMEM_CTX_DEFAULT, pe);
      shmem_uint64_atomic_fetch_add_nbi(&fetched[pe], &counters[me].at, i, pe);
      shmem_uint64_atomic_add(&counters[pe].at, i, pe);
    }
    added += i;
    shmem_barrier_all();
    for (int pe = 0; pe < npes; ++pe) {
      if (pe != me) CHECK_AT(fetched, pe, added - i);
      CHECK_FOR(pe, counters[pe].at, pe == me ? added * (uint64_t)(npes + 1) : added);
    }
    shmem_barrier_all();
  }
  settle();
}

/* PEs in pairs wait for each other's additions, which nobody flushes; nbi fetches are under way, too. */
static void test_ping_pong(void) {
  const int from = (me + npes - npes / 2) % npes;
  for (uint64_t i = 1; i <= (uint64_t)rounds(600, 50); ++i) {
    burst(contexts[i % 2], across);
    if (i % 4 == 0) shmem_uint64_atomic_fetch_inc_nbi(&old[i], scratch, across), ++sent[across];
    shmem_ctx_uint64_atomic_add(contexts[i / 2 % 2], &flag.at, 1, across);
    shmem_uint64_wait_until(&flag.at, SHMEM_CMP_GE, i);
    shmem_uint64_atomic_inc(&answer.at, from);
    shmem_uint64_wait_until(&answer.at, SHMEM_CMP_GE, i);
  }
  settle();
}

/* Semantics 77: an addition arrives although its PE has not called the library since; and so do those before
 * it, which were more than may be under way at once. PE 0 computes until it sees that, or fails. */
static double bounded_time(uint64_t before, int target_waits, int by_put) {
  static uint64_t seen;
  static double took; /* of PE 0 */
  seen = 0;
  shmem_barrier_all();
  const double begin = now_seconds(), end = begin + 20;
  if (me == 0) {
    for (uint64_t i = 0; i < before; ++i) shmem_uint64_atomic_add(&scratch[i % kScratch], 1, across);
    if (by_put) shmem_uint64_p(&flag.at, 1, across);
    if (!by_put) shmem_uint64_atomic_add(&flag.at, 1, across);
    sent[across] += before;
    while (__atomic_load_n(&seen, __ATOMIC_ACQUIRE) == 0) CHECK_CMP(now_seconds(), <, end);
  } else if (me == npes / 2) { /* across */
    if (target_waits) shmem_uint64_wait_until(&flag.at, SHMEM_CMP_EQ, 1);
    while (__atomic_load_n(&flag.at, __ATOMIC_ACQUIRE) != 1) CHECK_CMP(now_seconds(), <, end);
    while (sum_of_scratch() != before) CHECK_CMP(now_seconds(), <, end);
    shmem_uint64_atomic_inc(&seen, 0);
  }
  took = now_seconds() - begin;
  settle();
  return shmem_double_g(&took, 0);
}

/* A packet is held for 1 ms at most.  Each way in which it may be waited for: the quickest of many, as a busy
 * machine delays some, and a packet that is held too long is late each time. */
static void test_bounded_time(void) {
  enum { kTimes = 200 };
  const double soon =
      getenv("SHMEM_FAULTS") != NULL ? 0.02 : 0.003; /* faults hold operations back for polls */
  for (int way = 0; way < 4; ++way) {
    double least = 20;
    for (int i = 0; i < kTimes && least >= soon; ++i) {
      const double took = bounded_time(0, way % 2, way / 2);
      if (took < least) least = took;
    }
    check_context("%s, the target %s", way / 2 ? "put" : "atomic", way % 2 ? "waits" : "computes");
    CHECK_CMP(least, <, soon);
    check_context("%s", "");
    bounded_time(10000, way % 2, way / 2);
  }
}

int main(void) {
  shmem_init();
  me = shmem_my_pe(), npes = shmem_n_pes(), across = (me + npes / 2) % npes;
  CHECK_CMP(npes, <=, kMostPes);
  sent[0] = (uint64_t)time(NULL);
  shmem_barrier_all();
  dice.state = seed_of_run(shmem_uint64_g(sent, 0)) * 100 + (uint64_t)me;
  data_in_heap = shmem_align(64, sizeof(Line));
  data_in_heap->at = 0;
  shmem_barrier_all();
  sent[0] = 0;
  for (uint64_t i = 0; i <= kMostTimes; ++i) numbers[i] = i;
  contexts[0] = SHMEM_CTX_DEFAULT;
  CHECK_EQ(shmem_ctx_create(0, &contexts[1]), 0);
  shmem_barrier_all();
  for (in_session = 0; in_session < 2; ++in_session) {
    for (int c = 0; c < 2 && in_session; ++c)
      shmem_ctx_session_start(contexts[c], SHMEM_CTX_SESSION_BATCH, NULL, 0);
    test_flag_after_data();
    test_payload();
    test_completion();
    test_barrier();
    test_ping_pong();
    if (npes > 1) test_bounded_time();
  }
  shmem_ctx_destroy(contexts[1]);
  shmem_finalize();
  return 0;
}
