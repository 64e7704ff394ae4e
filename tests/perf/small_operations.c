/* SPDX-License-Identifier: BSD-3-Clause */
/* What small operations between nodes bring in streams, and take alone.  Even PEs act on the next PE, which
 * is on another (virtual) node; the others wait inside the library.
 *
 * usage: oshrun -n 2 --virtual-nodes 2 small_operations
 *        oshrun -n 8 --virtual-nodes 2:cyclic small_operations     four pairs
 *
 * Output: lines "name value unit".  Rates are those of all pairs, the best of kRepeats; latencies, of the
 * first pair while the others wait, are medians. */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>

#include "metric.h"

enum { kRepeats = 5, kPings = 300, kStream = 20000, kElements = 4096, kLong = 8192 };

static long words[kElements * 2], local[kElements * 2];
static char bytes[kLong], source[kLong];
static uint64_t signal_word, sent;
static long done;
static double seconds_of, slowest; /* symmetric: the slowest pair counts */
static int target;

static int by_time(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

typedef void (*Work)(int i);

static void p(int i) { shmem_long_p(&words[i % kElements], i, target); }
static void put_nbi(int i) { shmem_long_put_nbi(&words[i % kElements], &local[i % kElements], 1, target); }
static void get_nbi(int i) { shmem_long_get_nbi(&local[i % kElements], &words[i % kElements], 1, target); }
static void put_bytes(int i, size_t n) {
  source[0] = (char)i;
  shmem_putmem(bytes, source, n, target);
}
static void put_256(int i) { put_bytes(i, 256); }
static void put_512(int i) { put_bytes(i, 512); }
static void put_1024(int i) { put_bytes(i, 1024); }
static void put_2048(int i) { put_bytes(i, 2048); }
static void put_4096(int i) { put_bytes(i, 4096); }
static void put_8192(int i) { put_bytes(i, 8192); }
static void put_signal(int i) {
  shmem_long_put_signal(&words[i % kElements], &local[0], 1, &signal_word, (uint64_t)i, SHMEM_SIGNAL_SET,
                        target);
}
static void put_signal_nbi(int i) {
  shmem_long_put_signal_nbi(&words[i % kElements], &local[0], 1, &signal_word, 1, SHMEM_SIGNAL_ADD, target);
}
static void add(int i) { shmem_long_atomic_add(&words[i % kElements], 1, target); }
static void iput(int i) { shmem_long_iput(words, local, 2, 2, kElements - (size_t)(i & 1), target); }
static void iget(int i) { shmem_long_iget(local, words, 2, 2, kElements - (size_t)(i & 1), target); }

static void put_quiet(int i) {
  shmem_long_p(words, i, target);
  shmem_quiet();
}
static void put_2048_quiet(int i) {
  put_2048(i);
  shmem_quiet();
}
static void put_4096_quiet(int i) {
  put_4096(i);
  shmem_quiet();
}
static void get(int i) { local[0] += shmem_long_g(words, target) + i; }
static void fetch_add(int i) { local[0] += shmem_long_atomic_fetch_add(words, i, target); }
/* The other PE answers in be_target(). */
static void round_trip(int i) {
  (void)i;
  ++sent;
  shmem_uint64_atomic_set(&signal_word, sent, target);
  shmem_signal_wait_until(&signal_word, SHMEM_CMP_EQ, sent);
}

static double time_of(Work work, int count) {
  const double start = now();
  for (int i = 0; i < count; i++) work(i);
  shmem_quiet();
  return now() - start;
}

/* `each` operations a call. */
static void stream(const char* name, Work work, int count, double each, int acts) {
  double best = 0;
  for (int r = -1; r < kRepeats; r++) {
    shmem_barrier_all();
    if (acts) seconds_of = time_of(work, count);
    shmem_double_max_reduce(SHMEM_TEAM_WORLD, &slowest, &seconds_of, 1);
    if (r >= 0 && (best == 0 || slowest < best)) best = slowest;
  }
  if (shmem_my_pe() == 0) {
    printf("%s %.3f M/s\n", name, count * each * (shmem_n_pes() / 2) / best * 1e-6);
    fflush(stdout);
  }
}

static void latency(const char* name, Work work) {
  double t[kRepeats];
  for (int r = 0; r < kRepeats; r++) t[r] = time_of(work, kPings);
  qsort(t, kRepeats, sizeof *t, by_time);
  printf("%s %.3f us\n", name, t[kRepeats / 2] / kPings * 1e6);
  fflush(stdout);
}

int main(void) {
  shmem_init();
  const int me = shmem_my_pe(), n = shmem_n_pes();
  if (n % 2 != 0) {
    if (me == 0) fprintf(stderr, "small_operations: needs an even number of PEs\n");
    shmem_global_exit(2);
  }
  const int acts = me % 2 == 0;
  target = acts ? me + 1 : me - 1;
  for (int i = 0; i < kElements * 2; i++) local[i] = i;
  shmem_barrier_all();
  if (me == 0) {
    latency("put_quiet", put_quiet);
    latency("put_2048_quiet", put_2048_quiet);
    latency("put_4096_quiet", put_4096_quiet);
    latency("get", get);
    latency("fetch_add", fetch_add);
    latency("signal_round_trip", round_trip);
    shmem_long_p(&done, 1, 1);
  } else if (me == 1) {
    for (uint64_t i = 1; i <= kRepeats * kPings; i++) {
      shmem_signal_wait_until(&signal_word, SHMEM_CMP_EQ, i);
      shmem_uint64_atomic_set(&signal_word, i, target);
    }
    shmem_long_wait_until(&done, SHMEM_CMP_EQ, 1);
  }
  stream("p", p, kStream, 1, acts);
  stream("put_nbi", put_nbi, kStream, 1, acts);
  stream("get_nbi", get_nbi, kStream, 1, acts);
  stream("put_256", put_256, kStream / 4, 1, acts);
  stream("put_512", put_512, kStream / 4, 1, acts);
  stream("put_1024", put_1024, kStream / 4, 1, acts);
  stream("put_2048", put_2048, kStream / 4, 1, acts);
  stream("put_4096", put_4096, kStream / 4, 1, acts);
  stream("put_8192", put_8192, kStream / 4, 1, acts);
  stream("put_signal", put_signal, kStream, 1, acts);
  stream("put_signal_nbi", put_signal_nbi, kStream, 1, acts);
  stream("iput", iput, 4, kElements, acts);
  stream("iget", iget, 4, kElements, acts);
  stream("atomic_add", add, kStream, 1, acts);
  shmem_finalize();
  return 0;
}
