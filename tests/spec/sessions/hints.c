/* SPDX-License-Identifier: BSD-3-Clause */
/* 63 64 65.  Sessions are hints: whatever is promised, data, order and completion are the same.  Random
 * operations towards the next PE, under sessions that come and go, against what one PE alone would have
 * written. */
#include <string.h>

#include "check.h"

enum { kWords = 512, kSteps = 3000, kRow = 200 };

static uint64_t words[kWords], model[kWords];
static uint64_t row[kRow], counter, flag, answer, fetched[kSteps], expected[kSteps];
static int fetches;

/* Any session may begin, or end, at any time. */
static void change_session(shmem_ctx_t ctx, Random* random) {
  static const size_t totals[] = {0, 1, 2, 50, SIZE_MAX};
  const shmem_ctx_session_config_t config = {totals[random_below(random, 5)]};
  const long options[] = {0, SHMEM_CTX_SESSION_BATCH, SHMEM_CTX_SESSION_BATCH, ~0L};
  const long chosen = options[random_below(random, 4)];
  switch (random_below(random, 4)) {
    case 0: shmem_ctx_session_stop(ctx); break;
    case 1: shmem_ctx_session_start(ctx, chosen, NULL, 0); break;
    case 2: shmem_ctx_session_start(ctx, chosen, &config, 0); break;
    default: shmem_ctx_session_start(ctx, chosen, &config, SHMEM_CTX_SESSION_TOTAL_OPS);
  }
}

static void fetch_later(shmem_ctx_t ctx, Random* random, size_t w, int pe) {
  const uint64_t value = next_random(random);
  expected[fetches] = model[w];
  shmem_ctx_uint64_atomic_fetch_add_nbi(ctx, &fetched[fetches], &words[w], value, pe);
  model[w] += value;
  ++fetches;
}

/* One operation on word w, or from it on. */
static void operate(shmem_ctx_t ctx, Random* random, size_t w, int pe) {
  const uint64_t value = next_random(random);
  uint64_t pair[2] = {value, ~value};
  switch (random_below(random, 9)) {
    case 0:
    case 1: shmem_ctx_uint64_p(ctx, &words[w], value, pe), model[w] = value; break;
    case 2: shmem_ctx_uint64_atomic_add(ctx, &words[w], value, pe), model[w] += value; break;
    case 3: shmem_ctx_uint64_atomic_xor(ctx, &words[w], value, pe), model[w] ^= value; break;
    case 4:
      CHECK_OF_PE(pe, shmem_ctx_uint64_atomic_swap(ctx, &words[w], value, pe), model[w]), model[w] = value;
      break;
    case 5: fetch_later(ctx, random, w, pe); break;
    case 6: /* both halves of a word, and the source is used again at once */
      shmem_ctx_putmem(ctx, &words[w], pair, 4, pe);
      shmem_ctx_putmem(ctx, (char*)&words[w] + 4, (char*)pair + 4, 4, pe);
      pair[0] = 0;
      model[w] = value;
      break;
    case 7:
      shmem_ctx_uint64_put_signal(ctx, &words[w], pair, 1, &counter, 1, SHMEM_SIGNAL_ADD, pe);
      model[w] = value;
      break;
    default:
      if (w + 3 > kWords) return;
      shmem_ctx_uint64_iput(ctx, &words[w], pair, 2, 1, 2, pe);
      model[w] = value, model[w + 2] = ~value;
  }
}

static void random_operations(shmem_ctx_t ctx, Random* random) {
  static char touched[kWords];
  const int pe = right_pe();
  for (int i = 0; i < kSteps / 3; ++i) {
    const size_t w = random_below(random, kWords);
    if (random_below(random, 10) == 0) change_session(ctx, random);
    /* Two operations on a word are ordered by a fence only. */
    if (touched[w] || (w + 2 < kWords && touched[w + 2])) {
      shmem_ctx_fence(ctx);
      memset(touched, 0, sizeof touched);
    }
    touched[w] = 1;
    if (w + 2 < kWords) touched[w + 2] = 1;
    operate(ctx, random, w, pe);
    if (random_below(random, 100) == 0) {
      shmem_ctx_pe_quiet(ctx, &pe, 1);
      CHECK_OF_PE(pe, shmem_uint64_g(&words[w], pe), model[w]);
    }
    if (random_below(random, 50) == 0) { /* too long to be packed */
      uint64_t many[kRow];
      for (int j = 0; j < kRow; ++j) many[j] = (uint64_t)i;
      shmem_ctx_uint64_put(ctx, row, many, kRow, pe);
      shmem_ctx_fence(ctx);
      shmem_ctx_uint64_p(ctx, &row[kRow - 1], (uint64_t)i + 1, pe);
      shmem_ctx_fence(ctx);
    }
  }
  shmem_ctx_quiet(ctx);
  for (int i = 0; i < fetches; ++i) CHECK_AT(fetched, i, expected[i]);
  fetches = 0;
  for (int i = 0; i < kWords; ++i) CHECK_FOR(i, shmem_uint64_g(&words[i], pe), model[i]);
}

