/* SPDX-License-Identifier: BSD-3-Clause */
/* The machine's own limit for the metrics of onnode.c: processes that share one mapping, plain loads, stores
 * and lock-prefixed instructions, each through a call of a function that is not inlined.  Same names, same
 * units.
 *
 * usage: machine [ITERATIONS [PROCESSES]] */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "metric.h"

enum { kBig = 16 << 20, kMiB = 1 << 20, kFlagStride = 16 };

static int me, processes = 2;
static long sum, epoch;
static char *shared, *local;
static _Atomic long* flags; /* one cache line a process */

static void barrier(void) {
  epoch++;
  if (me == 0) {
    for (int i = 1; i < processes; i++) {
      while (atomic_load_explicit(flags + i * kFlagStride, memory_order_acquire) < epoch) {
      }
    }
    atomic_store_explicit(flags, epoch, memory_order_release);
  } else {
    atomic_store_explicit(flags + me * kFlagStride, epoch, memory_order_release);
    while (atomic_load_explicit(flags, memory_order_acquire) < epoch) {
    }
  }
}

#define CALLED __attribute__((noinline)) static
CALLED void store(volatile long* p, long v) { *p = v; }
CALLED long load(volatile long* p) { return *p; }
CALLED long fetch_add(_Atomic long* p, long v) { return atomic_fetch_add(p, v); }
CALLED int compare_swap(_Atomic long* p, long c, long v) { return atomic_compare_exchange_strong(p, &c, v); }

#define SOLO(ITERATIONS, BODY) BEST_OF(ITERATIONS, me == 0, barrier(), (void)0, BODY)
#define EVERY(ITERATIONS, BODY) BEST_OF(ITERATIONS, 1, barrier(), (void)0, BODY)
#define FULL_FENCE() atomic_thread_fence(memory_order_seq_cst)
#define KEEP() __asm__ volatile("" ::: "memory")

static void ns(const char* name, double seconds) { report(me, name, seconds * 1e9, "ns"); }

static void loads_and_stores(long n) {
  long* words = (long*)shared;
  ns("put8_quiet", SOLO(n, store(words, i); FULL_FENCE()));
  ns("put8_stream", SOLO(n, store(words + (i & 1023), i)));
  ns("putmem_64B_quiet", SOLO(n, memcpy(shared + (i & 1) * 64, local, 64); FULL_FENCE()));
  ns("putmem_4KB_quiet", SOLO(n / 4 + 1, memcpy(shared, local, 4096); FULL_FENCE()));
  ns("get8", SOLO(n, sum += load(words)));
  ns("getmem_4KB", SOLO(n / 4 + 1, memcpy(local, shared, 4096); KEEP()));
  ns("put8_static", SOLO(n, store(words, i); FULL_FENCE()));
  report(me, "put_bw_1MB", kMiB / SOLO(200, memcpy(shared, local, kMiB); KEEP()) / 1e9, "GB/s");
  report(me, "get_bw_1MB", kMiB / SOLO(200, memcpy(local, shared, kMiB); KEEP()) / 1e9, "GB/s");
}

static void atomics(long n) {
  _Atomic long* words = (_Atomic long*)(void*)shared;
  ns("fadd", SOLO(n, sum += fetch_add(words, 1)));
  ns("add_stream", SOLO(n, sum += fetch_add(words + (i & 4095), 1)));
  ns("cswap", SOLO(n, sum += compare_swap(words, i, i + 1)));
  ns("fadd_static", SOLO(n, sum += fetch_add(words, 1)));
  unsigned long x = 88172645463325252UL + (unsigned long)me * 7919;
  const double add = EVERY(n, {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    fetch_add(words + (x & 65535) + ((x >> 20) % (unsigned)processes) * 65536, 1);
  });
  report(me, "gups_add_all", processes / add / 1e6, "Mupd/s");
  report(me, "hotspot_fadd_all", processes / EVERY(n, sum += fetch_add(words, 1)) / 1e6, "Mupd/s");
}

static void ping_pong(void) {
  _Atomic long *to = flags + 1024 + (me == 0 ? 0 : kFlagStride),
               *from = flags + 1024 + (me == 0 ? kFlagStride : 0);
  long turn = 0;
  const double round = BEST_OF(5000, me < 2, barrier(), (void)0, {
    turn++;
    if (me == 0) atomic_store_explicit(to, turn, memory_order_release);
    while (atomic_load_explicit(from, memory_order_acquire) < turn) {
    }
    if (me == 1) atomic_store_explicit(to, turn, memory_order_release);
  });
  ns("pingpong_8B_oneway", round / 2);
}

static void* map(size_t size) {
  return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

int main(int argc, char** argv) {
  const long n = argc > 1 ? atol(argv[1]) : 20000;
  if (argc > 2) processes = atoi(argv[2]);
  shared = map(kBig);
  flags = map(kMiB);
  memset(shared, 0, kBig);
  for (int i = 1; i < processes; i++) {
    if (fork() == 0) {
      me = i;
      break;
    }
  }
  local = malloc(kBig);
  memset(local, 2, kBig);
  loads_and_stores(n);
  atomics(n);
  report(me, "barrier_all", EVERY(2000, barrier()) * 1e6, "us");
  if (processes > 1) ping_pong();
  if (sum == 42) printf("\n");
  while (me == 0 && wait(NULL) > 0) {
  }
  free(local);
  return 0;
}
