/* SPDX-License-Identifier: BSD-3-Clause */
/* Batches: the calls on one key, many at once, with what each of them would have returned. */
#include "kv_check.h"

enum { kMany = 1000, kKey = 12, kValue = 24 };

static int me, npes;
static unsigned char keys[kMany][kKey], values[kMany][kValue], reads[kMany][kValue];
static int status[kMany];
static size_t lengths[kMany];

static void make(int pe, int first, size_t count, uint64_t salt) {
  for (size_t i = 0; i < count; ++i) {
    const int number = first + (int)i;
    memset(keys[i], 0, kKey);
    memcpy(keys[i], &pe, sizeof pe);
    memcpy(keys[i] + 5, &number, sizeof number);
    make_bytes(values[i], kValue, salt * 1000003 + (uint64_t)pe * 5003 + (uint64_t)number);
  }
}

/* That status[i] is `even` for even keys, `odd` for others, and the batch has returned the first that is not
 * OK. */
static void expect(int returned, size_t count, int even, int odd) {
  for (size_t i = 0; i < count; ++i) CHECK_AT(status, i, i % 2 ? odd : even);
  const int first = even != SHMEMX_KV_OK ? even : count > 1 ? odd : SHMEMX_KV_OK;
  CHECK_EQ(returned, count == 0 ? SHMEMX_KV_OK : first);
  memset(status, -1, sizeof status);
}

static void expect_values(shmemx_kv_t kv, int pe, int first, size_t count, uint64_t salt) {
  make(pe, first, count, salt);
  memset(reads, 0, sizeof reads);
  expect(shmemx_kv_get_batch(kv, count, keys, kKey, reads, kValue, lengths, status), count, 0, 0);
  for (size_t i = 0; i < count; ++i) CHECK_AT(lengths, i, kValue);
  CHECK_BYTES(reads, values, count * kValue);
}

static void test_count(shmemx_kv_t kv, size_t count) {
  make(me, 0, count, 1);
  expect(shmemx_kv_contains_batch(kv, count, keys, kKey, status), count, 1, 1);
  expect(shmemx_kv_update_batch(kv, count, keys, kKey, values, kValue, status), count, 1, 1);
  expect(shmemx_kv_get_batch(kv, count, keys, kKey, reads, kValue, NULL, status), count, 1, 1);
  expect(shmemx_kv_remove_batch(kv, count, keys, kKey, status), count, 1, 1);
  for (size_t i = 1; i < count; i += 2)
    CHECK_FOR(i, shmemx_kv_put(kv, keys[i], kKey, values[i], kValue), SHMEMX_KV_OK);
  expect(shmemx_kv_contains_batch(kv, count, keys, kKey, status), count, 1, 0);
  expect(shmemx_kv_insert_batch(kv, count, keys, kKey, values, kValue, status), count, 0, SHMEMX_KV_EXISTS);
  shmem_barrier_all();
  expect_values(kv, right_pe(), 0, count, 1);
  shmem_barrier_all();
  make(me, 0, count, 2);
  expect(shmemx_kv_put_batch(kv, count, keys, kKey, values, kValue, status), count, 0, 0);
  expect_values(kv, me, 0, count, 2);
  make(me, 0, count, 3);
  expect(shmemx_kv_update_batch(kv, count, keys, kKey, values, kValue, status), count, 0, 0);
  shmem_barrier_all();
  expect_values(kv, left_pe(), 0, count, 3);
  CHECK_EQ(shmemx_kv_count(kv), count * (size_t)npes);
  shmem_barrier_all();
  make(me, 0, count, 3);
  for (size_t i = 0; i < count; i += 2) CHECK_FOR(i, shmemx_kv_remove(kv, keys[i], kKey), SHMEMX_KV_OK);
  expect(shmemx_kv_remove_batch(kv, count, keys, kKey, status), count, 1, 0);
  shmem_barrier_all();
  CHECK_EQ(shmemx_kv_count(kv), 0);
  shmem_barrier_all();
}

