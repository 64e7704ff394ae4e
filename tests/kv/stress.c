/* SPDX-License-Identifier: BSD-3-Clause */
/* A few thousand keys that all PEs use at once, in every way: one by one, nonblocking and in batches.
 *
 * Key i is written by PE i % npes alone, with numbers that only grow, from which length and bytes of the
 * value follow: so the writer knows what each key must have, and everybody else that it never goes back.
 * Counters are added to by all. Between epochs, when all is counted, the table may get another size, or be
 * another one.
 *
 * ATOLL_STRESS_SECONDS says how long to go on; ATOLL_TEST_SEED repeats a run. */
#include "duration.h"
#include "kv_check.h"

enum { kKeys = 3000, kCounters = 40, kMostValue = 20000, kMostUnderWay = 32, kStepsOfAnEpoch = 300 };

static shmemx_kv_t kv;
static size_t most_value;
static uint64_t written[kKeys]; /* what I wrote last; 0: removed */
static uint64_t seen[kKeys];    /* what I saw last of others */
static int64_t added[kCounters];
static int64_t last[kCounters]; /* what I saw of them */
static uint64_t next_number;
static Random dice;
static int me, npes;

/* Calls that are not complete: their keys, values, and what they must return. */
static struct Call {
  Key key;
  int status, wanted;
  size_t number; /* of the key */
  size_t n;
  int reads;
  unsigned char value[kMostValue];
} calls[kMostUnderWay];
static int under_way;

static unsigned char bytes[kMostValue];

static Key key_number(size_t i) { return key_of((int)(i % (size_t)npes), (int)i); }
static size_t my_key(void) { return random_below(&dice, kKeys / (size_t)npes) * (size_t)npes + (size_t)me; }

static size_t length_of(uint64_t number) {
  const uint64_t mixed = number * 0x9e3779b97f4a7c15u >> 20;
  return 8 + mixed % ((number & 7) == 0 ? most_value - 7 : 25);
}

static size_t make_value(uint64_t number, unsigned char* value) {
  memcpy(value, &number, 8);
  make_bytes(value + 8, length_of(number) - 8, number);
  return length_of(number);
}

/* A value that was read of a key; nothing: status NOT_FOUND. */
static void check(size_t i, int status, const unsigned char* value, size_t n) {
  uint64_t number = 0;
  CHECK_EITHER(status, SHMEMX_KV_OK, SHMEMX_KV_NOT_FOUND);
  if (status == SHMEMX_KV_OK) {
    memcpy(&number, value, 8);
    CHECK_EQ(n, length_of(number));
    CHECK_MADE(value + 8, n - 8, number);
  }
  if (i % (size_t)npes == (size_t)me) {
    CHECK_EQ(number, written[i]);
  } else if (number != 0) {
    CHECK_CMP(number, >=, seen[i]);
    seen[i] = number;
  }
}

static void write_one(void) {
  const size_t i = my_key();
  const Key key = key_number(i);
  const uint64_t number = ++next_number, old = written[i];
  const size_t n = make_value(number, bytes);
  uint64_t word = 0;
  switch (random_below(&dice, 5)) {
    case 0:
      CHECK_EQ(shmemx_kv_put(kv, key.text, key.n, bytes, n), SHMEMX_KV_OK);
      written[i] = number;
      break;
    case 1:
      CHECK_EQ(shmemx_kv_insert(kv, key.text, key.n, bytes, n), old ? SHMEMX_KV_EXISTS : SHMEMX_KV_OK);
      if (!old) written[i] = number;
      break;
    case 2:
      CHECK_EQ(shmemx_kv_update(kv, key.text, key.n, bytes, n), old ? SHMEMX_KV_OK : SHMEMX_KV_NOT_FOUND);
      if (old) written[i] = number;
      break;
    case 3:
      CHECK_EQ(shmemx_kv_compare_swap(kv, key.text, key.n, 0, 8, &number, &number, &word),
               old ? SHMEMX_KV_MISMATCH : SHMEMX_KV_NOT_FOUND);
      CHECK_EQ(word, old);
      break;
    default: CHECK_EQ(remove_key(kv, key), old ? SHMEMX_KV_OK : SHMEMX_KV_NOT_FOUND); written[i] = 0;
  }
}

