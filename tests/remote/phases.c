/* SPDX-License-Identifier: BSD-3-Clause */
/* A PE that says "running" once it is where the argument names, and stays there: until a byte comes on its
 * standard input, which lets it go on, or until somebody ends the job, but no longer than a minute. */
#include <shmem.h>
#include <shmemx.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

/* Far more than is local. */
enum { kBytes = 4 << 20, kPiece = 256 << 10, kSeconds = 60 };

static unsigned char* far;
static unsigned char* near;

static void say_running(void) {
  puts("running");
  fflush(stdout);
}

static void await_byte(void) {
  char byte;
  CHECK(read(STDIN_FILENO, &byte, 1) >= 0);
}

static void lease(void) {
  void* const block = shmemx_remote_alloc(kPiece);
  CHECK(block != NULL);
  shmemx_remote_free(block);
}

static void fault_and_read(void) {
  for (size_t at = 0; at < kBytes; at += 4096) CHECK(far[at] == 7);
}

/* Nothing is read, so who stores waits for a frame, whose page has to be written first. */
static void write_back(void) {
  shmemx_overwrite(far, kBytes);
  memset(far, 8, kBytes);
}

static void get(void) {
  for (size_t at = 0; at < kBytes; at += kPiece) shmemx_remote_get(near, far + at, kPiece);
}

static void put(void) {
  for (size_t at = 0; at < kBytes; at += kPiece) shmemx_remote_put(far + at, near, kPiece);
}

static void stay_in(void (*phase)(void)) {
  const time_t end = time(NULL) + kSeconds;
  phase();
  say_running();
  while (time(NULL) < end) phase();
}

int main(int argc, char** argv) {
  const struct {
    const char* name;
    void (*run)(void);
  } loops[] = {{"lease", lease}, {"read", fault_and_read}, {"write", write_back}, {"get", get}, {"put", put}};
  CHECK(argc == 2);
  if (strcmp(argv[1], "init") == 0) {
    say_running();
    await_byte();
  }
  shmem_init();
  if (strcmp(argv[1], "first") == 0) { /* has had nothing to do with servers yet */
    say_running();
    await_byte();
  }
  far = shmemx_remote_alloc(kBytes);
  near = malloc(kPiece);
  CHECK(far != NULL && near != NULL);
  memset(far, 7, kBytes);
  memset(near, 9, kPiece);
  for (size_t i = 0; i < sizeof loops / sizeof *loops; ++i) {
    if (strcmp(argv[1], loops[i].name) == 0) stay_in(loops[i].run);
  }
  if (strcmp(argv[1], "compute") == 0) { /* uses none of it meanwhile */
    say_running();
    await_byte();
    fault_and_read();
  }
  shmemx_remote_free(far);
  free(near);
  if (strcmp(argv[1], "finalize") == 0) {
    say_running();
    await_byte();
  }
  shmem_finalize();
  return 0;
}
