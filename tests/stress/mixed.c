/* SPDX-License-Identifier: BSD-3-Clause */
/* Random operations of all PEs on all PEs, with a model that knows the value of every word.
 *
 * - Each PE has a region of its own at every PE.  Only it writes there, and it keeps a copy: regions must
 * equal it.
 * - All PEs add to and toggle bits of the counters of all PEs.  Each keeps book of its share: the counters
 * must be the sum, and the exclusive or, of all shares.
 * - Messages with a signal go into slots of the receiver, which counts signals and looks into the slots.
 *
 * An epoch is a few hundred operations, a barrier and the verification.  ATOLL_STRESS_SECONDS says how long
 * to go on; ATOLL_TEST_SEED repeats a run. */
#include <string.h>

#include "check.h"
#include "duration.h"
#include "packed_limit.h"

enum { kCounters = 8, kSlots = 64, kMessage = 24, kMostPes = 16, kSources = 1 << 17 };
enum { kWords = 2 * kPackedUpTo / 8 }; /* puts and gets of up to so many: packed ones and others */

/* What others write to.  One in the heap and one in a variable; the operations choose. */
typedef struct {
  long region[kMostPes][kWords];
  long sums[kCounters];
  unsigned toggles[kCounters];
  long slots[kMostPes][kSlots][kMessage];
  uint64_t signals[kMostPes];
  long shares[kMostPes][kCounters];
  unsigned toggled[kMostPes][kCounters];
} Shared;

/* What I know: of my regions, of my shares since the start, by PE. */
typedef struct {
  long region[kMostPes][kWords];
  unsigned char unordered[kMostPes][kWords]; /* put since the last fence */
  long shares[kMostPes][kCounters];
  unsigned toggled[kMostPes][kCounters];
  uint64_t sent[kMostPes], received[kMostPes];
} Known;

static Shared in_variable;
static Shared* places[2];
static Known known[2];
static Random dice;
static long sources[kSources]; /* of nonblocking puts: unchanged until quiet */
static size_t used_sources;

static void forget_order(void) {
  memset(known[0].unordered, 0, sizeof known[0].unordered);
  memset(known[1].unordered, 0, sizeof known[1].unordered);
}

static void complete(int pe) {
  switch (random_below(&dice, 3)) {
    case 0: shmem_quiet(), forget_order(), used_sources = 0; break;
    case 1: shmem_fence(), forget_order(); break;
    default:
      shmem_pe_quiet(&pe, 1);
      for (int p = 0; p < 2; ++p) memset(known[p].unordered[pe], 0, kWords);
  }
}

static long* next_sources(size_t count) {
  if (used_sources + count > kSources) shmem_quiet(), forget_order(), used_sources = 0;
  long* at = &sources[used_sources];
  used_sources += count;
  for (size_t i = 0; i < count; ++i) at[i] = (long)next_random(&dice);
  return at;
}

/* Puts without a fence between them have no order, so they must not overlap. */
static void order_if_needed(int p, int pe, size_t at, size_t count, size_t step) {
  for (size_t i = 0; i < count; ++i)
    while (known[p].unordered[pe][at + i * step]) complete(pe);
}

static void put(int p, int pe) {
  const size_t step = random_below(&dice, 4) == 0 ? 1 + random_below(&dice, 3) : 1;
  const size_t count = 1 + random_below(&dice, random_below(&dice, 5) == 0 ? kWords / step : 8);
  const size_t at = random_below(&dice, kWords - (count - 1) * step);
  order_if_needed(p, pe, at, count, step); /* first: it may free all sources */
  long *dest = &places[p]->region[shmem_my_pe()][at], *source = next_sources(count);
  if (step > 1) {
    shmem_long_iput(dest, source, (ptrdiff_t)step, 1, count, pe);
  } else if (count == 1) {
    shmem_long_p(dest, *source, pe);
  } else if (random_below(&dice, 2)) {
    shmem_long_put_nbi(dest, source, count, pe);
  } else {
    shmem_long_put(dest, source, count, pe);
  }
  for (size_t i = 0; i < count; ++i) known[p].region[pe][at + i * step] = source[i];
  for (size_t i = 0; i < count; ++i) known[p].unordered[pe][at + i * step] = 1;
}

static void get(int p, int pe) {
  long back[kWords];
  const size_t count = 1 + random_below(&dice, kWords), at = random_below(&dice, kWords - count + 1);
  const long* source = &places[p]->region[shmem_my_pe()][at];
  shmem_pe_quiet(&pe, 1);
  if (random_below(&dice, 2)) {
    shmem_long_get(back, source, count, pe);
  } else {
    shmem_long_get_nbi(back, source, count, pe);
    shmem_quiet();
  }
  for (size_t i = 0; i < count; ++i) CHECK_AT(back, i, known[p].region[pe][at + i]);
}

static void add(int p, int pe) {
  const int c = (int)random_below(&dice, kCounters);
  long value = (long)random_below(&dice, 1000) - 500, seen;
  long* word = &places[p]->sums[c];
  switch (random_below(&dice, 5)) {
    case 0: shmem_long_atomic_add(word, value, pe); break;
    case 1: shmem_long_atomic_fetch_add(word, value, pe); break;
    case 2: shmem_long_atomic_fetch_add_nbi(next_sources(1), word, value, pe); break;
    case 3: shmem_long_atomic_inc(word, pe), value = 1; break;
    default:
      do seen = shmem_long_atomic_fetch(word, pe);
      while (shmem_long_atomic_compare_swap(word, seen, seen + value, pe) != seen);
  }
  known[p].shares[pe][c] += value;
}