/* The order of a flag after its data, and its arrival although nobody flushes, in both directions. */
static void ping_pong(shmem_ctx_t ctx, uint64_t round) {
  const int me = shmem_my_pe(), last = shmem_n_pes() - 1;
  if (me != 0 && me != last) return;
  const int peer = me == 0 ? last : 0;
  shmem_ctx_session_start(ctx, SHMEM_CTX_SESSION_BATCH, NULL, 0);
  for (uint64_t i = round * 100; i < round * 100 + 100; ++i) {
    if (me == 0) {
      shmem_ctx_uint64_p(ctx, &row[i % kRow], i, peer);
      shmem_ctx_fence(ctx);
      shmem_ctx_uint64_p(ctx, &flag, i + 1, peer);
      if (peer == me) continue;
      shmem_uint64_wait_until(&answer, SHMEM_CMP_EQ, i + 1);
    } else {
      if (i % 2) {
        shmem_uint64_wait_until(&flag, SHMEM_CMP_EQ, i + 1);
      } else {
        while (!shmem_uint64_test(&flag, SHMEM_CMP_EQ, i + 1)) continue;
      }
      CHECK_AT(row, i % kRow, i);
      shmem_ctx_uint64_atomic_inc(ctx, &answer, peer);
    }
  }
  shmem_ctx_session_stop(ctx);
}

/* 77: neither side calls the library again, and the put arrives. */
static void compute_alone(shmem_ctx_t ctx, uint64_t round) {
  shmem_barrier_all();
  shmem_ctx_session_start(ctx, SHMEM_CTX_SESSION_BATCH, NULL, 0);
  shmem_ctx_uint64_p(ctx, &counter, ~round, right_pe());
  while (__atomic_load_n(&counter, __ATOMIC_ACQUIRE) != ~round) continue;
  shmem_ctx_session_stop(ctx);
  shmem_barrier_all();
}

static void exercise(shmem_ctx_t ctx, Random* random, uint64_t round) {
  memset(words, 0, sizeof words);
  memset(model, 0, sizeof model);
  shmem_barrier_all();
  random_operations(ctx, random);
  shmem_ctx_session_stop(ctx);
  shmem_barrier_all();
  ping_pong(ctx, round);
  shmem_barrier_all();
  compute_alone(ctx, round);
}

int main(void) {
  shmem_init();
  Random random = {seed_of_run((uint64_t)time(NULL)) + (uint64_t)shmem_my_pe()};
  shmem_ctx_session_start(SHMEM_CTX_INVALID, SHMEM_CTX_SESSION_BATCH, NULL, 0);
  shmem_ctx_session_stop(SHMEM_CTX_INVALID);
  shmem_ctx_session_stop(SHMEM_CTX_DEFAULT); /* none has started */
  exercise(SHMEM_CTX_DEFAULT, &random, 0);
  const long options[] = {0, SHMEM_CTX_SERIALIZED, SHMEM_CTX_PRIVATE};
  for (uint64_t i = 0; i < 3; ++i) {
    shmem_ctx_t ctx;
    CHECK_FOR(i, shmem_ctx_create(options[i], &ctx), 0);
    exercise(ctx, &random, i + 1);
    /* One that is destroyed, or finalized, within a session completes first. */
    shmem_ctx_session_start(ctx, SHMEM_CTX_SESSION_BATCH, NULL, 0);
    shmem_ctx_uint64_p(ctx, &row[0], i + 77, right_pe());
    shmem_ctx_destroy(ctx);
    shmem_barrier_all();
    CHECK_EQ(row[0], i + 77);
    shmem_barrier_all();
  }
  shmem_ctx_session_start(SHMEM_CTX_DEFAULT, SHMEM_CTX_SESSION_BATCH, NULL, 0);
  shmem_uint64_p(&row[1], 99, right_pe());
  shmem_finalize();
  CHECK_EQ(row[1], 99);
  return 0;
}
