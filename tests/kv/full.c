/* SPDX-License-Identifier: BSD-3-Clause */
/* A table that is full says so, loses nothing, and has room again for what is removed. */
#include "kv_check.h"

enum { kMostTried = 20000 };

static int me, npes;
static unsigned char inserted[kMostTried];

/* Whether a PE has refused me something. */
static int all_full(const unsigned char* full) {
  for (int pe = 0; pe < npes; ++pe)
    if (!full[pe]) return 0;
  return 1;
}

static uint64_t seed_of(int pe, int i) { return (uint64_t)pe << 32 | (uint64_t)i; }

static void expect(shmemx_kv_t kv, int pe, int i, size_t bytes) {
  static unsigned char value[8192];
  const Key key = key_of(pe, i);
  size_t n = 0;
  CHECK_EQ(shmemx_kv_get(kv, key.text, key.n, value, sizeof value, &n), SHMEMX_KV_OK);
  CHECK_EQ(n, bytes);
  CHECK_MADE(value, n, seed_of(pe, i));
}

/* Inserts until all PEs have refused one; returns how many keys have been tried. */
static int fill(shmemx_kv_t kv, size_t bytes) {
  static unsigned char value[8192];
  unsigned char full[64] = {0};
  int tried = 0;
  for (; !all_full(full); ++tried) {
    CHECK_CMP(tried, <, kMostTried);
    const Key key = key_of(me, tried);
    make_bytes(value, bytes, seed_of(me, tried));
    const int status = tried % 2 ? shmemx_kv_insert(kv, key.text, key.n, value, bytes)
                                 : shmemx_kv_put(kv, key.text, key.n, value, bytes);
    CHECK_EITHER(status, SHMEMX_KV_OK, SHMEMX_KV_FULL);
    inserted[tried] = status == SHMEMX_KV_OK;
    if (!inserted[tried]) full[shmemx_kv_pe(kv, key.text, key.n)] = 1;
  }
  return tried;
}

static long check_all(shmemx_kv_t kv, int tried, size_t bytes) {
  long there = 0;
  for (int i = 0; i < tried; ++i) {
    there += inserted[i];
    if (inserted[i])
      expect(kv, me, i, bytes);
    else
      CHECK_FOR(i, contains_key(kv, key_of(me, i)), SHMEMX_KV_NOT_FOUND);
  }
  return there;
}

/* Other calls that need room are refused too, those that need none are not. */
static void test_other_calls(shmemx_kv_t kv, int tried, size_t bytes) {
  static unsigned char value[8192];
  const uint64_t one = 1;
  for (int i = 0; i < tried; i += 7) {
    const Key key = key_of(me, i);
    if (inserted[i]) {
      CHECK_EQ(shmemx_kv_insert(kv, key.text, key.n, value, bytes), SHMEMX_KV_EXISTS);
      make_bytes(value, bytes, seed_of(me, i));
      const int put = shmemx_kv_put(kv, key.text, key.n, value, bytes);
      CHECK_EITHER(put, SHMEMX_KV_OK, SHMEMX_KV_FULL);
      const int update = shmemx_kv_update(kv, key.text, key.n, value, bytes);
      CHECK_EITHER(update, SHMEMX_KV_OK, SHMEMX_KV_FULL);
      expect(kv, me, i, bytes);
    } else {
      const int upsert = shmemx_kv_upsert(kv, key.text, key.n, SHMEMX_KV_UINT64, SHMEMX_KV_ADD, &one, NULL);
      CHECK_EITHER(upsert, SHMEMX_KV_FULL, SHMEMX_KV_OK); /* small ones may have room */
      if (upsert == SHMEMX_KV_OK) CHECK_EQ(remove_key(kv, key), SHMEMX_KV_OK);
      CHECK_EQ(shmemx_kv_update(kv, key.text, key.n, value, bytes), SHMEMX_KV_NOT_FOUND);
      CHECK_EQ(remove_key(kv, key), SHMEMX_KV_NOT_FOUND);
    }
  }
}

/* Where one is removed, another finds room, for ever: removed elements leave nothing behind. */
static void test_room_again(shmemx_kv_t kv, int tried, size_t bytes) {
  static unsigned char value[8192];
  for (int round = 0; round < rounds(20, 2); ++round) {
    for (int i = 0; i < tried; i += 1 + round % 5) {
      if (!inserted[i]) continue;
      const Key key = key_of(me, i);
      CHECK_EQ(remove_key(kv, key), SHMEMX_KV_OK);
      make_bytes(value, bytes, seed_of(me, i));
      CHECK_EQ(shmemx_kv_insert(kv, key.text, key.n, value, bytes), SHMEMX_KV_OK);
    }
  }
}

