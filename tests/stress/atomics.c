/* SPDX-License-Identifier: BSD-3-Clause */
/* All PEs send streams of atomics to all others at once: in bursts of one to thousands, which fetch nothing,
 * or later, or are waited for, on two contexts, while sessions come and go. In an epoch
 *
 * - all add to `sums`, of 64 and of 32 bits, and each keeps book of what it has added;
 * - each PE draws tickets from a word of its own on each PE, and gets each once;
 * - all swap numbers into `moved`: what has been stored and what came back make up for each other.
 *
 * ATOLL_STRESS_SECONDS says how long to go on; ATOLL_TEST_SEED repeats a run. */
#include <string.h>

#include "check.h"
#include "duration.h"

enum { kMostPes = 16, kSums = 64, kMoved = 3, kMostBurst = 2000, kMostDrawn = 4 * kMostBurst };

/* What others change. In the heap and in a variable; bursts choose. */
typedef struct {
  uint64_t sums[kSums];
  uint32_t narrow[kSums];
  uint64_t tickets[kMostPes], moved[kMoved];
} Words;

static Words variable;
static Words* places[2];
static uint64_t added[kMostPes], all_added[kMostPes]; /* to the sums of a PE, in this epoch: by me, by all */
static uint64_t balance[kMostPes], all_balance[kMostPes]; /* stored in `moved` of a PE, less what came back */
static shmem_ctx_t contexts[2];
static Random dice;
static int me, npes;

/* The tickets of a PE; whether a number has come. Drawn but not yet looked at: `drawn` numbers. */
static struct {
  uint64_t numbers[kMostDrawn];
  unsigned char came[kMostDrawn];
  size_t drawn;
} tickets[2][kMostPes];
static uint64_t swapped[kMostBurst];

static void add(shmem_ctx_t ctx, Words* at, int pe, size_t count) {
  const size_t spread = random_below(&dice, 2) == 0 ? 1 : kSums;
  for (size_t i = 0; i < count; ++i) {
    const size_t word = random_below(&dice, spread);
    const uint64_t value = random_below(&dice, 100);
    if (i % 4 == 3) shmem_ctx_uint32_atomic_add(ctx, &at->narrow[word], (uint32_t)value, pe);
    if (i % 4 != 3) shmem_ctx_uint64_atomic_add(ctx, &at->sums[word], value, pe);
    added[pe] += value;
  }
}

static void wait_for_each(shmem_ctx_t ctx, Words* at, int pe, size_t count) {
  for (size_t i = 0; i < count % 16; ++i) {
    uint64_t* word = &at->sums[random_below(&dice, kSums)];
    if (i % 2 == 0) {
      shmem_ctx_uint64_atomic_fetch_inc(ctx, word, pe);
    } else {
      uint64_t seen = shmem_ctx_uint64_atomic_fetch(ctx, word, pe), guess = ~seen;
      while (guess != seen)
        guess = seen, seen = shmem_ctx_uint64_atomic_compare_swap(ctx, word, guess, guess + 1, pe);
    }
    ++added[pe];
  }
}

static void draw(shmem_ctx_t ctx, int p, int pe, size_t count) {
  for (size_t i = 0; i < count && tickets[p][pe].drawn < kMostDrawn; ++i) {
    uint64_t* number = &tickets[p][pe].numbers[tickets[p][pe].drawn++];
    if (i % 2 == 0) shmem_ctx_uint64_atomic_fetch_inc_nbi(ctx, number, &places[p]->tickets[me], pe);
    if (i % 2 != 0) shmem_ctx_uint64_atomic_fetch_add_nbi(ctx, number, &places[p]->tickets[me], 1, pe);
  }
}

static void swap(shmem_ctx_t ctx, Words* at, int pe, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const uint64_t value = next_random(&dice);
    shmem_ctx_uint64_atomic_swap_nbi(ctx, &swapped[i], &at->moved[random_below(&dice, kMoved)], value, pe);
    balance[pe] += value;
  }
  if (random_below(&dice, 2) == 0)
    shmem_ctx_quiet(ctx);
  else
    shmem_ctx_pe_quiet(ctx, &pe, 1);
  for (size_t i = 0; i < count; ++i) balance[pe] -= swapped[i];
}

