/* SPDX-License-Identifier: BSD-3-Clause */
/* Open MPI 3256, 4803 and 9310: ways to end a program.  `exit_paths <way>` */
#include <string.h>
#include <unistd.h>

#include "check.h"

static int is(const char* way, const char* name) { return strcmp(way, name) == 0; }

int main(int count, char** arguments) {
  const char* way = count > 1 ? arguments[1] : "";
  if (is(way, "never_init")) return 0;
  shmem_init();
  const int me = shmem_my_pe();
  if (is(way, "return")) return 0;                      /* as after start_pes */
  if (is(way, "return_of_two")) return shmem_init(), 0; /* each start is ended */
  if (is(way, "exit")) exit(0);
  if (is(way, "late_exit")) {
    usleep(me == 0 ? 200000 : 0);
    exit(0);
  }
  if (is(way, "one_fails")) exit(me == 1 ? 5 : 0);
  if (is(way, "one_returns_5") && me == 1) return 5;
  if (is(way, "one_leaves") && me == 1) _exit(6);
  shmem_barrier_all();
  shmem_finalize();
  if (is(way, "finalize_twice")) shmem_finalize();
  if (is(way, "fails_after_finalize")) return me == 1 ? 7 : 0;
  return 0;
}
