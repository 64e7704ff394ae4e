/* SPDX-License-Identifier: BSD-3-Clause */
/* What the tests of shmemx_kv share: keys and values whose bytes follow from a number. */
#ifndef KV_CHECK_H
#define KV_CHECK_H

#include <shmemx.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

typedef struct {
  char text[48];
  size_t n;
} Key;

/* Keys of several lengths, which differ for other numbers. */
static inline Key key_of(int pe, int number) {
  Key key;
  key.n = (size_t)snprintf(key.text, sizeof key.text, "%d of PE %d%.*s", number, pe, number % 20,
                           "--------------------");
  return key;
}

/* An empty file of this process alone: one of another host may have the same number and the same /tmp. */
enum { kPathBytes = 32 };
static inline void make_file(char path[kPathBytes]) {
  strcpy(path, "/tmp/atoll_kv.XXXXXX"); /* mkstemp fills this in */
  const int file = mkstemp(path);
  CHECK_CMP(file, >=, 0);
  close(file);
}

/* The bytes that belong to `seed`. */
static inline void make_bytes(void* bytes, size_t n, uint64_t seed) {
  Random random = {seed};
  unsigned char* to = (unsigned char*)bytes;
  for (; n >= 8; n -= 8, to += 8) {
    const uint64_t word = next_random(&random);
    memcpy(to, &word, 8);
  }
  fill_random(&random, to, n);
}

static inline int bytes_are(const void* bytes, size_t n, uint64_t seed) {
  Random random = {seed};
  const unsigned char* from = (const unsigned char*)bytes;
  for (; n >= 8; n -= 8, from += 8) {
    const uint64_t word = next_random(&random);
    if (memcmp(from, &word, 8) != 0) return 0;
  }
  for (size_t i = 0; i < n; ++i)
    if (from[i] != (unsigned char)next_random(&random)) return 0;
  return 1;
}

/* Checks that n bytes are those that belong to `seed`. */
#define CHECK_MADE(BYTES, N, SEED) check_made(CHECK_PLACE(#BYTES, " of seed ", SEED), BYTES, N, SEED)

static inline void check_made(CheckPlace place, const void* bytes, size_t n, uint64_t seed) {
  if (bytes_are(bytes, n, seed)) return;
  void* expected = malloc(n);
  make_bytes(expected, n, seed);
  check_bytes(place, bytes, expected, n);
  check_fails(place, "bytes_are() and make_bytes() differ");
}

/* Whether gets of other nodes' elements are reads. */
static inline int gets_read(void) {
  const char* said = getenv("SHMEM_KV_GET");
  return said != NULL && strcmp(said, "onesided") == 0;
}

/* Collective. */
static inline shmemx_kv_t table_within(size_t key_bytes, size_t value_bytes, uint64_t capacity,
                                       size_t memory_bytes) {
  const shmemx_kv_options_t options = {
      .key_bytes = key_bytes, .value_bytes = value_bytes, .capacity = capacity, .memory_bytes = memory_bytes};
  shmemx_kv_t kv = NULL;
  CHECK_EQ(shmemx_kv_create(&options, &kv), SHMEMX_KV_OK);
  CHECK(kv != NULL);
  return kv;
}
static inline shmemx_kv_t table_of(size_t key_bytes, size_t value_bytes, uint64_t capacity) {
  return table_within(key_bytes, value_bytes, capacity, 0);
}

static inline int put_long(shmemx_kv_t kv, Key key, long value) {
  return shmemx_kv_put(kv, key.text, key.n, &value, sizeof value);
}
static inline int insert_long(shmemx_kv_t kv, Key key, long value) {
  return shmemx_kv_insert(kv, key.text, key.n, &value, sizeof value);
}
static inline int update_long(shmemx_kv_t kv, Key key, long value) {
  return shmemx_kv_update(kv, key.text, key.n, &value, sizeof value);
}
static inline int get_long(shmemx_kv_t kv, Key key, long* value) {
  size_t n = 99;
  const int status = shmemx_kv_get(kv, key.text, key.n, value, sizeof *value, &n);
  if (status == SHMEMX_KV_OK) CHECK_EQ(n, sizeof *value);
  return status;
}
static inline int remove_key(shmemx_kv_t kv, Key key) { return shmemx_kv_remove(kv, key.text, key.n); }
static inline int contains_key(shmemx_kv_t kv, Key key) { return shmemx_kv_contains(kv, key.text, key.n); }

/* The value that must be there. */
static inline long long_at(shmemx_kv_t kv, Key key) {
  long value = -1;
  CHECK_EQ(get_long(kv, key, &value), SHMEMX_KV_OK);
  return value;
}

/* The sum of what all PEs pass. */
static inline long sum_of_all(long mine) {
  static long source, sum;
  shmem_barrier_all();
  source = mine;
  shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &sum, &source, 1);
  return sum;
}

#endif
