/* SPDX-License-Identifier: BSD-3-Clause */
/* A large .bss costs memory only where it is touched. */
#include <string.h>

#include "check.h"

enum { kBytes = 256 << 20 };
static char large[kBytes];
static long after_it = 7;

/* The sanitizer's own memory is not ours. */
static long resident_kilobytes(void) {
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
  return 0;
#endif
  long kilobytes = -1;
  char line[256];
  FILE* file = fopen("/proc/self/status", "r");
  CHECK(file != NULL);
  while (fgets(line, sizeof line, file) != NULL)
    if (sscanf(line, "VmRSS: %ld", &kilobytes) == 1) break;
  fclose(file);
  return kilobytes;
}

int main(void) {
  large[kBytes / 3] = 'x';
  const long before = resident_kilobytes();
  shmem_init();
  CHECK_CMP(resident_kilobytes() - before, <, 64 << 10);
  CHECK_EQ(large[kBytes / 3], 'x');
  CHECK_EQ(large[kBytes / 2], 0);
  shmem_char_p(&large[kBytes - 1], 'z', right_pe());
  shmem_char_p(&large[0], 'a', right_pe());
  shmem_barrier_all();
  CHECK_EQ(large[0], 'a');
  CHECK_EQ(large[kBytes - 1], 'z');
  CHECK_EQ(after_it, 7);
  CHECK_EQ(shmem_char_g(&large[kBytes / 3], left_pe()), 'x');
  CHECK_CMP(resident_kilobytes() - before, <, 64 << 10);
  shmem_finalize();
  return 0;
}
