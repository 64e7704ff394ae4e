/* SPDX-License-Identifier: BSD-3-Clause */
/* What programs of several PEs have in common beside checks (check.h includes it): repeatable random numbers,
 * how often to repeat, time, and neighbours in a ring. */
#ifndef HELPERS_H
#define HELPERS_H

#include <shmem.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* A random sequence that is the same for the same seed (splitmix64). */
typedef struct {
  uint64_t state;
} Random;

static inline uint64_t next_random(Random* random) {
  uint64_t z = (random->state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/* A number from 0 to limit - 1. */
static inline size_t random_below(Random* random, size_t limit) {
  return (size_t)(next_random(random) % limit);
}

static inline void fill_random(Random* random, void* bytes, size_t n) {
  for (size_t i = 0; i < n; ++i) ((unsigned char*)bytes)[i] = (unsigned char)next_random(random);
}

/* The seed of a run, the same on all PEs: ATOLL_TEST_SEED, else `standard`.  PE 0 prints it. */
static inline uint64_t seed_of_run(uint64_t standard) {
  const char* text = getenv("ATOLL_TEST_SEED");
  const uint64_t seed = text != NULL ? strtoull(text, NULL, 10) : standard;
  if (shmem_my_pe() == 0) printf("ATOLL_TEST_SEED=%llu\n", (unsigned long long)seed);
  return seed;
}

/* Into how many nodes the PEs are split, neighbours on each: virtual ones, on each of the hosts that
 * ATOLL_TEST_HOSTS counts (tests/multi_host/hosts.py). */
static inline int nodes_of_run(void) {
  const char* hosts = getenv("ATOLL_TEST_HOSTS");
  const char* virtual_nodes = getenv("SHMEM_VIRTUAL_NODES");
  const int each = virtual_nodes != NULL ? atoi(virtual_nodes) : 1;
  return (hosts != NULL ? atoi(hosts) : 1) * (each > 1 ? each : 1);
}

/* How often to repeat something: less often where the PEs reach each other only over the network, and with a
 * sanitizer, which looks at each line. */
static inline int rounds(int on_node, int over_network) {
  const int times = nodes_of_run() > 1 ? over_network : on_node;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return times / 4 > 2 ? times / 4 : times < 2 ? times : 2;
#else
  return times;
#endif
}

static inline double now_seconds(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* The next and the previous PE in a ring. */
static inline int right_pe(void) { return (shmem_my_pe() + 1) % shmem_n_pes(); }
static inline int left_pe(void) { return (shmem_my_pe() + shmem_n_pes() - 1) % shmem_n_pes(); }

#endif