static void toggle(int p, int pe) {
  const int c = (int)random_below(&dice, kCounters);
  const unsigned bits = (unsigned)next_random(&dice);
  if (random_below(&dice, 2))
    shmem_uint_atomic_xor(&places[p]->toggles[c], bits, pe);
  else
    shmem_uint_atomic_fetch_xor(&places[p]->toggles[c], bits, pe);
  known[p].toggled[pe][c] ^= bits;
}

/* The slot is free: an epoch sends fewer messages than there are slots. */
static void send(int p, int pe) {
  const int me = shmem_my_pe();
  const uint64_t number = known[p].sent[pe]++;
  long* slot = places[p]->slots[me][number % kSlots];
  long* source = next_sources(kMessage);
  for (int i = 0; i < kMessage; ++i) source[i] = (long)(number * 100 + (uint64_t)(i + me));
  const size_t length = kMessage;
  uint64_t* signal = &places[p]->signals[me];
  if (random_below(&dice, 2))
    shmem_long_put_signal(slot, source, length, signal, 1, SHMEM_SIGNAL_ADD, pe);
  else
    shmem_long_put_signal_nbi(slot, source, length, signal, 1, SHMEM_SIGNAL_ADD, pe);
  shmem_fence(); /* so that n signals mean the first n messages */
  forget_order();
}

static void receive(int p, int from, uint64_t until) {
  Shared* here = places[p];
  for (; known[p].received[from] < until; ++known[p].received[from]) {
    const uint64_t number = known[p].received[from];
    shmem_signal_wait_until(&here->signals[from], SHMEM_CMP_GT, number);
    for (int i = 0; i < kMessage; ++i)
      CHECK_FOR(i, here->slots[from][number % kSlots][i], number * 100 + (uint64_t)(i + from));
  }
}

static void operate(int operations, int messages) {
  int left[2][kMostPes];
  for (int pe = 0; pe < kMostPes; ++pe) left[0][pe] = left[1][pe] = messages;
  for (int i = 0; i < operations; ++i) {
    const int pe = (int)random_below(&dice, (size_t)shmem_n_pes()), p = (int)random_below(&dice, 2);
    switch (random_below(&dice, 6)) {
      case 0: put(p, pe); break;
      case 1: get(p, pe); break;
      case 2: add(p, pe); break;
      case 3: toggle(p, pe); break;
      case 4:
        if (left[p][pe]-- > 0) send(p, pe);
        break;
      default: receive(p, pe, shmem_signal_fetch(&places[p]->signals[pe])); break;
    }
  }
}

static void verify_counters(int p) {
  Shared* here = places[p];
  const int me = shmem_my_pe();
  for (int pe = 0; pe < shmem_n_pes(); ++pe) {
    shmem_long_put(here->shares[me], known[p].shares[pe], kCounters, pe);
    shmem_uint_put(here->toggled[me], known[p].toggled[pe], kCounters, pe);
  }
  shmem_barrier_all();
  for (int c = 0; c < kCounters; ++c) {
    long sum = 0;
    unsigned bits = 0;
    for (int pe = 0; pe < shmem_n_pes(); ++pe) sum += here->shares[pe][c], bits ^= here->toggled[pe][c];
    CHECK_AT(here->sums, c, sum);
    CHECK_AT(here->toggles, c, bits);
  }
}

static void verify(int p) {
  for (int pe = 0; pe < shmem_n_pes(); ++pe) {
    long back[kWords];
    shmem_long_get(back, places[p]->region[shmem_my_pe()], kWords, pe);
    for (size_t i = 0; i < kWords; ++i) CHECK_AT(back, i, known[p].region[pe][i]);
    receive(p, pe, shmem_signal_fetch(&places[p]->signals[pe]));
    CHECK_OF_PE(pe, shmem_uint64_g(&places[p]->signals[shmem_my_pe()], pe), known[p].sent[pe]);
  }
  verify_counters(p);
}

int main(void) {
  const char* seconds = getenv("ATOLL_STRESS_SECONDS");
  shmem_init();
  CHECK_CMP(shmem_n_pes(), <=, kMostPes);
  static long seed;
  seed = (long)time(NULL);
  shmem_barrier_all();
  const uint64_t common = seed_of_run((uint64_t)shmem_long_g(&seed, 0));
  dice.state = common * 1000 + (uint64_t)shmem_my_pe();
  places[0] = shmem_calloc(1, sizeof(Shared));
  places[1] = &in_variable;
  const double end = now_seconds() + (seconds != NULL ? atof(seconds) : 5);
  int epochs = 0;
  do {
    operate(1 + (int)random_below(&dice, (size_t)rounds(2000, 300)), kSlots / 2);
    shmem_barrier_all();
    forget_order(), used_sources = 0;
    verify(0);
    verify(1);
    ++epochs;
  } while (go_on(end));
  if (shmem_my_pe() == 0) printf("%d epochs\n", epochs);
  shmem_finalize();
  return 0;
}
