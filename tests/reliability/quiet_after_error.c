/* SPDX-License-Identifier: BSD-3-Clause */
/* A quiet after an error says nothing that is not so.
 *     quiet_after_error put|block|iput|direct|get|signal|add|fetch lost|kept quiet|pe_quiet|barrier
 * PE 0 has many operations on PE 1 under way, waits for them by that call, and asks PE 1 whether they are
 * done; again and again. lost: PE 1 stands still, so that nothing is done, and PE 0 shuts down its
 * connections: the call must not return. kept: they last, and it is SHMEM_FAULT_AT that breaks something.
 * All operations are small enough for packets, but for the long put of `direct`. */
#include <shmem.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "connections.h"
#include "packed_limit.h"

enum { kWords = 1500, kRounds = 2000, kBlock = 32, kDirect = 2 * kPackedUpTo / 8 };

static long to[kWords], from[kWords], here[kWords];
static uint64_t signals;
static int process;

static void fail(const char* what) {
  printf("%s\n", what);
  fflush(stdout);
  shmem_global_exit(9);
}

static void stand_still(void) {
  char path[64], text[256];
  snprintf(path, sizeof path, "/proc/%d/stat", process);
  kill(process, SIGSTOP);
  do {
    FILE* file = fopen(path, "r");
    if (file == NULL || fgets(text, sizeof text, file) == NULL) fail("PE 1 is gone");
    fclose(file);
  } while (strstr(text, ") T ") == NULL);
}

static void lose_connections(void) {
  if (break_connections() == 0) fail("there was nothing to lose");
}

/* Kinds are their first letters. */
static int stores(char kind) { return strchr("pbids", kind) != NULL; }

static void issue(char kind, long round) {
  for (long i = 0; i < kWords; ++i) here[i] = stores(kind) ? round * kWords + i : -1;
  if (kind == 'i') shmem_long_iput(to, here, 1, 1, kWords, 1);
  if (kind == 'd') shmem_long_put_nbi(to, here, kDirect, 1);
  if (kind == 'd') shmem_long_put_nbi(to + kDirect, here + kDirect, kWords - kDirect, 1);
  for (long i = 0; i < kWords && kind == 'b'; i += kBlock)
    shmem_long_put(&to[i], &here[i], (size_t)(i + kBlock < kWords ? kBlock : kWords - i), 1);
  for (long i = 0; i < kWords; ++i) {
    if (kind == 'p') shmem_long_put_nbi(&to[i], &here[i], 1, 1);
    if (kind == 'g') shmem_long_get_nbi(&here[i], &from[i], 1, 1);
    if (kind == 's') shmem_long_put_signal_nbi(&to[i], &here[i], 1, &signals, 1, SHMEM_SIGNAL_ADD, 1);
    if (kind == 'a') shmem_long_atomic_add(&to[i], 1, 1);
    if (kind == 'f') shmem_long_atomic_fetch_add_nbi(&here[i], &to[i], 1, 1);
  }
}

static void complete(const char* call) {
  const int other = 1;
  if (strcmp(call, "quiet") == 0) shmem_quiet();
  if (strcmp(call, "pe_quiet") == 0) shmem_pe_quiet(&other, 1);
  if (strcmp(call, "barrier") == 0) shmem_barrier_all();
}

/* What quiet has said is so.  Gets that are waited for are no part of it. */
static void ask(char kind, long round) {
  static long there[kWords];
  shmem_long_get(there, to, kWords, 1);
  for (long i = 0; i < kWords; ++i) {
    const long value = round * kWords + i;
    if (stores(kind) && there[i] != value) fail("a put is not done");
    if (kind == 'g' && here[i] != i + 1) fail("a get is not done");
    if ((kind == 'a' || kind == 'f') && there[i] != round) fail("an atomic is not done");
    if (kind == 'f' && here[i] != round - 1) fail("a fetched value has not come");
  }
  if (kind == 's' && shmem_uint64_g(&signals, 1) != (uint64_t)(round * kWords)) fail("a signal is not done");
}

int main(int count, char** arguments) {
  if (count != 4) return 2;
  const char kind = arguments[1][0];
  const char* call = arguments[3];
  const int loses = strcmp(arguments[2], "lost") == 0;
  for (long i = 0; i < kWords; ++i) from[i] = i + 1;
  shmem_init();
  process = getpid();
  shmem_barrier_all();
  if (shmem_my_pe() == 0) {
    process = shmem_int_g(&process, 1);
    for (long round = 1; round <= kRounds; ++round) {
      const int now = loses && round > 1;
      if (now) stand_still();
      issue(kind, round);
      if (now) lose_connections();
      complete(call);
      if (now) fail("the call has returned, though nothing was done");
      ask(kind, round);
      if (round == 1) printf("under way\n");
      fflush(stdout);
    }
    printf("to the end\n");
  } else if (strcmp(call, "barrier") == 0) {
    for (long round = 1; round <= kRounds; ++round) shmem_barrier_all();
  }
  shmem_barrier_all();
  shmem_finalize();
  return 0;
}
