/* SPDX-License-Identifier: BSD-3-Clause */
/* Named tables, of elements in slots and in blocks, whose elements all say how often they have been
 * persisted.
 *
 *   <n>       persists them n times more, each time after all PEs have changed all elements; PE 0 prints
 * "found <e>" refused   what is no table of this shape is not opened
 *
 * What is there at the beginning must be one epoch, and none of what came after it. */
#include "kv_check.h"

enum { kTables = 2, kKeys = 75, kKeyBytes = 48, kMostValue = 3000 };

static shmemx_kv_t tables[kTables];
static int me, npes;

/* As of a program whose keys all have one length, which it does not look at.  It differs from others only by
 * what it makes of the last bytes. */
static uint64_t odd_hash(const void* key, size_t n) {
  CHECK_EQ(n, kKeyBytes);
  uint64_t sum = 0;
  for (size_t i = kKeyBytes - 8; i < kKeyBytes; ++i) sum = sum * 31 + ((const unsigned char*)key)[i];
  return sum;
}

static shmemx_kv_options_t options_of(int t) {
  return (shmemx_kv_options_t){.key_bytes = kKeyBytes,
                               .value_bytes = t == 0 ? 16 : kMostValue,
                               .capacity = 1000,
                               .name = t == 0 ? "slots" : "blocks"};
}

/* Whether a key is there in an epoch, and the length of its value. */
static int is_there(long epoch, int pe, int i) { return epoch > 0 && (epoch + pe + i) % 4 != 0; }
static size_t length_of(int t, long epoch, int i) {
  return 8 + (size_t)(epoch * 37 + i * 22) % (t == 0 ? 9 : kMostValue - 7);
}

static void write_epoch(int t, long epoch) {
  static unsigned char value[kMostValue];
  for (int i = 0; i < kKeys; ++i) {
    const Key key = key_of(me, i);
    const size_t n = length_of(t, epoch, i);
    make_bytes(value, n, (uint64_t)(epoch * 1000 + i));
    if (is_there(epoch, me, i)) {
      CHECK_EQ(shmemx_kv_put(tables[t], key.text, key.n, value, n), SHMEMX_KV_OK);
    } else {
      const int status = remove_key(tables[t], key);
      CHECK_EITHER(status, SHMEMX_KV_OK, SHMEMX_KV_NOT_FOUND);
    }
  }
  if (me == 0) CHECK_EQ(put_long(tables[t], key_of(-1, 0), epoch), SHMEMX_KV_OK);
  shmem_barrier_all();
}

static long check_table(int t) {
  static unsigned char value[kMostValue];
  long epoch = 0, there = 0;
  const int status = get_long(tables[t], key_of(-1, 0), &epoch);
  CHECK_EITHER(status, SHMEMX_KV_OK, SHMEMX_KV_NOT_FOUND);
  for (int i = 0; i < kKeys; ++i) {
    const Key key = key_of(right_pe(), i);
    size_t n = 0;
    const int got = shmemx_kv_get(tables[t], key.text, key.n, value, sizeof value, &n);
    CHECK_EQ(got, is_there(epoch, right_pe(), i) ? SHMEMX_KV_OK : SHMEMX_KV_NOT_FOUND);
    there += got == SHMEMX_KV_OK;
    if (got != SHMEMX_KV_OK) continue;
    CHECK_EQ(n, length_of(t, epoch, i));
    CHECK_MADE(value, n, (uint64_t)(epoch * 1000 + i));
  }
  const long all = sum_of_all(there) + (status == SHMEMX_KV_OK);
  CHECK_EQ(shmemx_kv_count(tables[t]), all);
  CHECK_EQ(sum_of_all((long)shmemx_kv_count_local(tables[t])), all);
  return epoch;
}

static void persist_again_and_again(long n) {
  long epoch = check_table(0);
  CHECK_EQ(check_table(1), epoch);
  if (me == 0) printf("found %ld\n", epoch);
  for (; n > 0; --n) {
    ++epoch;
    for (int t = 0; t < kTables; ++t) {
      write_epoch(t, epoch);
      shmemx_kv_persist(tables[t]);
    }
  }
  for (int t = 0; t < kTables; ++t) CHECK_FOR(t, check_table(t), epoch);
  /* What is not persisted is lost. */
  for (int t = 0; t < kTables; ++t) write_epoch(t, epoch + 1);
}

static void expect_refusal(shmemx_kv_options_t options) {
  shmemx_kv_t kv = NULL;
  CHECK_EQ(shmemx_kv_create(&options, &kv), SHMEMX_KV_FULL);
}

static void test_refusals(void) {
  shmemx_kv_options_t other = options_of(0);
  expect_refusal(other); /* it is open */
  shmemx_kv_destroy(tables[0]);
  other.value_bytes = 24;
  expect_refusal(other);
  other = options_of(0);
  other.capacity = 5000;
  expect_refusal(other);
  other = options_of(0);
  other.key_bytes = 47; /* the same memory, other keys */
  expect_refusal(other);
  other = options_of(0);
  other.hash = odd_hash;
  expect_refusal(other);
  other = options_of(0);
  other.name = "a/b";
  expect_refusal(other);
  other = options_of(0); /* and it is as it was */
  CHECK_EQ(shmemx_kv_create(&other, &tables[0]), SHMEMX_KV_OK);
  check_table(0);
}

/* Ended and opened again in the same job: as it was persisted last. */
static void test_again(void) {
  const long epoch = check_table(1);
  const shmemx_kv_options_t options = options_of(1);
  shmemx_kv_destroy(tables[1]);
  shmemx_kv_options_t other = options_of(1);
  other.report_collisions = 1; /* of the same size */
  expect_refusal(other);
  CHECK_EQ(shmemx_kv_create(&options, &tables[1]), SHMEMX_KV_OK);
  CHECK_EQ(check_table(1), epoch);
}

int main(int argc, char** argv) {
  shmem_init();
  me = shmem_my_pe(), npes = shmem_n_pes();
  CHECK_EQ(argc, 2);
  for (int t = 0; t < kTables; ++t) {
    const shmemx_kv_options_t options = options_of(t);
    CHECK_FOR(t, shmemx_kv_create(&options, &tables[t]), SHMEMX_KV_OK);
  }
  if (strcmp(argv[1], "refused") == 0) {
    test_refusals();
    test_again();
  } else {
    persist_again_and_again(atol(argv[1]));
  }
  for (int t = 0; t < kTables; ++t) shmemx_kv_destroy(tables[t]);
  shmem_finalize();
  return 0;
}
