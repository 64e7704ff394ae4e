/* SPDX-License-Identifier: BSD-3-Clause */
/* Semantics 106-110: litmus tests of fence, quiet and pe_quiet, in both directions at once. */
#include <string.h>

#include "check.h"
#include "packed_limit.h"

enum { kWords = 2 * kPackedUpTo / 8 }; /* half of the payloads are packed, half are not */

static long payload[kWords], flag, answer;

static void send(long i, int size) {
  long source[kWords];
  for (int k = 0; k < size; ++k) source[k] = i * 10000 + k;
  shmem_long_put(payload, source, (size_t)size, right_pe());
}

static void receive(long i, int size) {
  shmem_long_wait_until(&flag, SHMEM_CMP_GE, i);
  for (int k = 0; k < size; ++k) CHECK_AT(payload, k, i * 10000 + k);
  shmem_long_p(&answer, i, left_pe());
  shmem_long_wait_until(&answer, SHMEM_CMP_GE, i);
}

/* Semantics 106: payload, fence, flag; the flag is a put, an atomic or a put of a whole array. */
static void test_fence(void) {
  const int times = rounds(4000, 150);
  for (long i = 1; i <= times; ++i) {
    const int size = 1 + (int)(i * 13 % kWords);
    send(i, size);
    shmem_fence();
    if (i % 3 == 0) shmem_long_p(&flag, i, right_pe());
    if (i % 3 == 1) shmem_long_put_nbi(&flag, &i, 1, right_pe());
    if (i % 3 == 2) shmem_long_atomic_set(&flag, i, right_pe());
    receive(i, size);
    shmem_quiet();
  }
  shmem_barrier_all();
}

/* Semantics 107, 109: after quiet a third PE sees it too. */
static void test_quiet_is_seen_by_all(void) {
  const int times = rounds(2000, 100), n = shmem_n_pes();
  const int third = (shmem_my_pe() + 2) % n;
  static long data[64], note[64];
  const int me = shmem_my_pe(), teller = (me + n - 2) % n, owner = (teller + 1) % n;
  for (long i = 1; i <= times; ++i) {
    shmem_long_p(&data[me], i, right_pe());
    shmem_quiet();
    shmem_long_p(&note[me], i, third); /* tells the third that the second has it */
    shmem_long_wait_until(&note[teller], SHMEM_CMP_GE, i);
    CHECK_CMP(shmem_long_g(&data[teller], owner), >=, i);
  }
  shmem_barrier_all();
}

static void test_pe_quiet(void) { /* Semantics 108 */
  static long data[64];
  const int n = shmem_n_pes(), me = shmem_my_pe();
  int* pes = malloc(2 * (size_t)n * sizeof *pes);
  for (int pe = 0; pe < 2 * n; ++pe) pes[pe] = pe % n; /* each twice */
  shmem_pe_quiet(NULL, 0);
  for (long i = 1; i <= rounds(500, 50); ++i) {
    long back[64];
    for (int pe = 0; pe < n; ++pe) shmem_long_p(&data[me], i, pe);
    shmem_pe_quiet(pes, 2 * (size_t)n);
    for (int pe = 0; pe < n; ++pe) CHECK_OF_PE(pe, shmem_long_g(&data[me], pe), i);
    for (int pe = 0; pe < n; ++pe) shmem_long_get_nbi(&back[pe], &data[me], 1, pe);
    shmem_pe_quiet(pes, (size_t)n);
    for (int pe = 0; pe < n; ++pe) CHECK_AT(back, pe, i);
    /* what nonblocking atomics fetch is there, too */
    for (int pe = 0; pe < n; ++pe) shmem_long_atomic_fetch_add_nbi(&back[pe], &data[me], 1, pe);
    shmem_pe_quiet(pes, (size_t)n);
    for (int pe = 0; pe < n; ++pe) CHECK_AT(back, pe, i);
    for (int pe = 0; pe < n; ++pe) CHECK_OF_PE(pe, shmem_long_g(&data[me], pe), i + 1);
    for (int pe = 0; pe < n; ++pe) shmem_long_atomic_set(&data[me], i, pe);
    shmem_pe_quiet(pes, (size_t)n);
    const int one = (int)(i % n);
    shmem_long_atomic_add(&data[me], 5, one);
    shmem_ctx_pe_quiet(SHMEM_CTX_DEFAULT, &one, 1);
    CHECK_EQ(shmem_long_g(&data[me], one), i + 5);
  }
  free(pes);
  shmem_barrier_all();
}

static void test_barriers(void) { /* Semantics 110 */
  static long words[64];
  const int n = shmem_n_pes(), me = shmem_my_pe();
  for (long i = 1; i <= rounds(3000, 150); ++i) {
    for (int pe = 0; pe < n; ++pe) shmem_long_p(&words[me], i, pe);
    if (i % 2 == 0) shmem_barrier_all();
    if (i % 2 != 0) {
      shmem_quiet();
      shmem_sync_all();
    }
    for (int pe = 0; pe < n; ++pe) CHECK_AT(words, pe, i);
    shmem_sync_all();
  }
  /* sync alone: plain stores to my own memory are there for those who come out of it */
  for (long i = 1; i <= rounds(1000, 100); ++i) {
    words[me] = -i;
    shmem_sync_all();
    CHECK_EQ(shmem_long_g(&words[right_pe()], right_pe()), -i);
    shmem_sync_all();
  }
}

/* Both write, complete, and read the other's: one of them must see the other's write. */
static void test_store_buffering(void) {
  static long mine[2], seen;
  if (shmem_n_pes() < 2) return;
  for (int i = 1; i <= rounds(3000, 100); ++i) {
    mine[0] = 0;
    shmem_barrier_all();
    if (shmem_my_pe() < 2) {
      shmem_long_p(&mine[0], 1, 1 - shmem_my_pe());
      shmem_quiet();
      seen = shmem_long_g(&mine[0], shmem_my_pe());
    }
    shmem_barrier_all();
    if (shmem_my_pe() == 0) CHECK_CMP(seen + shmem_long_g(&seen, 1), >=, 1);
    shmem_barrier_all();
  }
}

int main(void) {
  shmem_init();
  shmem_fence(), shmem_quiet(); /* with nothing to do */
  test_fence();
  test_quiet_is_seen_by_all();
  test_pe_quiet();
  test_barriers();
  test_store_buffering();
  shmem_finalize();
  return 0;
}