/* No status is wanted; what is returned is the first that is not OK, in the order of the keys. */
static void test_first_status(shmemx_kv_t kv) {
  make(me, 0, kMany, 1);
  CHECK_EQ(shmemx_kv_put_batch(kv, kMany, keys, kKey, values, kValue, NULL), SHMEMX_KV_OK);
  CHECK_EQ(shmemx_kv_contains_batch(kv, kMany, keys, kKey, NULL), SHMEMX_KV_OK);
  CHECK_EQ(shmemx_kv_insert_batch(kv, kMany, keys, kKey, values, kValue, NULL), SHMEMX_KV_EXISTS);
  CHECK_EQ(shmemx_kv_remove(kv, keys[kMany - 1], kKey), SHMEMX_KV_OK);
  CHECK_EQ(shmemx_kv_get_batch(kv, kMany, keys, kKey, reads, kValue, NULL, NULL), SHMEMX_KV_NOT_FOUND);
  /* Room for less than the values have: each says so, but for the one that is not there. */
  CHECK_EQ(shmemx_kv_get_batch(kv, kMany, keys, kKey, reads, kValue - 1, lengths, status),
           SHMEMX_KV_TOO_LARGE);
  for (int i = 0; i < kMany; ++i) {
    CHECK_AT(status, i, i < kMany - 1 ? SHMEMX_KV_TOO_LARGE : SHMEMX_KV_NOT_FOUND);
    if (i < kMany - 1) CHECK_AT(lengths, i, kValue);
  }
  CHECK_EQ(shmemx_kv_remove(kv, keys[0], kKey), SHMEMX_KV_OK);
  CHECK_EQ(shmemx_kv_get_batch(kv, kMany, keys, kKey, reads, kValue - 1, NULL, NULL), SHMEMX_KV_NOT_FOUND);
  CHECK_EQ(shmemx_kv_remove_batch(kv, kMany, keys, kKey, NULL), SHMEMX_KV_NOT_FOUND);
  CHECK_EQ(shmemx_kv_count(kv) <= (size_t)(kMany * npes), 1);
  shmem_barrier_all();
  CHECK_EQ(shmemx_kv_count(kv), 0);
  shmem_barrier_all();
}

/* Values that are longer than the table's: each says so, and none is stored. */
static void test_too_long(shmemx_kv_t kv) {
  enum { kFew = 100 };
  make(me, 0, kFew, 1);
  memset(status, -1, sizeof status);
  CHECK_EQ(shmemx_kv_put_batch(kv, 0, keys, kKey, values, kValue + 1, status), SHMEMX_KV_OK);
  CHECK_AT(status, 0, -1);
  CHECK_EQ(shmemx_kv_put_batch(kv, kFew, keys, kKey, values, kValue + 1, status), SHMEMX_KV_TOO_LARGE);
  for (int i = 0; i <= kFew; ++i) CHECK_AT(status, i, i < kFew ? SHMEMX_KV_TOO_LARGE : -1);
  CHECK_EQ(shmemx_kv_insert_batch(kv, kFew, keys, kKey, values, kValue + 1, NULL), SHMEMX_KV_TOO_LARGE);
  shmem_barrier_all();
  CHECK_EQ(shmemx_kv_count(kv), 0);
  shmem_barrier_all();
}

/* So many that the answers of one PE fill a message. */
static void test_longer_values(void) {
  enum { kBytes = 100 };
  static unsigned char long_values[kMany][kBytes], long_reads[kMany][kBytes];
  shmemx_kv_t kv = table_of(kKey, kBytes, (uint64_t)kMany * (uint64_t)npes);
  make(me, 0, kMany, 1);
  make_bytes(long_values, sizeof long_values, (uint64_t)me);
  CHECK_EQ(shmemx_kv_put_batch(kv, kMany, keys, kKey, long_values, kBytes, NULL), SHMEMX_KV_OK);
  shmem_barrier_all();
  make(right_pe(), 0, kMany, 1);
  make_bytes(long_values, sizeof long_values, (uint64_t)right_pe());
  CHECK_EQ(shmemx_kv_get_batch(kv, kMany, keys, kKey, long_reads, kBytes, NULL, NULL), SHMEMX_KV_OK);
  for (int i = 0; i < kMany; ++i) CHECK_BYTES(long_reads[i], long_values[i], kBytes);
  shmem_barrier_all();
  shmemx_kv_destroy(kv);
}

