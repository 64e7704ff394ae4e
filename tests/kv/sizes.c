/* SPDX-License-Identifier: BSD-3-Clause */
/* Keys of 1 byte to 64 KiB and values of none to 4 MiB: in a slot or out of it, in one message or in many. */
#include "kv_check.h"

enum { kMostKey = 65536, kMostValue = 4 << 20 };

static const size_t key_sizes[] = {1,    2,    3,    4,    7,    8,     9,     15,    16,    17,   23,  24,
                                   25,   31,   33,   48,   63,   64,    65,    127,   129,   255,  256, 1000,
                                   1024, 4095, 4097, 8000, 8192, 16384, 16385, 20000, 65535, 65536};
static const size_t value_sizes[] = {0,         1,     2,     3,      4,      7,      8,       9,
                                     16,        24,    31,    32,     33,     63,     64,      65,
                                     100,       128,   255,   256,    1000,   1024,   1025,    4000,
                                     4096,      4097,  8191,  8192,   8193,   16384,  32768,   32769,
                                     65535,     65536, 65537, 100000, 262144, 262145, 1 << 20, (1 << 20) + 3,
                                     kMostValue};
enum {
  kKeySizes = sizeof key_sizes / sizeof *key_sizes,
  kValueSizes = sizeof value_sizes / sizeof *value_sizes
};

static unsigned char *key, *value;
static int me, npes;

/* A key of a PE: its first bytes say which one, where it has room for that. */
static const void* make_key(size_t n, int pe) {
  make_bytes(key, n, n);
  key[0] = (unsigned char)pe;
  return key;
}

static uint64_t seed_of(int pe, size_t key_bytes, int epoch) {
  return (uint64_t)pe * 1000003 + key_bytes * 17 + (uint64_t)epoch;
}

static void expect(shmemx_kv_t kv, int pe, size_t key_bytes, size_t value_bytes, int epoch) {
  size_t n = 12345;
  memset(value, 0, value_bytes + 1);
  value[value_bytes] = 'x';
  CHECK_EQ(shmemx_kv_get(kv, make_key(key_bytes, pe), key_bytes, value, value_bytes, &n), SHMEMX_KV_OK);
  CHECK_EQ(n, value_bytes);
  CHECK_MADE(value, value_bytes, seed_of(pe, key_bytes, epoch));
  CHECK_AT(value, value_bytes, 'x');
}

/* Every key size, with values that grow and shrink. */
static void test_keys(shmemx_kv_t kv) {
  for (int i = 0; i < kKeySizes; ++i) {
    const size_t n = key_sizes[i], first = value_sizes[i % 30], second = value_sizes[(i * 7 + 11) % 34];
    make_bytes(value, first, seed_of(me, n, 1));
    CHECK_EQ(shmemx_kv_insert(kv, make_key(n, me), n, value, first), SHMEMX_KV_OK);
    expect(kv, me, n, first, 1);
    make_bytes(value, second, seed_of(me, n, 2));
    CHECK_EQ(shmemx_kv_put(kv, make_key(n, me), n, value, second), SHMEMX_KV_OK);
  }
  shmem_barrier_all();
  for (int i = 0; i < kKeySizes; ++i) expect(kv, right_pe(), key_sizes[i], value_sizes[(i * 7 + 11) % 34], 2);
  shmem_barrier_all();
  for (int i = 0; i < kKeySizes; ++i) {
    const size_t n = key_sizes[i];
    CHECK_EQ(shmemx_kv_remove(kv, make_key(n, left_pe()), n), SHMEMX_KV_OK);
    CHECK_EQ(shmemx_kv_contains(kv, make_key(n, left_pe()), n), SHMEMX_KV_NOT_FOUND);
  }
  shmem_barrier_all();
  CHECK_EQ(shmemx_kv_count(kv), 0);
  shmem_barrier_all();
}

