/* SPDX-License-Identifier: BSD-3-Clause */
/* Preloaded: /proc/kallsyms cannot be opened, as in containers that mask it.  For libfabric's verbs that
 * means what it would find after reading all of it, twice: no RDMA. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

FILE* fopen(const char* path, const char* mode) {
  if (strcmp(path, "/proc/kallsyms") == 0) {
    errno = ENOENT;
    return NULL;
  }
  FILE* (*next)(const char*, const char*) = NULL;
  void* symbol = dlsym(RTLD_NEXT, "fopen");
  memcpy(&next, &symbol, sizeof next);
  return next(path, mode);
}
