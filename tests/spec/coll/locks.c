/* SPDX-License-Identifier: BSD-3-Clause */
/* Locks: mutual exclusion, order of service, no waiting in test_lock, completion in clear_lock (semantics
 * 130, 131). */
#include "coll_check.h"

static long static_lock, order_lock;
static long counter, turns, ticket;
static int me, np;

/* Only the holder reads, then writes, a counter on PE 0. */
static void test_exclusion(long* lock, int rounds) {
  counter = 0;
  shmem_barrier_all();
  for (int i = 0; i < rounds; ++i) {
    if ((i + me) % 3 == 0) {
      while (shmem_test_lock(lock) != 0) {
      }
    } else {
      shmem_set_lock(lock);
    }
    const long now = shmem_long_g(&counter, 0);
    if (i % 16 == me) usleep(50);
    shmem_long_p(&counter, now + 1, 0); /* Semantics 131: complete when the next one has the lock */
    shmem_clear_lock(lock);
  }
  shmem_barrier_all();
  if (me == 0) CHECK_EQ(counter, (long)rounds * np);
  CHECK_EQ(*lock, 0); /* nobody has it */
  shmem_barrier_all();
}

/* White box: one more than the PE that queued up last, which the lock's home keeps in the low half of the
 * word. */
static int last_in_queue(const long* lock) {
  int last = 0;
  for (int pe = 0; pe < np; ++pe) last |= shmem_int_atomic_fetch((const int*)lock, pe);
  return last;
}

/* The holder keeps the lock until the others have queued up one after the other: they are served in that
 * order. */
static void test_order(long* lock) {
  static long served[64];
  turns = ticket = 0;
  shmem_barrier_all();
  if (me == 0) shmem_set_lock(lock);
  shmem_barrier_all();
  if (me == 0) {
    for (int pe = 1; pe < np; ++pe) {
      shmem_long_p(&ticket, 1, pe);
      while (last_in_queue(lock) != pe + 1) {
      }
    }
    CHECK_EQ(shmem_test_lock(&static_lock), 0); /* another lock is free */
    shmem_clear_lock(&static_lock);
    shmem_clear_lock(lock);
  } else {
    shmem_long_wait_until(&ticket, SHMEM_CMP_EQ, 1);
    CHECK_EQ(shmem_test_lock(lock), 1); /* Semantics 130: held elsewhere, no waiting */
    shmem_set_lock(lock);
    served[0] = shmem_long_atomic_fetch_inc(&turns, 0) + 1;
    shmem_clear_lock(lock);
    CHECK_EQ(served[0], me);
  }
  shmem_barrier_all();
}

int main(void) {
  bound_time(120);
  shmem_init();
  me = shmem_my_pe();
  np = shmem_n_pes();
  long* locks = shmem_calloc(9, sizeof(long));
  test_exclusion(&static_lock, 300);
  for (int i = 0; i < 9; ++i) test_exclusion(locks + i, 40); /* also other homes */
  test_order(&order_lock);
  for (int i = 0; i < 2; ++i) test_order(locks + i); /* on the heap, with other homes */
  shmem_free(locks);
  shmem_finalize();
  return 0;
}