/* What was there may be written over the operands, one element further on. */
static void test_olds_over_operands(shmemx_kv_t kv) {
  enum { kFew = 100 };
  static int64_t words[kFew + 1];
  make(me, 0, kFew, 1);
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < kFew; ++i) words[i] = i + 1;
    CHECK_EQ(shmemx_kv_upsert_batch(kv, kFew, keys, kKey, SHMEMX_KV_INT64, SHMEMX_KV_ADD, words, words + 1,
                                    status),
             SHMEMX_KV_OK);
    for (int i = 0; i < kFew; ++i) CHECK_AT(words, i + 1, round * (i + 1));
  }
  for (int i = 0; i < kFew; ++i) {
    int64_t value = 0;
    CHECK_FOR(i, shmemx_kv_get(kv, keys[i], kKey, &value, sizeof value, NULL), SHMEMX_KV_OK);
    CHECK_EQ(value, 2 * (i + 1));
  }
  CHECK_EQ(shmemx_kv_remove_batch(kv, kFew, keys, kKey, NULL), SHMEMX_KV_OK);
  shmem_barrier_all();
}

/* Values may be read over the keys, which they overtake: all but the first few here. */
static void test_values_over_keys(shmemx_kv_t kv) {
  enum { kFew = 100 };
  static unsigned char area[kFew * kValue];
  unsigned char* moved = area + 10 * kValue;
  make(me, 0, kFew, 1);
  CHECK_EQ(shmemx_kv_put_batch(kv, kFew, keys, kKey, values, kValue, NULL), SHMEMX_KV_OK);
  memcpy(moved, keys, (size_t)kFew * kKey);
  CHECK_EQ(shmemx_kv_get_batch(kv, kFew, moved, kKey, area, kValue, NULL, NULL), SHMEMX_KV_OK);
  CHECK_BYTES(area, values, (size_t)kFew * kValue);
  CHECK_EQ(shmemx_kv_remove_batch(kv, kFew, keys, kKey, NULL), SHMEMX_KV_OK);
  shmem_barrier_all();
}

/* The same key several times in one batch is served as often. */
static void test_same_key(shmemx_kv_t kv) {
  enum { kDistinct = 10 };
  static int64_t operands[kMany], olds[kMany];
  for (size_t i = 0; i < kMany; ++i) {
    memset(keys[i], 0, kKey);
    keys[i][0] = (unsigned char)me, keys[i][1] = (unsigned char)(i % kDistinct);
    operands[i] = 1;
  }
  CHECK_EQ(
      shmemx_kv_upsert_batch(kv, kMany, keys, kKey, SHMEMX_KV_INT64, SHMEMX_KV_ADD, operands, olds, status),
      SHMEMX_KV_OK);
  for (size_t k = 0; k < kDistinct; ++k) {
    int64_t value = 0, sum = 0;
    const int64_t times = kMany / kDistinct;
    for (size_t i = k; i < kMany; i += kDistinct) sum += olds[i];
    CHECK_EQ(sum, times * (times - 1) / 2);
    CHECK_FOR(k, shmemx_kv_get(kv, keys[k], kKey, &value, sizeof value, NULL), SHMEMX_KV_OK);
    CHECK_EQ(value, times);
  }
  int done = 0;
  CHECK_EQ(shmemx_kv_remove_batch(kv, kMany, keys, kKey, status), SHMEMX_KV_NOT_FOUND);
  for (int i = 0; i < kMany; ++i) done += status[i] == SHMEMX_KV_OK;
  CHECK_EQ(done, kDistinct);
  CHECK_EQ(shmemx_kv_insert_batch(kv, kMany, keys, kKey, values, 3, status), SHMEMX_KV_EXISTS);
  done = 0;
  for (int i = 0; i < kMany; ++i) done += status[i] == SHMEMX_KV_OK;
  CHECK_EQ(done, kDistinct);
  CHECK_EQ(shmemx_kv_put_batch(kv, kMany, keys, kKey, values, kValue, NULL), SHMEMX_KV_OK);
  CHECK_EQ(shmemx_kv_get_batch(kv, kDistinct, keys, kKey, reads, kValue, NULL, NULL), SHMEMX_KV_OK);
  CHECK_BYTES(reads, values[kMany - kDistinct], kDistinct * kValue); /* the last of each */
  CHECK_EQ(shmemx_kv_remove_batch(kv, kDistinct, keys, kKey, NULL), SHMEMX_KV_OK);
  shmem_barrier_all();
}

