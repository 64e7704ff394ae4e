/* SPDX-License-Identifier: BSD-3-Clause */
/* What LMDB takes for gets and puts of a table on a disk, to compare with: one process, keys of 8 bytes in
 * random order.  Nothing is durable but at the end, as with a table on the NVM heap (MDB_NOSYNC).  With a
 * limit no more than so many bytes of its file are in the page cache, and it reads no pages ahead
 * (MDB_NORDAHEAD), as its manual advises where a table does not fit into memory.
 *
 * usage: lmdb_kv FOLDER ELEMENTS VALUE_BYTES [LIMIT];  prints "name nanoseconds ns", the best of some rounds.
 */
#include "../../examples/out_of_core/mapped_file.h"

#include <lmdb.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kRounds = 3, kOfATransaction = 1000 };

static MDB_env* environment;
static MDB_dbi table;
static size_t elements, value_bytes;
static char* value;

static void check(int code, const char* what) {
  if (code == 0) return;
  fprintf(stderr, "lmdb_kv: %s: %s\n", what, mdb_strerror(code));
  exit(1);
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* Element i of a round, in an order that visits each once: elements is made odd, and the step has no common
 * divisor. */
static uint64_t key_of(size_t i) { return (uint64_t)(i * 2654435761U % elements) * 0x9e3779b97f4a7c15U; }

static void put(MDB_txn* transaction, size_t i) {
  uint64_t key = key_of(i);
  MDB_val name = {sizeof key, &key}, data = {value_bytes, value};
  memcpy(value, &key, sizeof key);
  check(mdb_put(transaction, table, &name, &data, 0), "mdb_put");
}

static void get(MDB_txn* transaction, size_t i) {
  uint64_t key = key_of(i);
  MDB_val name = {sizeof key, &key}, data;
  check(mdb_get(transaction, table, &name, &data), "mdb_get");
  memcpy(value, data.mv_data, value_bytes);
  if (memcmp(value, &key, sizeof key) != 0) check(MDB_CORRUPTED, "what was got");
}

/* Puts all, so many in a transaction. */
static void put_all(size_t together) {
  for (size_t i = 0; i < elements;) {
    MDB_txn* transaction;
    check(mdb_txn_begin(environment, NULL, 0, &transaction), "mdb_txn_begin");
    for (size_t n = 0; n < together && i < elements; ++n, ++i) put(transaction, i);
    check(mdb_txn_commit(transaction), "mdb_txn_commit");
  }
}

/* Gets all, each with what is newest then. */
static void get_all(size_t unused) {
  MDB_txn* transaction;
  (void)unused;
  check(mdb_txn_begin(environment, NULL, MDB_RDONLY, &transaction), "mdb_txn_begin");
  for (size_t i = 0; i < elements; ++i) {
    mdb_txn_reset(transaction);
    check(mdb_txn_renew(transaction), "mdb_txn_renew");
    get(transaction, i);
  }
  mdb_txn_abort(transaction);
}

static void measure(const char* name, void (*all)(size_t), size_t argument) {
  double best = 0;
  for (int round = 0; round < kRounds; ++round) {
    const double start = now();
    all(argument);
    const double took = (now() - start) / (double)elements;
    if (round == 0 || took < best) best = took;
  }
  printf("%s %.1f ns\n", name, best);
}

/* Of the file of the environment. */
static void keep_below(const char* folder, size_t limit) {
  MDB_envinfo info;
  check(mdb_env_info(environment, &info), "mdb_env_info");
  check(mdb_env_get_fd(environment, &mapped.fd), "mdb_env_get_fd");
  mapped.begin = info.me_mapaddr;
  mapped.bytes = (2 * (info.me_last_pgno + 1) * kSystemPage + kChunk - 1) / kChunk * kChunk; /* it may grow */
  if (mapped.bytes > info.me_mapsize) mapped.bytes = info.me_mapsize;
  snprintf(mapped.path, sizeof mapped.path, "%s", folder);
  mapped_keep_below(limit);
}

int main(int argc, char** argv) {
  const int right = argc == 4 || argc == 5;
  elements = right ? strtoull(argv[2], NULL, 10) | 1 : 0;
  value_bytes = right ? strtoull(argv[3], NULL, 10) : 0;
  const size_t limit = argc == 5 ? strtoull(argv[4], NULL, 10) : 0;
  if (!right || value_bytes < sizeof(uint64_t)) {
    fprintf(stderr, "usage: lmdb_kv FOLDER ELEMENTS VALUE_BYTES (8 or more) [LIMIT]\n");
    return 2;
  }
  value = calloc(1, value_bytes);
  MDB_txn* transaction;
  check(mdb_env_create(&environment), "mdb_env_create");
  check(mdb_env_set_mapsize(environment, (size_t)4 << 30), "mdb_env_set_mapsize");
  const unsigned ahead = limit > 0 ? MDB_NORDAHEAD : 0;
  check(mdb_env_open(environment, argv[1], MDB_NOSYNC | MDB_WRITEMAP | ahead, 0600), "mdb_env_open");
  check(mdb_txn_begin(environment, NULL, 0, &transaction), "mdb_txn_begin");
  check(mdb_dbi_open(transaction, NULL, 0, &table), "mdb_dbi_open");
  check(mdb_txn_commit(transaction), "mdb_txn_commit");
  put_all(kOfATransaction);
  if (limit > 0) keep_below(argv[1], limit);
  measure("get", get_all, 0);
  measure("put", put_all, 1);
  measure("put_together", put_all, kOfATransaction);
  mapped_keep_no_more();
  printf("most %zu bytes\n", mapped.most);
  mdb_env_close(environment);
  free(value);
  return 0;
}