static void change_session(void) {
  const shmem_ctx_t ctx = contexts[random_below(&dice, 2)];
  const shmem_ctx_session_config_t config = {random_below(&dice, 5000)};
  switch (random_below(&dice, 3)) {
    case 0: shmem_ctx_session_stop(ctx); break;
    case 1:
      shmem_ctx_session_start(ctx, SHMEM_CTX_SESSION_BATCH, &config, SHMEM_CTX_SESSION_TOTAL_OPS);
      break;
    default: shmem_ctx_session_start(ctx, SHMEM_CTX_SESSION_BATCH, NULL, 0);
  }
}

static void operate(size_t bursts) {
  static const size_t most[] = {2, 20, 20, 200, kMostBurst};
  for (size_t i = 0; i < bursts; ++i) {
    const shmem_ctx_t ctx = contexts[random_below(&dice, 2)];
    const int p = (int)random_below(&dice, 2), pe = (int)random_below(&dice, (size_t)npes);
    const size_t count = 1 + random_below(&dice, most[random_below(&dice, 5)]);
    switch (random_below(&dice, 8)) {
      case 0: change_session(); break;
      case 1: wait_for_each(ctx, places[p], pe, count); break;
      case 2: draw(ctx, p, pe, count); break;
      case 3: swap(ctx, places[p], pe, count / 2); break;
      case 4: shmem_ctx_fence(ctx); break;
      default: add(ctx, places[p], pe, count);
    }
  }
}

static void verify_tickets(int p) {
  for (int pe = 0; pe < npes; ++pe) {
    const size_t drawn = tickets[p][pe].drawn;
    memset(tickets[p][pe].came, 0, drawn);
    for (size_t i = 0; i < drawn; ++i) {
      CHECK_CMP_AT(tickets[p][pe].numbers, i, <, drawn);
      CHECK_FOR(i, tickets[p][pe].came[tickets[p][pe].numbers[i]]++, 0);
    }
    tickets[p][pe].drawn = 0;
  }
}

/* All PEs have completed what they did. */
static void verify(void) {
  uint64_t sum = 0, left = 0;
  for (int p = 0; p < 2; ++p) {
    verify_tickets(p);
    for (int i = 0; i < kSums; ++i) sum += places[p]->sums[i] + places[p]->narrow[i];
    for (int i = 0; i < kMoved; ++i) left += places[p]->moved[i];
  }
  shmem_uint64_sum_reduce(SHMEM_TEAM_WORLD, all_added, added, kMostPes);
  shmem_uint64_sum_reduce(SHMEM_TEAM_WORLD, all_balance, balance, kMostPes);
  CHECK_EQ(sum, all_added[me]);
  CHECK_EQ(left, all_balance[me]);
  for (int p = 0; p < 2; ++p) memset(places[p], 0, sizeof *places[p]);
  memset(added, 0, sizeof added), memset(balance, 0, sizeof balance);
}

int main(void) {
  shmem_init();
  me = shmem_my_pe(), npes = shmem_n_pes();
  CHECK_CMP(npes, <=, kMostPes);
  seed_dice(&dice);
  places[0] = &variable, places[1] = shmem_calloc(1, sizeof(Words));
  contexts[0] = SHMEM_CTX_DEFAULT;
  CHECK_EQ(shmem_ctx_create(0, &contexts[1]), 0);
  const double end = end_of_run(1);
  int epochs = 0;
  do {
    operate(1 + random_below(&dice, 30));
    shmem_ctx_quiet(contexts[1]);
    if (epochs % 2 == 0) shmem_quiet();
    shmem_barrier_all(); /* completes the default context, too */
    verify();
    ++epochs;
  } while (go_on(end)); /* with a barrier */
  if (me == 0) printf("%d epochs\n", epochs);
  shmem_ctx_destroy(contexts[1]);
  shmem_finalize();
  return 0;
}
