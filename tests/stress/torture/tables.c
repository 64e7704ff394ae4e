/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables of shmemx_kv that all lanes share.  Most keys are written by one thread alone, which therefore knows
 * what each of its calls must return, one by one, in batches and nonblocking; others check that what they get
 * is whole. Some keys are counters that all add to. */
#include <shmemx.h>

#include "kv_check.h"
#include "torture.h"

enum { kTables = 2, kKeys = 48, kSums = 6, kShort = 8, kLongest = 3000, kAtOnce = 12 };

/* Of one key that is mine: a value of so many bytes that follow from `version`; 0: it is not there. */
typedef struct {
  uint64_t version;
  size_t bytes;
} Known;

typedef struct {
  shmemx_kv_t kv; /* NULL: there is none */
  size_t longest; /* value */
  Known known[kLanes][kKeys];
  long added[kLanes][kSums]; /* to counters, by this PE */
} Table;

static Table tables[kTables];

/* All of one length, so that batches can have them. */
typedef struct {
  int32_t pe, lane, number;
} TableKey;

static TableKey counter(int number) { return (TableKey){-1, -1, number}; }

/* ---- One key ----------------------------------------------------------------------------------------------
 */

/* A value's first bytes are its version, from which the others follow. */
static void make_value(unsigned char* value, Known known) {
  memcpy(value, &known.version, kShort);
  make_bytes(value + kShort, known.bytes - kShort, known.version);
}

static Known new_value(const Table* table, Random* own) {
  Known known = {next_random(own) | 1, kShort};
  if (table->longest > kShort)
    known.bytes += random_below(own, random_below(own, 4) ? 40 : table->longest - kShort);
  return known;
}

static void check_whole(const unsigned char* value, size_t bytes) {
  uint64_t version;
  memcpy(&version, value, kShort);
  CHECK_MADE(value + kShort, bytes - kShort, version);
}

static void check_value(Known known, int status, const unsigned char* value, size_t bytes) {
  CHECK_EQ(status, known.version ? SHMEMX_KV_OK : SHMEMX_KV_NOT_FOUND);
  if (!known.version) return;
  uint64_t version;
  memcpy(&version, value, kShort);
  CHECK_EQ(version, known.version);
  CHECK_EQ(bytes, known.bytes);
  check_whole(value, bytes);
}

typedef enum { kPut, kInsert, kUpdate, kGet, kRemove, kContains, kSwap, kCalls } Call;

static void call_one(const Table* table, TableKey key, Known* known, Random* own) {
  unsigned char value[kLongest];
  size_t bytes = 0;
  const Known next = new_value(table, own);
  const int found = known->version != 0;
  shmemx_kv_t kv = table->kv;
  make_value(value, next);
  switch ((Call)random_below(own, kCalls)) {
    case kPut:
      CHECK_EQ(shmemx_kv_put(kv, &key, sizeof key, value, next.bytes), SHMEMX_KV_OK);
      *known = next;
      break;
    case kInsert:
      CHECK_EQ(shmemx_kv_insert(kv, &key, sizeof key, value, next.bytes),
               found ? SHMEMX_KV_EXISTS : SHMEMX_KV_OK);
      if (!found) *known = next;
      break;
    case kUpdate:
      CHECK_EQ(shmemx_kv_update(kv, &key, sizeof key, value, next.bytes),
               found ? SHMEMX_KV_OK : SHMEMX_KV_NOT_FOUND);
      if (found) *known = next;
      break;
    case kGet: {
      const int status = shmemx_kv_get(kv, &key, sizeof key, value, sizeof value, &bytes);
      check_value(*known, status, value, bytes);
      break;
    }
    case kRemove:
      CHECK_EQ(shmemx_kv_remove(kv, &key, sizeof key), found ? SHMEMX_KV_OK : SHMEMX_KV_NOT_FOUND);
      *known = (Known){0, 0};
      break;
    case kContains:
      CHECK_EQ(shmemx_kv_contains(kv, &key, sizeof key), found ? SHMEMX_KV_OK : SHMEMX_KV_NOT_FOUND);
      break;
    default: { /* only where the rest does not follow from what is swapped */
      if (table->longest > kShort) break;
      const uint64_t expected = random_below(own, 2) ? known->version : ~known->version;
      uint64_t old = 0;
      const int wanted = !found                       ? SHMEMX_KV_NOT_FOUND
                         : expected == known->version ? SHMEMX_KV_OK
                                                      : SHMEMX_KV_MISMATCH;
      CHECK_EQ(shmemx_kv_compare_swap(kv, &key, sizeof key, 0, kShort, &expected, value, &old), wanted);
      if (found) CHECK_EQ(old, known->version);
      if (wanted == SHMEMX_KV_OK) known->version = next.version;
    }
  }
}

/* ---- Several at once --------------------------------------------------------------------------------------
 */

