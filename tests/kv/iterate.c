/* SPDX-License-Identifier: BSD-3-Clause */
/* count, count_local and next_local, also while others change the table. */
#include "kv_check.h"

enum { kStay = 300, kGo = 300, kMost = 4096 };

static int me, npes;
static char come[64][kMost]; /* how often an element has come, by PE and number */

static int number_of(const Key* key, int* pe) {
  int number = -1;
  CHECK_EQ(sscanf(key->text, "%d of PE %d", &number, pe), 2);
  CHECK_CMP(number, >=, 0);
  CHECK_CMP(number, <, kMost);
  CHECK_CMP(*pe, >=, 0);
  CHECK_CMP(*pe, <, npes);
  return number;
}

/* Visits all elements of this PE; returns how many. */
static uint64_t visit(shmemx_kv_t kv) {
  uint64_t cursor = 0, visited = 0;
  Key key;
  long value;
  int status, pe = -1;
  memset(come, 0, sizeof come);
  for (;; ++visited) {
    size_t n = 99;
    memset(&key, 0, sizeof key);
    status = shmemx_kv_next_local(kv, &cursor, key.text, sizeof key.text, &key.n, &value, sizeof value, &n);
    if (status != SHMEMX_KV_OK) break;
    CHECK_CMP(key.n, <, sizeof key.text);
    key.text[key.n] = '\0'; /* behind the key anything may be */
    CHECK_EQ(n, sizeof value);
    const int number = number_of(&key, &pe);
    const Key wanted = key_of(pe, number);
    CHECK_EQ(key.n, wanted.n);
    CHECK_BYTES(key.text, wanted.text, key.n);
    CHECK_EQ(shmemx_kv_pe(kv, key.text, key.n), me);
    CHECK_EQ(value % kMost, number);
    if (number < kStay) CHECK_FOR(number, come[pe][number], 0); /* others may go, and come to another slot */
    come[pe][number]++;
  }
  CHECK_EQ(status, SHMEMX_KV_NOT_FOUND);
  CHECK_EQ(shmemx_kv_next_local(kv, &cursor, key.text, sizeof key.text, NULL, NULL, 0, NULL),
           SHMEMX_KV_NOT_FOUND);
  return visited;
}

static int come_here(shmemx_kv_t kv, int pe, int number) {
  const Key key = key_of(pe, number);
  return shmemx_kv_pe(kv, key.text, key.n) == me;
}

static void test_at_rest(shmemx_kv_t kv) {
  CHECK_EQ(visit(kv), 0);
  shmem_barrier_all();
  for (int i = 0; i < kStay; ++i) CHECK_FOR(i, insert_long(kv, key_of(me, i), i), SHMEMX_KV_OK);
  shmem_barrier_all();
  const uint64_t mine = visit(kv);
  CHECK_EQ(mine, shmemx_kv_count_local(kv));
  CHECK_EQ(sum_of_all((long)mine), (long)kStay * npes);
  CHECK_EQ(shmemx_kv_count(kv), (uint64_t)(kStay * npes));
  for (int pe = 0; pe < npes; ++pe)
    for (int i = 0; i < kStay; ++i) CHECK_AT(come[pe], i, come_here(kv, pe, i));
  shmemx_kv_stats_t stats;
  shmemx_kv_stats(kv, &stats);
  CHECK_EQ(stats.elements, mine);
  CHECK_CMP(stats.slots, >=, mine);
  shmem_barrier_all();
}

/* Too little room: the same element comes again. */
static void test_room(shmemx_kv_t kv) {
  uint64_t cursor = 0;
  Key key, again;
  long value = 0;
  size_t n = 0;
  if (shmemx_kv_count_local(kv) > 0) {
    size_t long_key = 0, long_value = 0;
    CHECK_EQ(shmemx_kv_next_local(kv, &cursor, key.text, 3, &long_key, &value, sizeof value, &n),
             SHMEMX_KV_TOO_LARGE);
    CHECK_EQ(cursor, 0);
    CHECK_EQ(shmemx_kv_next_local(kv, &cursor, key.text, sizeof key.text, &key.n, &value, 7, &long_value),
             SHMEMX_KV_TOO_LARGE);
    CHECK_EQ(cursor, 0);
    CHECK_EQ(shmemx_kv_next_local(kv, &cursor, key.text, sizeof key.text, &key.n, NULL, 0, NULL),
             SHMEMX_KV_OK);
    CHECK_CMP(cursor, !=, 0);
    CHECK_EQ(long_key, key.n); /* how much room it wants */
    CHECK_EQ(long_value, sizeof value);
    cursor = 0;
    CHECK_EQ(shmemx_kv_next_local(kv, &cursor, again.text, sizeof again.text, &again.n, &value, 8, &n),
             SHMEMX_KV_OK);
    CHECK_EQ(again.n, key.n);
    CHECK_BYTES(again.text, key.text, key.n);
    CHECK_EQ(n, 8);
    CHECK_EQ(long_at(kv, again), value);
  }
  shmem_barrier_all();
}

/* Every PE visits while it and the others insert, remove and update: what stays comes once, whatever its
 * value. */
static void test_while_others_change(shmemx_kv_t kv) {
  Random dice = {(uint64_t)me};
  for (int round = 0; round < rounds(40, 8); ++round) {
    for (int i = 0; i < kGo; ++i) {
      const Key key = key_of(me, kStay + (int)random_below(&dice, kGo));
      const long number = atol(key.text);
      if (random_below(&dice, 2)) {
        CHECK_FOR(round, put_long(kv, key, number + kMost * round), SHMEMX_KV_OK);
      } else {
        const int status = remove_key(kv, key);
        CHECK_EITHER(status, SHMEMX_KV_OK, SHMEMX_KV_NOT_FOUND);
      }
      const int stays = (int)random_below(&dice, kStay);
      if (i % 4 == 0)
        CHECK_FOR(round, update_long(kv, key_of(me, stays), stays + kMost * round), SHMEMX_KV_OK);
    }
    if (round % 4 == me % 4) {
      visit(kv);
      for (int pe = 0; pe < npes; ++pe)
        for (int i = 0; i < kStay; ++i) CHECK_AT(come[pe], i, come_here(kv, pe, i));
    }
  }
  shmem_barrier_all();
}

/* What is visited may be removed on the way. */
static void test_remove_all(shmemx_kv_t kv) {
  uint64_t cursor = 0;
  Key key;
  while (shmemx_kv_next_local(kv, &cursor, key.text, sizeof key.text, &key.n, NULL, 0, NULL) == SHMEMX_KV_OK)
    CHECK_EQ(remove_key(kv, key), SHMEMX_KV_OK);
  CHECK_EQ(shmemx_kv_count_local(kv), 0);
  shmem_barrier_all();
  CHECK_EQ(shmemx_kv_count(kv), 0);
  shmem_barrier_all();
}

int main(void) {
  shmem_init();
  me = shmem_my_pe(), npes = shmem_n_pes();
  CHECK_CMP(npes, <=, 64);
  shmemx_kv_t kv = table_of(48, 8, (uint64_t)((kStay + kGo) * npes));
  test_at_rest(kv);
  test_room(kv);
  test_while_others_change(kv);
  test_remove_all(kv);
  shmemx_kv_destroy(kv);
  shmem_finalize();
  return 0;
}