/* All PEs with the same keys at once: nothing is lost, and of what is inserted one is. */
static void test_all_at_once(shmemx_kv_t kv) {
  static int64_t operands[kMany];
  make(-1, 0, kMany, 1);
  for (int i = 0; i < kMany; ++i) operands[i] = i;
  shmem_barrier_all();
  const int times = rounds(20, 5);
  for (int k = 0; k < times; ++k)
    CHECK_EQ(
        shmemx_kv_upsert_batch(kv, kMany, keys, kKey, SHMEMX_KV_INT64, SHMEMX_KV_ADD, operands, NULL, NULL),
        SHMEMX_KV_OK);
  shmem_barrier_all();
  for (int i = 0; i < kMany; i += 7) {
    int64_t value = 0;
    CHECK_FOR(i, shmemx_kv_get(kv, keys[i], kKey, &value, sizeof value, NULL), SHMEMX_KV_OK);
    CHECK_EQ(value, (int64_t)i * times * npes);
  }
  shmem_barrier_all();
  long won = 0;
  shmemx_kv_remove_batch(kv, kMany, keys, kKey, status);
  for (int i = 0; i < kMany; ++i) won += status[i] == SHMEMX_KV_OK;
  CHECK_EQ(sum_of_all(won), kMany);
  won = 0;
  shmem_barrier_all();
  shmemx_kv_insert_batch(kv, kMany, keys, kKey, values, kValue, status);
  for (int i = 0; i < kMany; ++i) won += status[i] == SHMEMX_KV_OK;
  CHECK_EQ(sum_of_all(won), kMany);
  CHECK_EQ(shmemx_kv_count(kv), kMany);
  shmem_barrier_all();
}

/* Every node reaches every part then: nothing is sent, and each step takes long. */
static int on_nvm(void) { return getenv("SHMEM_HEAP") != NULL; }

/* More keys than are sent at once. */
static void test_many(void) {
  const int count = on_nvm() ? 500 : 20000;
  int64_t(*many)[2] = malloc((size_t)count * sizeof *many),
  *numbers = malloc((size_t)count * sizeof *numbers);
  int64_t* found = malloc((size_t)count * sizeof *found);
  shmemx_kv_t kv = table_of(sizeof *many, sizeof *numbers, (uint64_t)(count * npes));
  for (int i = 0; i < count; ++i) {
    many[i][0] = me, many[i][1] = i;
    numbers[i] = (int64_t)me * count + i;
  }
  CHECK_EQ(shmemx_kv_insert_batch(kv, (size_t)count, many, sizeof *many, numbers, sizeof *numbers, NULL),
           SHMEMX_KV_OK);
  shmem_barrier_all();
  for (int i = 0; i < count; ++i) many[i][0] = right_pe();
  size_t* told = malloc((size_t)count * sizeof *told);
  CHECK_EQ(shmemx_kv_get_batch(kv, (size_t)count, many, sizeof *many, found, sizeof *found, told, NULL),
           SHMEMX_KV_OK);
  for (int i = 0; i < count; ++i) {
    CHECK_AT(found, i, (int64_t)right_pe() * count + i);
    CHECK_AT(told, i, sizeof *found);
  }
  free(told);
  many[count - 2][0] = -1; /* the only one that is not there: far from the first */
  CHECK_EQ(shmemx_kv_contains_batch(kv, (size_t)count, many, sizeof *many, NULL), SHMEMX_KV_NOT_FOUND);
  CHECK_EQ(shmemx_kv_count(kv), (uint64_t)(count * npes));
  shmemx_kv_destroy(kv);
  free(many), free(numbers), free(found);
}