typedef struct {
  TableKey keys[kAtOnce];
  int wanted[kAtOnce], status[kAtOnce];
  size_t bytes[kAtOnce];
  Known known[kAtOnce]; /* what the call must have found */
  unsigned char values[kAtOnce][kLongest];
  size_t n;
} Calls;

/* Nonblocking calls on any of my keys, the same ones too: to one key they take effect in their order. */
static void call_nonblocking(const Table* table, const TableKey* keys, Known* known, Random* own) {
  static _Thread_local Calls calls;
  shmemx_kv_t kv = table->kv;
  calls.n = 1 + random_below(own, kAtOnce);
  int gets[kAtOnce];
  for (size_t i = 0; i < calls.n; ++i) {
    const size_t k = random_below(own, kKeys), kind = random_below(own, 4);
    const int found = known[k].version != 0;
    const Known next = new_value(table, own);
    unsigned char* value = calls.values[i];
    int* status = &calls.status[i];
    *status = SHMEMX_KV_PENDING;
    calls.wanted[i] = found ? SHMEMX_KV_OK : SHMEMX_KV_NOT_FOUND;
    gets[i] = kind == 0;
    calls.known[i] = known[k];
    if (kind == 0) {
      shmemx_kv_get_nbi(kv, &keys[k], sizeof *keys, value, kLongest, &calls.bytes[i], status);
      continue;
    }
    make_value(value, next);
    if (kind == 1) {
      shmemx_kv_put_nbi(kv, &keys[k], sizeof *keys, value, next.bytes, status);
      calls.wanted[i] = SHMEMX_KV_OK;
      known[k] = next;
    } else if (kind == 2) {
      shmemx_kv_update_nbi(kv, &keys[k], sizeof *keys, value, next.bytes, status);
      if (found) known[k] = next;
    } else {
      shmemx_kv_remove_nbi(kv, &keys[k], sizeof *keys, status);
      known[k] = (Known){0, 0};
    }
  }
  for (size_t looks = random_below(own, 4); looks > 0 && !shmemx_kv_test(kv); --looks) {
  }
  if (random_below(own, 2))
    shmemx_kv_quiet(kv);
  else
    shmem_quiet();
  for (size_t i = 0; i < calls.n; ++i) {
    CHECK_AT(calls.status, i, calls.wanted[i]);
    if (gets[i]) check_value(calls.known[i], calls.status[i], calls.values[i], calls.bytes[i]);
  }
}

/* A batch has no order, so its keys differ: they are neighbours.  Its values have one length. */
static void call_batch(const Table* table, const TableKey* keys, Known* known, Random* own) {
  static _Thread_local Calls calls;
  calls.n = 1 + random_below(own, kAtOnce);
  const size_t first = random_below(own, kKeys - calls.n);
  const TableKey* chosen = keys + first;
  Known* mine = known + first;
  const size_t length = new_value(table, own).bytes;
  unsigned char* values = calls.values[0];
  const int puts = random_below(own, 2) != 0;
  if (random_below(own, 3) == 0) {
    shmemx_kv_remove_batch(table->kv, calls.n, chosen, sizeof *chosen, calls.status);
    for (size_t i = 0; i < calls.n; ++i) {
      CHECK_AT(calls.status, i, mine[i].version ? SHMEMX_KV_OK : SHMEMX_KV_NOT_FOUND);
      mine[i] = (Known){0, 0};
    }
  } else if (puts) {
    for (size_t i = 0; i < calls.n; ++i) {
      mine[i] = (Known){next_random(own) | 1, length};
      make_value(values + i * length, mine[i]);
    }
    CHECK_EQ(shmemx_kv_put_batch(table->kv, calls.n, chosen, sizeof *chosen, values, length, calls.status),
             SHMEMX_KV_OK);
    for (size_t i = 0; i < calls.n; ++i) CHECK_AT(calls.status, i, SHMEMX_KV_OK);
  } else {
    shmemx_kv_get_batch(table->kv, calls.n, chosen, sizeof *chosen, values, kLongest, calls.bytes,
                        calls.status);
    for (size_t i = 0; i < calls.n; ++i)
      check_value(mine[i], calls.status[i], calls.values[i], calls.bytes[i]);
  }
}

/* What another thread writes, maybe at this moment. */
static void look_at_others(const Table* table, const Lane* lane, Random* own) {
  unsigned char value[kLongest];
  size_t bytes = 0;
  const TableKey key = {(int32_t)random_below(own, (size_t)shmem_n_pes()), lane->number,
                        (int32_t)random_below(own, kKeys)};
  const int status = shmemx_kv_get(table->kv, &key, sizeof key, value, sizeof value, &bytes);
  CHECK_EITHER(status, SHMEMX_KV_OK, SHMEMX_KV_NOT_FOUND);
  if (status == SHMEMX_KV_OK) check_whole(value, bytes);
}

