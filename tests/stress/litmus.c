/* SPDX-License-Identifier: BSD-3-Clause */
/* Litmus tests of order, thousands at a time, each operation of a random kind and size on a random context.
 *
 *   message passing     data, fence (or quiet, pe_quiet), flag: who sees the flag sees the data
 *   signals             put_signal, set and add: who sees the signal sees the data
 *   one word            put, fence, put, ...: its owner never sees it go back
 *   write to read       A writes x at B; B sees it and writes y at C; C sees it and reads x at B: new
 *   passed on           A writes data at C, quiet, tells B, who tells C: C sees the data
 *   independent reads   A writes x at B, B writes y at C; two PEs read x and y in opposite order: they agree
 *                       which was first
 *   ... through fences  the same with fences between the reads of each, and before x and y another word is
 *                       written, with a fence between: who reads x, or y, reads that word too
 *
 * All PEs play all parts at once, of kInstances instances of each test in a round; a barrier ends the round.
 * What is written in a round says which round it is, so nothing is reset.  Fence, quiet and what they order
 * are on one context.  With an argument `threads` a second thread of each PE sends the signals and writes the
 * one word, on the context that the first one uses; with `sessions` most rounds are sessions that batch.
 * ATOLL_STRESS_SECONDS says how long to go on;
 * ATOLL_TEST_SEED repeats a run. */
#include <pthread.h>

#include "check.h"
#include "duration.h"
#include "packed_limit.h"

/* Long blocks are of up to kMostWords: some are too long for a packet. */
enum { kInstances = 32, kMostWords = 5 * kPackedUpTo / 16, kTests = 6 };

static _Thread_local Random dice;
static int me, npes;
static long now; /* the round */

static shmem_ctx_t context; /* of the round */

/* What others write to, in rounds of its own: static, or with an argument `heap` in the symmetric heap, which
 * may lie on NVM. */
struct Words {
  long data[kInstances][kMostWords], flags[kInstances], signaled[kInstances][kMostWords];
  uint64_t set_signals[kInstances], added_signals;
  long word;
  long x[kInstances], y[kInstances];
  long passed_data[kInstances], passed_first[kInstances], passed_second[kInstances];
  long independent_x[kInstances], independent_y[kInstances], before_x[kInstances], before_y[kInstances];
  struct {
    long x, y;
  } seen_x_first[kInstances], seen_y_first[kInstances];
};
static struct Words in_statics, *words = &in_statics;

/* Where instance i has them: data and flags may be in different memory. */
static long* data_of(int i) { return i % 5 == 0 ? in_statics.data[i] : words->data[i]; }
static long* flag_of(int i) { return i % 3 == 0 ? &in_statics.flags[i] : &words->flags[i]; }
static long* signaled_of(int i) { return i % 6 == 0 ? in_statics.signaled[i] : words->signaled[i]; }
static uint64_t* set_signal_of(int i) {
  return i % 4 == 0 ? &in_statics.set_signals[i] : &words->set_signals[i];
}

/* These keep until the round's barrier. */
static long sources[kInstances][kMostWords], signal_sources[kInstances][kMostWords];

static int pe_after(int steps) { return (me + steps) % npes; }
static int pe_before(int steps) { return (me + steps * (npes - 1)) % npes; }

/* Word k of instance i of writer `pe`, and how many words there are: both sides know. */
static long datum(int pe, int i, int k) { return ((now * 64 + pe) * kInstances + i) * (kMostWords + 1) + k; }
static int size_of(int pe, int i) {
  Random random = {(uint64_t)(now * 64 + pe) * kInstances + (uint64_t)i};
  const size_t kind = random_below(&random, 8);
  return 1 + (int)random_below(&random, kind == 0 ? kMostWords : kind < 3 ? 64 : 4);
}

static void check_data(const long* got, int pe, int i) {
  check_context("round %ld, instance %d of PE %d", now, i, pe);
  for (int k = size_of(pe, i) - 1; k >= 0; --k) CHECK_AT(got, k, datum(pe, i, k));
}

static long* fill(long* source, int i) {
  for (int k = 0; k < size_of(me, i); ++k) source[k] = datum(me, i, k);
  return source;
}