/* Keys and values as long as those that travel together have them, and longer ones, with room for more than
 * the values have. */
static void test_lengths(void) {
  static const size_t kLengths[] = {1, 7, 1016, 1023, 1024, 1025, 2000};
  enum { kFew = 60, kLongest = 2000, kRoom = 2100 };
  unsigned char* names = malloc(kFew * kLongest);
  unsigned char *in = malloc(kFew * kLongest), *out = malloc(kFew * kRoom);
  shmemx_kv_t kv = table_of(kLongest, kRoom, (uint64_t)(kFew * npes));
  for (size_t k = 1; k < 7; ++k) {
    const size_t key_n = kLengths[k], n = kLengths[6 - k], room = k % 2 ? n : n + 100;
    for (int pe = 0; pe < 2; ++pe) {
      const int whose = pe ? right_pe() : me;
      for (size_t i = 0; i < kFew; ++i) {
        make_bytes(names + i * key_n, key_n, (uint64_t)whose * kFew + i);
        make_bytes(in + i * n, n, (uint64_t)whose * kFew + i + k);
      }
      if (pe == 0) {
        CHECK_EQ(shmemx_kv_put_batch(kv, kFew, names, key_n, in, n, status), SHMEMX_KV_OK);
        shmem_barrier_all();
        continue;
      }
      CHECK_EQ(shmemx_kv_get_batch(kv, kFew, names, key_n, out, room, lengths, status), SHMEMX_KV_OK);
      for (size_t i = 0; i < kFew; ++i) {
        CHECK_AT(lengths, i, n);
        CHECK_BYTES(out + i * room, in + i * n, n);
      }
      CHECK_EQ(shmemx_kv_get_batch(kv, kFew, names, key_n, out, n - 1, lengths, status), SHMEMX_KV_TOO_LARGE);
      for (size_t i = 0; i < kFew; ++i) {
        CHECK_AT(status, i, SHMEMX_KV_TOO_LARGE);
        CHECK_AT(lengths, i, n);
      }
    }
    shmem_barrier_all();
    if (me == 0) {
      for (int pe = 0; pe < npes; ++pe) {
        for (size_t i = 0; i < kFew; ++i) make_bytes(names + i * key_n, key_n, (uint64_t)pe * kFew + i);
        CHECK_EQ(shmemx_kv_remove_batch(kv, kFew, names, key_n, NULL), SHMEMX_KV_OK);
      }
    }
    shmem_barrier_all();
  }
  shmemx_kv_destroy(kv);
  free(names), free(in), free(out);
}

/* All keys have one home on PE 0, whose lock PE 0 holds most of the time: who executes the others' batches
 * finds it taken in the middle of them, again and again. */
