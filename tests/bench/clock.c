/* SPDX-License-Identifier: BSD-3-Clause */
/* Preloaded into shmem_bench: its clock goes on by so much with each look at it, whatever the time is, so
 * that all figures it reports are known.  CLOCK=<n>:<a>,<b>,...: by a milliseconds with each of n looks, then
 * by b, and so on in a circle; PE p's by p + 1 times as much.  The library's own clock is as ever. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pshmem.h>
#include <stdlib.h>
#include <string.h>

enum { kMost = 16 };

/* Milliseconds by which the clock goes on. */
static int64_t step(void) {
  static int64_t lengths[kMost], count, each, looks;
  if (count == 0) {
    char* at = getenv("CLOCK");
    if (at == NULL) abort();
    for (each = strtol(at, &at, 10); *at != '\0' && count < kMost;)
      lengths[count++] = strtol(at + 1, &at, 10);
  }
  return lengths[looks++ / each % count] * (pshmem_my_pe() + 1);
}

/* std::chrono::steady_clock::now() */
int64_t steady_now(void) __asm__("_ZNSt6chrono3_V212steady_clock3nowEv");

int64_t steady_now(void) {
  static int64_t (*real)(void);
  static int64_t now;
  Dl_info caller;
  if (dladdr(__builtin_return_address(0), &caller) != 0 && strstr(caller.dli_fname, "shmem_bench") != NULL)
    return now += step() * 1000000;
  if (real == NULL) *(void**)&real = dlsym(RTLD_NEXT, "_ZNSt6chrono3_V212steady_clock3nowEv");
  return real();
}
