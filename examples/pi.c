/* SPDX-License-Identifier: BSD-3-Clause
 * Pi by Monte Carlo: PEs fetch batches of work from a shared counter, so that fast ones do more, and add
 * their hits to a shared sum.  Both are plain variables of PE 0, changed by atomics.
 *
 *   oshcc -O2 pi.c -o pi -lm && oshrun -n 4 ./pi [millions of points] */
#include <math.h>
#include <shmem.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { kBatch = 100000 };
static uint64_t next_batch, hits, batches_done;

/* splitmix64: a batch's points depend only on its number, so the result does not depend on who computes it.
 */
static double uniform(uint64_t* state) {
  uint64_t z = (*state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

int main(int argc, char** argv) {
  const uint64_t batches = (uint64_t)(argc > 1 ? atol(argv[1]) : 20) * 1000000 / kBatch;
  shmem_init();
  uint64_t mine = 0, batch;
  while ((batch = shmem_atomic_fetch_inc(&next_batch, 0)) < batches) {
    uint64_t state = batch << 32, inside = 0;
    for (int i = 0; i < kBatch; ++i) {
      const double x = uniform(&state), y = uniform(&state);
      inside += x * x + y * y < 1.0;
    }
    shmem_atomic_add(&hits, inside, 0);
    ++mine;
  }
  shmem_atomic_add(&batches_done, mine, 0);
  shmem_barrier_all();
  printf("PE %d computed %llu of %llu batches\n", shmem_my_pe(), (unsigned long long)mine,
         (unsigned long long)batches);
  int wrong = 0;
  if (shmem_my_pe() == 0) {
    const double pi = 4.0 * (double)hits / ((double)batches * kBatch);
    wrong = batches_done != batches || fabs(pi - 3.14159265358979) > 0.01;
    printf("pi is about %.6f, from %llu points\n", pi, (unsigned long long)batches * kBatch);
  }
  shmem_finalize();
  return wrong;
}
