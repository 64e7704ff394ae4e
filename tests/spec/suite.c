/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs the programs of a suite one after the other in one job: each goes from shmem_init to shmem_finalize,
 * and the next one begins anew (add_suite in functions.cmake).
 *
 * usage: suite [PART...]        only the programs whose names contain one of these
 *
 * Ends with 0 if all have returned 0 or 77, which means that a test cannot run here.  A check that fails ends
 * the job, as it does in a program of its own; the last name printed says which program it was. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "helpers.h"

#define X(NAME) int NAME##_main(int, char**);
#include SUITE
#undef X

typedef struct {
  const char* name;
  int (*main)(int, char**);
} Program;

#define X(NAME) {#NAME, NAME##_main},
static const Program programs[] = {
#include SUITE
};
#undef X

static int chosen(const char* name, int count, char** parts) {
  for (int i = 0; i < count; ++i)
    if (strstr(name, parts[i]) != NULL) return 1;
  return count == 0;
}

int main(int argc, char** argv) {
  const char* rank = getenv("PMIX_RANK");
  const int speaks = rank == NULL || strcmp(rank, "0") == 0;
  int ran = 0, passed = 0;
  for (size_t i = 0; i < sizeof programs / sizeof programs[0]; ++i) {
    if (!chosen(programs[i].name, argc - 1, argv + 1)) continue;
    if (speaks) {
      printf("%s ...\n", programs[i].name);
      fflush(stdout);
    }
    char* arguments[] = {argv[0], NULL};
    const double begun = now_seconds();
    const int code = programs[i].main(1, arguments);
    if (code != 0 && code != 77) {
      fprintf(stderr, "%s returned %d\n", programs[i].name, code);
      exit(code);
    }
    if (speaks)
      printf("%s %s, %.2f s\n", programs[i].name, code == 0 ? "passed" : "cannot run here",
             now_seconds() - begun);
    ++ran, passed += code == 0;
  }
  if (ran == 0) fprintf(stderr, "no program has such a name\n");
  return ran == 0 ? 1 : passed == 0 ? 77 : 0;
}