static void read_one(void) {
  const size_t i = random_below(&dice, kKeys);
  const Key key = key_number(i);
  size_t n = 0;
  const int status = shmemx_kv_get(kv, key.text, key.n, bytes, kMostValue, &n);
  check(i, status, bytes, n);
  if (i % (size_t)npes == (size_t)me) CHECK_EQ(contains_key(kv, key), status);
}

static void complete(void) {
  shmemx_kv_quiet(kv);
  for (int k = 0; k < under_way; ++k) {
    struct Call* call = &calls[k];
    if (call->reads)
      check(call->number, call->status, call->value, call->n);
    else
      CHECK_EQ(call->status, call->wanted);
  }
  under_way = 0;
}

/* Whether a call on this key is under way: what a get would see then is known only when it returns. */
static int is_under_way(size_t i) {
  for (int k = 0; k < under_way; ++k)
    if (calls[k].number == i) return 1;
  return 0;
}

static void one_nbi(void) {
  struct Call* call = &calls[under_way];
  const size_t i = random_below(&dice, 3) ? my_key() : random_below(&dice, kKeys);
  if (is_under_way(i)) return;
  const int mine = i % (size_t)npes == (size_t)me, was_there = mine && written[i];
  *call = (struct Call){.key = key_number(i), .number = i, .wanted = SHMEMX_KV_OK};
  call->reads = !mine || random_below(&dice, 4) == 0;
  ++under_way;
  if (call->reads) {
    shmemx_kv_get_nbi(kv, call->key.text, call->key.n, call->value, kMostValue, &call->n, &call->status);
    return;
  }
  const uint64_t number = ++next_number;
  const size_t n = make_value(number, call->value);
  switch (random_below(&dice, 4)) {
    case 0:
      shmemx_kv_put_nbi(kv, call->key.text, call->key.n, call->value, n, &call->status);
      written[i] = number;
      break;
    case 1:
      shmemx_kv_insert_nbi(kv, call->key.text, call->key.n, call->value, n, &call->status);
      if (was_there)
        call->wanted = SHMEMX_KV_EXISTS;
      else
        written[i] = number;
      break;
    case 2:
      shmemx_kv_update_nbi(kv, call->key.text, call->key.n, call->value, n, &call->status);
      if (was_there)
        written[i] = number;
      else
        call->wanted = SHMEMX_KV_NOT_FOUND;
      break;
    default:
      shmemx_kv_remove_nbi(kv, call->key.text, call->key.n, &call->status);
      call->wanted = was_there ? SHMEMX_KV_OK : SHMEMX_KV_NOT_FOUND;
      written[i] = 0;
  }
}

static void many_nbi(void) {
  const size_t count = 1 + random_below(&dice, kMostUnderWay);
  for (size_t k = 0; k < count; ++k) {
    one_nbi();
    if (random_below(&dice, 16) == 0) shmemx_kv_fence(kv);
  }
  complete();
}

static Key counter(size_t i) { return key_of(99, (int)i); }

static void add(void) {
  const size_t i = random_below(&dice, kCounters);
  static int64_t operand;
  static Key key;
  shmemx_kv_fence(kv); /* the one before may still look at key and operand */
  key = counter(i);
  added[i] += operand = 1 + (int64_t)random_below(&dice, 100);
  if (random_below(&dice, 2)) {
    int64_t old = -1;
    CHECK_EQ(shmemx_kv_upsert(kv, key.text, key.n, SHMEMX_KV_INT64, SHMEMX_KV_ADD, &operand, &old),
             SHMEMX_KV_OK);
    CHECK_CMP(old, >=, last[i]);
    last[i] = old;
  } else {
    shmemx_kv_upsert_nbi(kv, key.text, key.n, SHMEMX_KV_INT64, SHMEMX_KV_ADD, &operand, NULL, NULL);
    shmemx_kv_quiet(kv);
  }
}