/* One word, in any way in which it can be written. */
static void write_word(long* to, const long* source, int pe) {
  switch (random_below(&dice, 7)) {
    case 0: shmem_ctx_long_p(context, to, *source, pe); break;
    case 1: shmem_ctx_long_put(context, to, source, 1, pe); break;
    case 2: shmem_ctx_long_put_nbi(context, to, source, 1, pe); break;
    case 3: shmem_ctx_long_iput(context, to, source, 2, 3, 1, pe); break;
    case 4: shmem_ctx_long_atomic_set(context, to, *source, pe); break;
    case 5: shmem_ctx_signal_set(context, (uint64_t*)to, (uint64_t)*source, pe); break;
    default: (void)shmem_ctx_long_atomic_swap(context, to, *source, pe);
  }
}

/* A flag of this round, which is written once in each: so it may as well be counted up. */
static void write_flag(long* to, int pe) {
  switch (random_below(&dice, 4)) {
    case 0: shmem_ctx_signal_add(context, (uint64_t*)to, 1, pe); break;
    case 1: shmem_ctx_long_atomic_inc(context, to, pe); break;
    default: write_word(to, &now, pe);
  }
}

/* One block, the same; it may take several operations. */
static void write_block(long* to, const long* source, size_t n, int pe) {
  const size_t half = n / 2;
  switch (random_below(&dice, 5)) {
    case 0: shmem_ctx_long_put(context, to, source, n, pe); break;
    case 1: shmem_ctx_long_put_nbi(context, to, source, n, pe); break;
    case 2: shmem_ctx_long_iput(context, to, source, 1, 1, n, pe); break;
    case 3:
      shmem_ctx_long_put_nbi(context, to, source, half, pe);
      shmem_ctx_long_put(context, to + half, source + half, n - half, pe);
      break;
    default:
      for (size_t k = 0; k < n && k < 8; ++k) write_word(to + k, source + k, pe);
      if (n > 8) shmem_ctx_long_put_nbi(context, to + 8, source + 8, n - 8, pe);
  }
}

static void order(int pe) {
  switch (random_below(&dice, 6)) {
    case 0: shmem_ctx_quiet(context); break;
    case 1: shmem_ctx_pe_quiet(context, &pe, 1); break;
    default: shmem_ctx_fence(context);
  }
}

static long read_word(const long* from, int pe) {
  long got = 0;
  switch (random_below(&dice, 4)) {
    case 0: return shmem_ctx_long_g(context, from, pe);
    case 1: return shmem_ctx_long_atomic_fetch(context, from, pe);
    case 2: shmem_ctx_long_get(context, &got, from, 1, pe); break;
    default: shmem_ctx_long_get_nbi(context, &got, from, 1, pe), shmem_ctx_quiet(context);
  }
  return got;
}

static void await(long* flag) {
  if (random_below(&dice, 2)) {
    shmem_long_wait_until(flag, SHMEM_CMP_EQ, now);
  } else {
    while (!shmem_long_test(flag, SHMEM_CMP_EQ, now)) {
    }
  }
}

static void pass_messages(void) {
  int left_out[kInstances];
  for (int i = 0; i < kInstances; ++i) {
    write_block(data_of(i), fill(sources[i], i), (size_t)size_of(me, i), pe_after(1));
    left_out[i] = random_below(&dice, 4) == 0; /* one fence for several */
    if (left_out[i]) continue;
    order(pe_after(1));
    write_flag(flag_of(i), pe_after(1));
  }
  order(pe_after(1));
  for (int i = 0; i < kInstances; ++i)
    if (left_out[i]) write_flag(flag_of(i), pe_after(1));
}

static void receive_messages(void) {
  for (int i = 0; i < kInstances; ++i) {
    await(flag_of(i));
    check_data(data_of(i), pe_before(1), i);
  }
}

static void send_signals(void) {
  for (int i = 0; i < kInstances; ++i) {
    const long* source = fill(signal_sources[i], i);
    const size_t n = (size_t)size_of(me, i);
    const int adds = i % 2;
    uint64_t* signal = adds ? &words->added_signals : set_signal_of(i);
    const uint64_t value = adds ? 1 : (uint64_t)now;
    const int kind = adds ? SHMEM_SIGNAL_ADD : SHMEM_SIGNAL_SET;
    if (random_below(&dice, 2))
      shmem_ctx_long_put_signal(context, signaled_of(i), source, n, signal, value, kind, pe_after(1));
    else
      shmem_ctx_long_put_signal_nbi(context, signaled_of(i), source, n, signal, value, kind, pe_after(1));
  }
}

