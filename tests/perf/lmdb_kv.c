/* SPDX-License-Identifier: BSD-3-Clause */
/* What LMDB takes for gets and puts of a table on a disk, to compare with: one process, keys of 8 bytes in
 * random order.  Nothing is durable but at the end, as with a table on the NVM heap (MDB_NOSYNC).  With
 * "larger" the table is larger than the memory that this process may use: it reads no pages ahead
 * (MDB_NORDAHEAD), as LMDB's manual advises then, and a round is a sixteenth of the elements, spread over all
 * of them, as each waits for the disk.
 *
 * usage: lmdb_kv FOLDER ELEMENTS VALUE_BYTES [larger];  prints "name nanoseconds ns", the best of some
 * rounds.
 */
#include <lmdb.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kRounds = 3, kOfATransaction = 1000, kPart = 16 };

static MDB_env* environment;
static MDB_dbi table;
static size_t elements, value_bytes;
static size_t visited; /* of the elements, in a round */
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

/* Element i of a round, in an order that goes to and fro between all and visits each at most once: elements
 * is made odd, and the step has no common divisor. */
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

/* Puts what a round visits, so many in a transaction. */
static void put_visited(size_t together) {
  for (size_t i = 0; i < visited;) {
    MDB_txn* transaction;
    check(mdb_txn_begin(environment, NULL, 0, &transaction), "mdb_txn_begin");
    for (size_t n = 0; n < together && i < visited; ++n, ++i) put(transaction, i);
    check(mdb_txn_commit(transaction), "mdb_txn_commit");
  }
}

/* Gets the same, each with what is newest then. */
static void get_visited(size_t unused) {
  MDB_txn* transaction;
  (void)unused;
  check(mdb_txn_begin(environment, NULL, MDB_RDONLY, &transaction), "mdb_txn_begin");
  for (size_t i = 0; i < visited; ++i) {
    mdb_txn_reset(transaction);
    check(mdb_txn_renew(transaction), "mdb_txn_renew");
    get(transaction, i);
  }
  mdb_txn_abort(transaction);
}

static void measure(const char* name, void (*visit)(size_t), size_t argument) {
  double best = 0;
  for (int round = 0; round < kRounds; ++round) {
    const double start = now();
    visit(argument);
    const double took = (now() - start) / (double)visited;
    if (round == 0 || took < best) best = took;
  }
  printf("%s %.1f ns\n", name, best);
}

int main(int argc, char** argv) {
  const int larger = argc == 5 && strcmp(argv[4], "larger") == 0, right = argc == 4 || larger;
  elements = right ? strtoull(argv[2], NULL, 10) | 1 : 0;
  value_bytes = right ? strtoull(argv[3], NULL, 10) : 0;
  if (!right || value_bytes < sizeof(uint64_t)) {
    fprintf(stderr, "usage: lmdb_kv FOLDER ELEMENTS VALUE_BYTES (8 or more) [larger]\n");
    return 2;
  }
  value = calloc(1, value_bytes);
  MDB_txn* transaction;
  check(mdb_env_create(&environment), "mdb_env_create");
  check(mdb_env_set_mapsize(environment, (size_t)4 << 30), "mdb_env_set_mapsize");
  const unsigned ahead = larger ? MDB_NORDAHEAD : 0;
  check(mdb_env_open(environment, argv[1], MDB_NOSYNC | MDB_WRITEMAP | ahead, 0600), "mdb_env_open");
  check(mdb_txn_begin(environment, NULL, 0, &transaction), "mdb_txn_begin");
  check(mdb_dbi_open(transaction, NULL, 0, &table), "mdb_dbi_open");
  check(mdb_txn_commit(transaction), "mdb_txn_commit");
  visited = elements;
  put_visited(kOfATransaction);
  if (larger) visited = (elements + kPart - 1) / kPart;
  measure("get", get_visited, 0);
  measure("put", put_visited, 1);
  measure("put_together", put_visited, kOfATransaction);
  mdb_env_close(environment);
  free(value);
  return 0;
}
