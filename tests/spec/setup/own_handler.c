/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that handles SIGURG before shmem_init keeps its handler, whoever asks by it what the PE waits for. */
#include <signal.h>

#include "check.h"

static volatile sig_atomic_t calls;

static void handle(int signal_number) {
  (void)signal_number;
  ++calls;
}

int main(void) {
  signal(SIGURG, handle);
  shmem_init();
  raise(SIGURG);
  CHECK_EQ(calls, 1);
  shmem_barrier_all();
  shmem_finalize();
  raise(SIGURG);
  CHECK_EQ(calls, 2);
  return 0;
}