static void receive_signals(void) {
  for (int i = 0; i < kInstances; i += 2) {
    shmem_signal_wait_until(set_signal_of(i), SHMEM_CMP_EQ, (uint64_t)now);
    check_data(signaled_of(i), pe_before(1), i);
  }
  shmem_signal_wait_until(&words->added_signals, SHMEM_CMP_EQ, (uint64_t)now * (kInstances / 2));
  for (int i = 1; i < kInstances; i += 2) check_data(signaled_of(i), pe_before(1), i);
}

/* The owner looks while the writer writes; in its own words, so that both go on at the same time. */
static void write_one_word(long first) {
  for (long i = 0; i < 4; ++i) {
    const long value = first + i;
    if (random_below(&dice, 2))
      shmem_ctx_long_p(context, &words->word, value, pe_after(1));
    else
      shmem_ctx_long_atomic_set(context, &words->word, value, pe_after(1));
    shmem_ctx_fence(context);
  }
}

static void look_at_one_word(void) {
  static long last;
  for (int look = 0; look < 4; ++look) {
    const long got = *(volatile long*)&words->word;
    check_context("round %ld, one word", now);
    CHECK_CMP(got, >=, last);
    last = got;
  }
}

static void pass_on(void) {
  static long payload[kInstances];
  for (int i = 0; i < kInstances; ++i) {
    payload[i] = datum(me, i, 0);
    write_flag(&words->x[i], pe_after(1));
    write_word(&words->passed_data[i], &payload[i], pe_after(2));
  }
  shmem_ctx_quiet(context);
  for (int i = 0; i < kInstances; ++i) write_flag(&words->passed_first[i], pe_after(1));
  for (int i = 0; i < kInstances; ++i) {
    await(&words->x[i]);
    write_flag(&words->y[i], pe_after(1));
    await(&words->passed_first[i]);
    write_flag(&words->passed_second[i], pe_after(1));
  }
}

static void receive_what_is_passed_on(void) {
  for (int i = 0; i < kInstances; ++i) {
    await(&words->y[i]);
    check_context("round %ld, write to read, instance %d", now, i);
    CHECK_OF_PE(pe_before(1), read_word(&words->x[i], pe_before(1)), now);
    await(&words->passed_second[i]);
    check_context("round %ld, passed on, instance %d", now, i);
    CHECK_AT(words->passed_data, i, datum(pe_before(2), i, 0));
  }
}

/* Instances are played without fences and through them in turn. */
static int through_fences(int i) { return i % 2; }

static void write_independently(long* to, long* before, int i) {
  if (through_fences(i)) {
    write_word(before, &now, pe_after(1));
    shmem_ctx_fence(context);
  }
  write_flag(to, pe_after(1));
}

static long read_independently(const long* from, const long* before, int pe, int i) {
  const long got = read_word(from, pe);
  if (!through_fences(i)) return got;
  shmem_ctx_fence(context);
  if (got == now) {
    check_context("round %ld, independent reads through fences, instance %d", now, i);
    CHECK_OF_PE(pe, read_word(before, pe), now);
  }
  return got;
}

/* The part of instance i, of the one that begins at each PE: x is written at B, y at C; two others read. */
static void write_and_read_independently(int i) {
  const int by = 2 % npes, also_by = 3 % npes; /* how far behind A the readers are */
  write_independently(&words->independent_x[i], &words->before_x[i], i);
  if (!through_fences(i) && random_below(&dice, 4) == 0) shmem_ctx_quiet(context);
  /* Of the instance that begins at the PE before. */
  write_independently(&words->independent_y[i], &words->before_y[i], i);
  const int of_by = pe_before(by), of_also_by = pe_before(also_by);
  const int b = (of_by + 1) % npes, c = (of_by + 2) % npes;
  words->seen_x_first[i].x = read_independently(&words->independent_x[i], &words->before_x[i], b, i);
  words->seen_x_first[i].y = read_independently(&words->independent_y[i], &words->before_y[i], c, i);
  const int also_b = (of_also_by + 1) % npes, also_c = (of_also_by + 2) % npes;
  words->seen_y_first[i].y = read_independently(&words->independent_y[i], &words->before_y[i], also_c, i);
  words->seen_y_first[i].x = read_independently(&words->independent_x[i], &words->before_x[i], also_b, i);
}

