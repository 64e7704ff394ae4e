/* SPDX-License-Identifier: BSD-3-Clause */
/* Preloaded into shmem_bench: operations that go wrong in a PE, as WRONG in the environment says; atomics do
 * so once. */
#include <pshmem.h>
#include <stdlib.h>
#include <string.h>

enum { kTurn = 50 };

/* Whether this call is the one to go wrong. */
static int turn(const char* what) {
  static long calls;
  const char* wanted = getenv("WRONG");
  return wanted != NULL && strcmp(wanted, what) == 0 && ++calls == kTurn;
}

void shmem_uint64_atomic_add(uint64_t* dest, uint64_t value, int pe) {
  if (!turn("lost")) pshmem_uint64_atomic_add(dest, value, pe);
}

uint64_t shmem_uint64_atomic_fetch_add(uint64_t* dest, uint64_t value, int pe) {
  const uint64_t old = pshmem_uint64_atomic_fetch_add(dest, value, pe);
  return turn("fetched") ? old + 1 : old;
}

void shmem_uint64_atomic_fetch_add_nbi(uint64_t* fetch, uint64_t* dest, uint64_t value, int pe) {
  if (turn("twice")) pshmem_uint64_atomic_add(dest, value, pe);
  pshmem_uint64_atomic_fetch_add_nbi(fetch, dest, value, pe);
}

uint64_t shmem_uint64_atomic_compare_swap(uint64_t* dest, uint64_t cond, uint64_t value, int pe) {
  if (turn("swapped")) pshmem_uint64_atomic_swap(dest, 7, pe);
  return pshmem_uint64_atomic_compare_swap(dest, cond, value, pe);
}

static int wrong(const char* what) {
  const char* wanted = getenv("WRONG");
  return wanted != NULL && strcmp(wanted, what) == 0;
}

void shmem_getmem(void* dest, const void* source, size_t bytes, int pe) {
  pshmem_getmem(dest, source, bytes, pe);
  if (wrong("got")) ((char*)dest)[bytes / 2 / 4096 * 4096] ^= 1;
}

/* Single bytes and 4 KiB are what is measured; all else is preparation. */
void shmem_putmem(void* dest, const void* source, size_t bytes, int pe) {
  if (wrong("forgotten") && bytes == 1) return;
  pshmem_putmem(dest, source, wrong("stale") && bytes == 4096 ? bytes - 8 : bytes, pe);
}