static uint64_t one_home(const void* key, size_t n) { return (void)key, (void)n, 0; }
static void test_busy(void) {
  enum { kCounters = 600, kLong = 4000 };
  static int64_t operands[kCounters], olds[kCounters];
  static unsigned char bytes[kLong];
  const shmemx_kv_options_t options = {.key_bytes = kKey,
                                       .value_bytes = kLong,
                                       .capacity = (uint64_t)(npes * (kCounters + 1)),
                                       .hash = one_home};
  shmemx_kv_t kv = NULL;
  int* ended = shmem_calloc(1, sizeof *ended);
  CHECK_EQ(shmemx_kv_create(&options, &kv), SHMEMX_KV_OK);
  const int count = on_nvm() ? 10 : kCounters, times = rounds(20, 5);
  make(7, 0, (size_t)count, 1);
  for (int i = 0; i < count; ++i) operands[i] = i + 1;
  shmem_barrier_all();
  if (me == 0) {
    for (uint64_t i = 0; shmem_int_atomic_fetch(ended, 0) < npes - 1; ++i) {
      make_bytes(bytes, kLong, i);
      CHECK_EQ(shmemx_kv_put(kv, "long", 4, bytes, kLong), SHMEMX_KV_OK);
    }
  } else {
    for (int k = 0; k < times; ++k) {
      CHECK_EQ(shmemx_kv_upsert_batch(kv, (size_t)count, keys, kKey, SHMEMX_KV_INT64, SHMEMX_KV_ADD, operands,
                                      olds, status),
               SHMEMX_KV_OK);
      for (int i = 0; i < count; ++i) {
        CHECK_FOR(i, olds[i] % operands[i], 0);
        CHECK_CMP_AT(olds, i, >=, k * operands[i]);
      }
    }
    shmem_int_atomic_inc(ended, 0);
  }
  shmem_barrier_all();
  for (int i = 0; i < count && npes > 1; ++i) {
    int64_t value = 0;
    CHECK_FOR(i, shmemx_kv_get(kv, keys[i], kKey, &value, sizeof value, NULL), SHMEMX_KV_OK);
    CHECK_EQ(value, operands[i] * times * (npes - 1));
  }
  shmemx_kv_destroy(kv);
  shmem_free(ended);
}

/* Values of which each is larger than a message. */
static void test_large(void) {
  enum { kFew = 12, kBytes = 100001 };
  unsigned char(*large)[kBytes] = malloc(kFew * sizeof *large), (*read)[kBytes] = malloc(kFew * sizeof *read);
  shmemx_kv_t kv = table_of(kKey, kBytes, (uint64_t)(kFew * npes));
  make(me, 0, kFew, 1);
  for (int i = 0; i < kFew; ++i) make_bytes(large[i], kBytes, (uint64_t)(me * kFew + i));
  CHECK_EQ(shmemx_kv_put_batch(kv, kFew, keys, kKey, large, kBytes, status), SHMEMX_KV_OK);
  shmem_barrier_all();
  make(right_pe(), 0, kFew, 1);
  CHECK_EQ(shmemx_kv_get_batch(kv, kFew, keys, kKey, read, kBytes, lengths, status), SHMEMX_KV_OK);
  for (int i = 0; i < kFew; ++i) CHECK_AT(lengths, i, kBytes);
  for (int i = 0; i < kFew; ++i) CHECK_MADE(read[i], kBytes, (uint64_t)(right_pe() * kFew + i));
  shmemx_kv_destroy(kv);
  free(large);
  free(read);
}

/* Some have room and some do not: each says which. */
static void test_full(void) {
  shmemx_kv_t kv = table_within(kKey, kValue, 10, 4096);
  make(me, 0, kMany, 1);
  const int returned = shmemx_kv_insert_batch(kv, kMany, keys, kKey, values, kValue, status);
  CHECK_EQ(returned, SHMEMX_KV_FULL);
  for (int i = 0; i < kMany; ++i) {
    CHECK_EITHER(status[i], SHMEMX_KV_OK, SHMEMX_KV_FULL);
    CHECK_FOR(i, shmemx_kv_contains(kv, keys[i], kKey),
              status[i] == SHMEMX_KV_OK ? SHMEMX_KV_OK : SHMEMX_KV_NOT_FOUND);
  }
  shmemx_kv_destroy(kv);
}

int main(void) {
  shmem_init();
  me = shmem_my_pe(), npes = shmem_n_pes();
  shmemx_kv_t kv = table_of(kKey, kValue, (uint64_t)(kMany * npes));
  test_count(kv, 0);
  test_count(kv, 1);
  test_count(kv, 2);
  test_count(kv, 17);
  test_count(kv, kMany);
  test_first_status(kv);
  test_too_long(kv);
  test_longer_values();
  test_olds_over_operands(kv);
  test_values_over_keys(kv);
  test_same_key(kv);
  test_all_at_once(kv);
  shmemx_kv_destroy(kv);
  test_many();
  test_lengths();
  test_large();
  test_busy();
  test_full();
  shmem_finalize();
  return 0;
}
