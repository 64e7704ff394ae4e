/* SPDX-License-Identifier: BSD-3-Clause */
/* Preloaded into shmem_bench: operations that go wrong in a PE, as WRONG in the environment says; atomics do
 * so once. */
#include <pshmem.h>
#include <pshmemx.h>
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

void shmem_getmem_nbi(void* dest, const void* source, size_t bytes, int pe) {
  pshmem_getmem_nbi(dest, wrong("got_other") ? (const char*)source + 1 : source, bytes - wrong("got_other"), pe);
}

int shmem_long_sum_reduce(shmem_team_t team, long* dest, const long* source, size_t nelems) {
  const int failed = pshmem_long_sum_reduce(team, dest, source, nelems);
  if (wrong("sum")) ++dest[nelems - 1];
  return failed;
}

void shmem_long_p(long* dest, long value, int pe) {
  if (!turn("kept")) pshmem_long_p(dest, value, pe);
}

int shmem_test_lock(long* lock) { return wrong("taken") ? 0 : pshmem_test_lock(lock); }

/* Single bytes and 4 KiB are what is measured; all else is preparation. */
void shmem_putmem(void* dest, const void* source, size_t bytes, int pe) {
  if (wrong("short")) --bytes;
  if (wrong("forgotten") && bytes == 1) return;
  pshmem_putmem(dest, source, wrong("stale") && bytes == 4096 ? bytes - 8 : bytes, pe);
}

int shmemx_kv_get(shmemx_kv_t kv, const void* key, size_t key_bytes, void* val, size_t room,
                  size_t* value_bytes) {
  const int status = pshmemx_kv_get(kv, key, key_bytes, val, room, value_bytes);
  if (status == SHMEMX_KV_OK && turn("kv_got")) ((char*)val)[room - 1] ^= 1;
  return status == SHMEMX_KV_NOT_FOUND && turn("kv_found") ? SHMEMX_KV_OK : status;
}

int shmemx_kv_insert(shmemx_kv_t kv, const void* key, size_t key_bytes, const void* val, size_t value_bytes) {
  if (turn("kv_lost")) return SHMEMX_KV_OK;
  return pshmemx_kv_insert(kv, key, key_bytes, val, value_bytes);
}

int shmemx_kv_update(shmemx_kv_t kv, const void* key, size_t key_bytes, const void* val, size_t value_bytes) {
  if (turn("kv_stale")) return SHMEMX_KV_OK;
  return pshmemx_kv_update(kv, key, key_bytes, val, value_bytes);
}

int shmemx_kv_get_batch(shmemx_kv_t kv, size_t count, const void* keys, size_t key_bytes, void* values,
                        size_t room, size_t* value_bytes, int* status) {
  const int first = pshmemx_kv_get_batch(kv, count, keys, key_bytes, values, room, value_bytes, status);
  if (wrong("kv_batch")) ((char*)values)[(count - 1) * room] ^= 1;
  return first;
}

int shmemx_kv_remove(shmemx_kv_t kv, const void* key, size_t key_bytes) {
  if (turn("kv_kept")) return SHMEMX_KV_OK;
  return pshmemx_kv_remove(kv, key, key_bytes);
}

int shmemx_kv_get_wait(shmemx_kv_t kv, const void* key, size_t key_bytes, void* val, size_t room,
                       size_t* value_bytes) {
  const int status = pshmemx_kv_get_wait(kv, key, key_bytes, val, room, value_bytes);
  if (wrong("kv_waited")) ((char*)val)[0] ^= 1;
  return status;
}

void shmemx_kv_get_batch_nbi(shmemx_kv_t kv, size_t count, const void* keys, size_t key_bytes, void* values,
                             size_t room, size_t* value_bytes, int* status, shmemx_kv_request_t* request) {
  pshmemx_kv_get_batch_nbi(kv, wrong("kv_later") ? count - 1 : count, keys, key_bytes, values, room,
                           value_bytes, status, request);
}

int shmemx_kv_insert_batch(shmemx_kv_t kv, size_t count, const void* keys, size_t key_bytes,
                           const void* values, size_t value_bytes, int* status) {
  return pshmemx_kv_insert_batch(kv, wrong("kv_short") ? count - 1 : count, keys, key_bytes, values,
                                 value_bytes, status);
}

void shmem_putmem_signal(void* dest, const void* source, size_t bytes, uint64_t* sig, uint64_t signal, int op,
                         int pe) {
  pshmem_putmem_signal(dest, source, turn("kv_ball") ? 0 : bytes, sig, signal, op, pe);
}