static void add_to_counters(Table* table, int lane, Random* own) {
  for (int i = 0; i < 4; ++i) {
    const int number = (int)random_below(own, kSums);
    const TableKey key = counter(number);
    const int64_t value = (int64_t)random_below(own, 1000) - 500;
    if (random_below(own, 2))
      CHECK_EQ(shmemx_kv_upsert(table->kv, &key, sizeof key, SHMEMX_KV_INT64, SHMEMX_KV_ADD, &value, NULL),
               SHMEMX_KV_OK);
    else
      shmemx_kv_upsert_nbi(table->kv, &key, sizeof key, SHMEMX_KV_INT64, SHMEMX_KV_ADD, &value, NULL, NULL);
    table->added[lane][number] += value;
  }
}

void use_tables(Lane* lane, const Team* team, Random* dice, uint64_t seed) {
  (void)team, (void)dice, (void)seed;
  Random* own = &lane->own;
  Table* table = &tables[random_below(own, kTables)];
  if (table->kv == NULL) return;
  TableKey keys[kKeys];
  for (int i = 0; i < kKeys; ++i) keys[i] = (TableKey){shmem_my_pe(), lane->number, i};
  Known* known = table->known[lane->number];
  for (int i = 0; i < 6; ++i) {
    switch (random_below(own, 6)) {
      case 0: call_nonblocking(table, keys, known, own); break;
      case 1: call_batch(table, keys, known, own); break;
      case 2: look_at_others(table, lane, own); break;
      case 3: add_to_counters(table, lane->number, own); break;
      default:
        for (int k = 0; k < 4; ++k) {
          const size_t number = random_below(own, kKeys);
          call_one(table, keys[number], &known[number], own);
        }
    }
  }
}

/* ---- Between rounds ---------------------------------------------------------------------------------------
 */

/* Each PE walks the elements that it has: together they are what all writers know, and nothing else. */
static uint64_t walk(const Table* table) {
  unsigned char value[kLongest];
  uint64_t cursor = 0, elements = 0;
  size_t key_bytes, bytes;
  TableKey key;
  int status;
  while ((status = shmemx_kv_next_local(table->kv, &cursor, &key, sizeof key, &key_bytes, value, sizeof value,
                                        &bytes)) == SHMEMX_KV_OK) {
    CHECK_EQ(key_bytes, sizeof key);
    CHECK_EQ(shmemx_kv_pe(table->kv, &key, sizeof key), shmem_my_pe());
    if (key.pe >= 0) check_whole(value, bytes);
    ++elements;
  }
  CHECK_EQ(status, SHMEMX_KV_NOT_FOUND);
  return elements;
}

static void verify(const Table* table) {
  long mine = 0, counters = 0;
  for (int lane = 0; lane < kLanes; ++lane)
    for (int i = 0; i < kKeys; ++i) {
      const TableKey key = {shmem_my_pe(), lane, i};
      unsigned char value[kLongest];
      size_t bytes = 0;
      const int status = shmemx_kv_get(table->kv, &key, sizeof key, value, sizeof value, &bytes);
      check_value(table->known[lane][i], status, value, bytes);
      mine += status == SHMEMX_KV_OK;
    }
  for (int i = 0; i < kSums; ++i) {
    long share = 0;
    int64_t got = 0;
    const TableKey key = counter(i);
    for (int lane = 0; lane < kLanes; ++lane) share += table->added[lane][i];
    const long sum = sum_of_all(share);
    const int status = shmemx_kv_get(table->kv, &key, sizeof key, &got, sizeof got, NULL);
    CHECK_EITHER(status, SHMEMX_KV_OK, SHMEMX_KV_NOT_FOUND);
    CHECK_FOR(i, got, sum);
    counters += status == SHMEMX_KV_OK;
  }
  const long elements = sum_of_all(mine) + counters;
  CHECK_EQ(shmemx_kv_count(table->kv), (uint64_t)elements);
  CHECK_EQ(sum_of_all((long)walk(table)), elements);
  shmem_barrier_all();
}

void verify_tables(void) {
  for (int t = 0; t < kTables; ++t) {
    check_context("table %d", t);
    if (tables[t].kv != NULL) verify(&tables[t]);
  }
}

static void destroy(Table* table) {
  if (table->kv != NULL) shmemx_kv_destroy(table->kv);
  memset(table, 0, sizeof *table);
}

void change_tables(Random* plan) {
  const uint64_t most = (uint64_t)(kLanes * kKeys * shmem_n_pes() + kSums);
  for (int t = 0; t < kTables; ++t) {
    Table* table = &tables[t];
    check_context("changing table %d", t);
    const size_t what = random_below(plan, 5);
    if (table->kv == NULL) {
      table->longest = t == 0 ? kShort : kLongest;
      table->kv = table_of(sizeof(TableKey), table->longest, most);
    } else if (what == 0) {
      destroy(table);
    } else if (what == 1) {
      CHECK_EQ(shmemx_kv_resize(table->kv, most + random_below(plan, 3 * most)), SHMEMX_KV_OK);
    }
  }
}

void close_tables(void) {
  for (int t = 0; t < kTables; ++t) destroy(&tables[t]);
}