/* One key with every value size up to `most`, read by itself and by another PE. */
static void test_values(shmemx_kv_t kv, size_t most) {
  const size_t n = 20;
  for (int i = 0; i < kValueSizes; ++i) {
    const size_t bytes = value_sizes[(i * 5) % kValueSizes];
    if (bytes > most) continue;
    make_bytes(value, bytes, seed_of(me, n, i));
    CHECK_FOR(i,
              i % 3 == 0 ? shmemx_kv_put(kv, make_key(n, me), n, value, bytes)
                         : shmemx_kv_update(kv, make_key(n, me), n, value, bytes),
              SHMEMX_KV_OK);
    expect(kv, me, n, bytes, i);
    shmem_barrier_all();
    expect(kv, right_pe(), n, bytes, i);
    if (bytes > 0) {
      size_t told = 0;
      CHECK_EQ(shmemx_kv_get(kv, make_key(n, left_pe()), n, value, bytes - 1, &told), SHMEMX_KV_TOO_LARGE);
      CHECK_EQ(told, bytes);
    }
    shmem_barrier_all();
  }
  CHECK_EQ(shmemx_kv_remove(kv, make_key(n, me), n), SHMEMX_KV_OK);
  shmem_barrier_all();
}

/* Nonblocking: the value may be changed as soon as the call is back. */
static void test_nonblocking(shmemx_kv_t kv, size_t most) {
  enum { kMany = 8 };
  static int status[kMany];
  static size_t told[kMany];
  const size_t n = 2 + (size_t)kMany, bytes = most - 1;
  for (int i = 0; i < kMany; ++i) {
    make_bytes(value, bytes, (uint64_t)(me * kMany + i));
    make_key(n + (size_t)i, me);
    shmemx_kv_put_nbi(kv, key, n + (size_t)i, value, bytes, &status[i]);
    memset(key, 0xee, n + (size_t)i);
    memset(value, 0xee, bytes);
  }
  shmemx_kv_quiet(kv);
  unsigned char* read = malloc(bytes * kMany);
  for (int i = 0; i < kMany; ++i) CHECK_AT(status, i, SHMEMX_KV_OK);
  unsigned char(*keys)[kMostKey] = malloc(kMany * sizeof *keys);
  for (int i = 0; i < kMany; ++i) {
    memcpy(keys[i], make_key(n + (size_t)i, me), n + (size_t)i);
    shmemx_kv_get_nbi(kv, keys[i], n + (size_t)i, read + (size_t)i * bytes, bytes, &told[i], &status[i]);
  }
  shmemx_kv_quiet(kv);
  for (int i = 0; i < kMany; ++i) {
    CHECK_AT(status, i, SHMEMX_KV_OK);
    CHECK_AT(told, i, bytes);
    CHECK_MADE(read + (size_t)i * bytes, bytes, (uint64_t)(me * kMany + i));
    CHECK_FOR(i, shmemx_kv_remove(kv, keys[i], n + (size_t)i), SHMEMX_KV_OK);
  }
  free(keys);
  free(read);
  shmem_barrier_all();
}

int main(void) {
  shmem_init();
  me = shmem_my_pe(), npes = shmem_n_pes();
  key = malloc(kMostKey);
  value = malloc(kMostValue + 1);
  shmemx_kv_t kv = table_of(kMostKey, 100000, (uint64_t)(kKeySizes * npes));
  test_keys(kv);
  test_values(kv, 100000);
  test_nonblocking(kv, 100000);
  shmemx_kv_destroy(kv);
  kv = table_of(20, kMostValue, 4 * (uint64_t)npes);
  test_values(kv, kMostValue);
  shmemx_kv_destroy(kv);
  kv = table_of(20, 1 << 20, 16 * (uint64_t)npes);
  test_nonblocking(kv, 1 << 20);
  shmemx_kv_destroy(kv);
  kv = table_of(20, 24, 64 * (uint64_t)npes);
  test_values(kv, 24);
  test_nonblocking(kv, 24);
  shmemx_kv_destroy(kv);
  free(value);
  free(key);
  shmem_finalize();
  return 0;
}