/* After a barrier: what the readers of the instances that begin here have seen. */
static void compare_independent_reads(void) {
  for (int i = 0; i < kInstances; ++i) {
    long one[2], other[2];
    shmem_long_get(one, &words->seen_x_first[i].x, 2, pe_after(2));
    shmem_long_get(other, &words->seen_y_first[i].x, 2, pe_after(3));
    check_context("round %ld, independent reads%s, instance %d", now,
                  through_fences(i) ? " through fences" : "", i);
    const int x_was_first = one[0] == now && one[1] != now, y_was_first = other[1] == now && other[0] != now;
    CHECK(!(x_was_first && y_was_first));
  }
}

static void write_one_word_again_and_again(void) {
  for (int i = 0; i < kInstances; ++i) write_one_word(now * 4 * kInstances + 4 * i);
}

/* The second thread, which has a part in each round. */
static int has_helper, helped_enough;
static pthread_barrier_t begins, ends; /* of its part */

static void* help(void* seed) {
  dice.state = *(const uint64_t*)seed;
  for (;;) {
    pthread_barrier_wait(&begins);
    if (helped_enough) return NULL;
    send_signals();
    write_one_word_again_and_again();
    pthread_barrier_wait(&ends);
  }
}

static void play_a_round(void) {
  const long first = now * 4 * kInstances;
  if (has_helper) pthread_barrier_wait(&begins);
  pass_messages();
  if (!has_helper) send_signals();
  receive_messages();
  pass_on();
  receive_signals();
  for (int i = 0; i < kInstances; ++i) {
    if (!has_helper) write_one_word(first + 4 * i);
    look_at_one_word();
    write_and_read_independently(i);
  }
  receive_what_is_passed_on();
  if (has_helper) pthread_barrier_wait(&ends);
  shmem_ctx_quiet(context);
  shmem_barrier_all();
  compare_independent_reads();
  check_context("round %ld, one word", now);
  CHECK_EQ(words->word, first + 4 * kInstances - 1);
}

static int asked_for(int argc, char** argv, const char* what) {
  for (int i = 1; i < argc; ++i)
    if (strcmp(argv[i], what) == 0) return 1;
  return 0;
}

int main(int argc, char** argv) {
  int provided;
  shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
  CHECK_EQ(provided, SHMEM_THREAD_MULTIPLE);
  if (asked_for(argc, argv, "heap")) {
    words = shmem_calloc(1, sizeof *words);
    CHECK(words != NULL);
  }
  const int sessions = asked_for(argc, argv, "sessions");
  has_helper = asked_for(argc, argv, "threads");
  me = shmem_my_pe(), npes = shmem_n_pes();
  CHECK_CMP(npes, >=, 3);
  seed_dice(&dice);
  shmem_ctx_t own;
  CHECK_EQ(shmem_ctx_create(0, &own), 0);
  pthread_t helper;
  const uint64_t seed = dice.state + 500;
  if (has_helper) {
    pthread_barrier_init(&begins, NULL, 2);
    pthread_barrier_init(&ends, NULL, 2);
    CHECK_EQ(pthread_create(&helper, NULL, help, (void*)(uintptr_t)&seed), 0);
  }
  const double end = end_of_run(1);
  do {
    ++now;
    context = random_below(&dice, 2) ? own : SHMEM_CTX_DEFAULT;
    const int session = sessions && random_below(&dice, 4) != 0;
    if (session) shmem_ctx_session_start(context, SHMEM_CTX_SESSION_BATCH, NULL, 0);
    play_a_round();
    if (session) shmem_ctx_session_stop(context);
  } while (go_on(end)); /* with a barrier */
  if (me == 0) printf("%ld rounds, %ld litmus tests\n", now, now * kInstances * kTests * npes);
  if (has_helper) {
    helped_enough = 1;
    pthread_barrier_wait(&begins);
    pthread_join(helper, NULL);
  }
  shmem_ctx_destroy(own);
  shmem_finalize();
  return 0;
}
