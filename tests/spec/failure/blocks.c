/* SPDX-License-Identifier: BSD-3-Clause */
/* Mistakes with blocks of the symmetric heap, and one with a block of malloc: `blocks
 * right|over|put|read|freed|lost`. checkers_test.py runs it under valgrind and AddressSanitizer. */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kBytes = 100, kMore = 5000 };
static char source[kBytes + 8];

static void exchange(char* to) {
  const int me = shmem_my_pe(), n = shmem_n_pes();
  memset(source, me + 1, sizeof source);
  shmem_putmem(to, source, kBytes, (me + 1) % n);
  shmem_barrier_all();
  if (to[kBytes - 1] != (me + n - 1) % n + 1) abort();
}

/* Nothing refers to it any more. */
static void lose(void) {
  static void* volatile lost;
  lost = malloc(kBytes);
  lost = NULL;
}

int main(int count, char** arguments) {
  shmem_init();
  const char* what = count > 1 ? arguments[1] : "right";
  const int first = shmem_my_pe() == 0;
  char *block = shmem_malloc(kBytes), *other = shmem_malloc(kBytes);
  exchange(block);
  block = shmem_realloc(block, kMore);
  exchange(block + kMore - kBytes);
  block = shmem_realloc(block, kBytes);
  char* zeros = shmem_calloc(kBytes, 1);
  for (int i = 0; i < kBytes; ++i)
    if (zeros[i] != 0) abort();
  shmem_barrier_all();
  exchange(zeros);
  shmem_free(zeros);
  if (first && strcmp(what, "over") == 0) ((volatile char*)block)[kBytes] = 1;
  if (first && strcmp(what, "put") == 0) shmem_putmem(block, source, kBytes + 4, shmem_n_pes() - 1);
  if (first && strcmp(what, "read") == 0) source[0] = ((volatile char*)block)[kBytes + 1];
  shmem_free(other);
  if (first && strcmp(what, "freed") == 0) source[0] = ((volatile char*)other)[1];
  if (first && strcmp(what, "lost") == 0) lose();
  shmem_finalize();
  shmem_init();
  exchange(shmem_malloc(kBytes));
  shmem_finalize();
  return 0;
}
