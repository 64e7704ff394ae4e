/* SPDX-License-Identifier: BSD-3-Clause */
/* A library that the program loads after shmem_init (dying.c): when it is unloaded, at the end of the
 * process, no agent is left, which could use it. */
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

__attribute__((destructor)) static void look_for_agent(void) {
  glob_t names;
  glob("/proc/self/task/*/comm", 0, NULL, &names);
  for (size_t i = 0; i < names.gl_pathc; ++i) {
    char name[64] = "";
    FILE* file = fopen(names.gl_pathv[i], "r");
    if (file == NULL) continue;
    if (fgets(name, sizeof name, file) != NULL && strcmp(name, "atoll-agent\n") == 0) _exit(4);
    fclose(file);
  }
  globfree(&names);
}