/* Counters of their own, as keys of a batch are all of one length; check_counters adds the two up. */
static void add_batch(void) {
  enum { kMany = 64, kLength = 8 };
  static char keys[kMany][kLength];
  static int64_t operands[kMany];
  const size_t count = random_below(&dice, kMany + 1);
  for (size_t k = 0; k < count; ++k) {
    const size_t i = random_below(&dice, kCounters);
    memcpy(keys[k], "counter", kLength);
    keys[k][0] = (char)i;
    operands[k] = (int64_t)k;
    added[i] += operands[k];
  }
  CHECK_EQ(
      shmemx_kv_upsert_batch(kv, count, keys, kLength, SHMEMX_KV_INT64, SHMEMX_KV_ADD, operands, NULL, NULL),
      SHMEMX_KV_OK);
}

static void step(void) {
  switch (random_below(&dice, 8)) {
    case 0:
    case 1: write_one(); break;
    case 2:
    case 3: read_one(); break;
    case 4: many_nbi(); break;
    case 5: add_batch(); break;
    default: add();
  }
}

static int64_t counted(const void* key, size_t n) {
  int64_t value = 0;
  const int status = shmemx_kv_get(kv, key, n, &value, sizeof value, NULL);
  CHECK_EITHER(status, SHMEMX_KV_OK, SHMEMX_KV_NOT_FOUND);
  return value;
}

/* How many counters there are; their sums must be what all have added. */
static long check_counters(void) {
  static long total[kCounters], source[kCounters];
  long there = 0;
  for (int i = 0; i < kCounters; ++i) source[i] = (long)added[i];
  shmem_barrier_all();
  shmem_long_sum_reduce(SHMEM_TEAM_WORLD, total, source, kCounters);
  for (size_t i = 0; i < kCounters; ++i) {
    const Key key = counter(i);
    char other[8] = "counter";
    other[0] = (char)i;
    CHECK_EQ(counted(key.text, key.n) + counted(other, 8), total[i]);
    there += contains_key(kv, key) == SHMEMX_KV_OK;
    there += shmemx_kv_contains(kv, other, 8) == SHMEMX_KV_OK;
  }
  return there;
}

static void check_all(void) {
  shmem_barrier_all();
  long there = 0;
  for (size_t i = (size_t)me; i < kKeys; i += (size_t)npes) {
    there += written[i] != 0;
    if (random_below(&dice, 8) != 0) continue;
    const Key key = key_number(i);
    size_t n = 0;
    const int status = shmemx_kv_get(kv, key.text, key.n, bytes, kMostValue, &n);
    check(i, status, bytes, n);
  }
  const long counters = check_counters(), all = sum_of_all(there) + counters;
  CHECK_EQ(shmemx_kv_count(kv), all);
  long visited = 0;
  uint64_t cursor = 0;
  Key key;
  size_t n = 0;
  while (shmemx_kv_next_local(kv, &cursor, key.text, sizeof key.text, &key.n, bytes, kMostValue, &n) ==
         SHMEMX_KV_OK)
    visited += 1;
  CHECK_EQ(visited, shmemx_kv_count_local(kv));
  CHECK_EQ(sum_of_all(visited), all);
  shmem_barrier_all();
}

static uint64_t capacity_of(Random* common) {
  return kKeys + 2 * kCounters + random_below(common, 3 * kKeys);
}

static void open_table(Random* common) {
  static const size_t sizes[] = {32, 64, 300, 4000, kMostValue};
  most_value = sizes[random_below(common, 5)];
  kv = table_of(48, most_value, capacity_of(common));
  memset(written, 0, sizeof written);
  memset(seen, 0, sizeof seen);
  memset(added, 0, sizeof added);
  memset(last, 0, sizeof last);
  next_number = 0;
}

int main(void) {
  shmem_init();
  me = shmem_my_pe(), npes = shmem_n_pes();
  seed_dice(&dice);
  Random common = {dice.state - (uint64_t)me};
  open_table(&common);
  const double end = end_of_run(2);
  int epochs = 0;
  do {
    for (int i = 0; i < kStepsOfAnEpoch; ++i) step();
    check_all();
    ++epochs;
    const size_t next = random_below(&common, 6);
    if (next < 2) CHECK_EQ(shmemx_kv_resize(kv, capacity_of(&common)), SHMEMX_KV_OK);
    if (next < 1) check_all();
    if (next == 5) {
      shmemx_kv_destroy(kv);
      open_table(&common);
    }
  } while (go_on(end));
  if (me == 0) printf("%d epochs\n", epochs);
  shmemx_kv_destroy(kv);
  shmem_finalize();
  return 0;
}