/* The same, of other keys of the same PE: only one PE at a time, or others could take the room. */
static void test_others_in_its_place(shmemx_kv_t kv, int tried, size_t bytes) {
  static unsigned char value[8192];
  for (int pe = 0; pe < npes; ++pe) {
    shmem_barrier_all();
    if (pe != me) continue;
    int out = 0;
    for (int i = 0; i < tried; ++i) {
      if (inserted[i]) continue;
      const Key in = key_of(me, i);
      const int home = shmemx_kv_pe(kv, in.text, in.n);
      for (; out < tried; ++out) {
        const Key old = key_of(me, out);
        if (inserted[out] && shmemx_kv_pe(kv, old.text, old.n) == home) break;
      }
      if (out == tried) break;
      CHECK_EQ(remove_key(kv, key_of(me, out)), SHMEMX_KV_OK);
      make_bytes(value, bytes, seed_of(me, i));
      CHECK_EQ(shmemx_kv_insert(kv, in.text, in.n, value, bytes), SHMEMX_KV_OK);
      inserted[out] = 0, inserted[i] = 1;
    }
  }
  shmem_barrier_all();
}

static void test(size_t longest, size_t bytes, uint64_t capacity) {
  const size_t memory = (capacity + 10) * (longest + 128) * 3; /* as if one PE had nearly all */
  shmemx_kv_t kv = table_within(48, longest, capacity, memory);
  const int tried = fill(kv, bytes);
  const long there = check_all(kv, tried, bytes);
  const long all = sum_of_all(there);
  CHECK_CMP(all, >=, (long)capacity); /* there must be room for so many */
  CHECK_EQ(shmemx_kv_count(kv), all);
  CHECK_EQ(sum_of_all((long)shmemx_kv_count_local(kv)), all);
  shmem_barrier_all();
  test_room_again(kv, tried, bytes);
  CHECK_EQ(check_all(kv, tried, bytes), there);
  shmem_barrier_all();
  test_other_calls(kv, tried, bytes);
  shmem_barrier_all();
  CHECK_EQ(check_all(kv, tried, bytes), there);
  test_others_in_its_place(kv, tried, bytes);
  CHECK_EQ(check_all(kv, tried, bytes), there);
  shmem_barrier_all();
  CHECK_EQ(shmemx_kv_count(kv), all);
  shmem_barrier_all();
  for (int i = 0; i < tried; ++i)
    if (inserted[i]) CHECK_FOR(i, remove_key(kv, key_of(me, i)), SHMEMX_KV_OK);
  shmem_barrier_all();
  CHECK_EQ(shmemx_kv_count(kv), 0);
  shmemx_kv_stats_t stats;
  shmemx_kv_stats(kv, &stats);
  CHECK_EQ(stats.elements, 0);
  CHECK_EQ(stats.block_bytes_used, 0);
  shmemx_kv_destroy(kv);
}

/* Elements of all lengths: what was promised for the longest holds whatever was there before. */
static void test_mixed_lengths(void) {
  enum { kElements = 100, kLongest = 3000 };
  static unsigned char value[kLongest];
  shmemx_kv_t kv = table_of(48, kLongest, (uint64_t)(kElements * npes));
  Random dice = {(uint64_t)me};
  for (int round = 0; round < rounds(40, 4); ++round) {
    for (int i = 0; i < kElements; ++i) {
      const Key key = key_of(me, i);
      make_bytes(value, kLongest, seed_of(me, i));
      CHECK_EQ(shmemx_kv_put(kv, key.text, key.n, value, random_below(&dice, kLongest + 1)), SHMEMX_KV_OK);
      if (random_below(&dice, 8) == 0) CHECK_EQ(remove_key(kv, key), SHMEMX_KV_OK);
    }
  }
  for (int i = 0; i < kElements; ++i) {
    const Key key = key_of(me, i);
    make_bytes(value, kLongest, seed_of(me, i));
    CHECK_EQ(shmemx_kv_put(kv, key.text, key.n, value, kLongest), SHMEMX_KV_OK);
  }
  for (int i = 0; i < kElements; ++i) expect(kv, me, i, kLongest);
  shmemx_kv_destroy(kv);
}

int main(void) {
  shmem_init();
  me = shmem_my_pe(), npes = shmem_n_pes();
  test(8, 8, 1);
  test(8, 8, 100);
  test(16, 0, 300);
  test(5000, 5000, 40);
  test(5000, 100, 40);
  test_mixed_lengths();
  shmem_finalize();
  return 0;
}
