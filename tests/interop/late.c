/* SPDX-License-Identifier: BSD-3-Clause */
/* usage: late LIBRARY local|global
 * A program that is not linked with the library and loads it when it is running, as a Python module does:
 * nothing of it is in reach but what dlsym() gives. */
#include <dlfcn.h>
#include <shmem.h>
#include <stdio.h>
#include <string.h>

static void* library;

static void* find(const char* name) {
  void* const symbol = dlsym(library, name);
  if (symbol == NULL) fprintf(stderr, "late: %s\n", dlerror());
  return symbol;
}

/* Calls NAME as the prototype in shmem.h has it. */
#define CALL(NAME) ((__typeof__(&(NAME)))find(#NAME))

static int once(void) {
  CALL(shmem_init)();
  const int me = CALL(shmem_my_pe)(), n = CALL(shmem_n_pes)();
  long* const words = CALL(shmem_calloc)(2, sizeof(long));
  if (words == NULL) return 3;
  CALL(shmem_long_p)(&words[0], me + 1, (me + 1) % n);
  for (int pe = 0; pe < n; pe++) CALL(shmem_long_atomic_add)(&words[1], 1, pe);
  CALL(shmem_barrier_all)();
  const int good = words[0] == (me + n - 1) % n + 1 && words[1] == n;
  if (!good) fprintf(stderr, "late: PE %d of %d has %ld and %ld\n", me, n, words[0], words[1]);
  CALL(shmem_barrier_all)();
  CALL(shmem_free)(words);
  CALL(shmem_finalize)();
  return good ? 0 : 1;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  library = dlopen(argv[1], RTLD_NOW | (strcmp(argv[2], "global") == 0 ? RTLD_GLOBAL : RTLD_LOCAL));
  if (library == NULL) return fprintf(stderr, "late: %s\n", dlerror()), 2;
  const int first = once(), second = once();
  return first != 0 ? first : second;
}
