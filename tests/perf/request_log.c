/* SPDX-License-Identifier: BSD-3-Clause */
/* Preloaded into examples/bfs: which compare-and-swaps a PE issues.  At the end each PE writes a line
 *
 *     pe <its number> all <requests> others <those for other PEs> offsets <of the first kKept for PE 0, in
 * bytes> ...
 *
 * to the file that REQUEST_LOG names and its number.  requests.py makes tables and a picture of that. */
#include <pshmem.h>
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>

enum { kKept = 10000 };
static size_t all, others, kept;
static const char* at[kKept];

void shmem_ulong_atomic_compare_swap_nbi(unsigned long* fetch, unsigned long* dest, unsigned long cond,
                                         unsigned long val, int pe) {
  ++all;
  others += pe != shmem_my_pe();
  if (pe == 0 && kept < kKept) at[kept++] = (const char*)dest;
  pshmem_ulong_atomic_compare_swap_nbi(fetch, dest, cond, val, pe);
}

void shmem_finalize(void) {
  char path[4096];
  const char* least = NULL;
  for (size_t i = 0; i < kept; ++i)
    if (least == NULL || at[i] < least) least = at[i];
  snprintf(path, sizeof path, "%s.%d", getenv("REQUEST_LOG"), shmem_my_pe());
  FILE* file = fopen(path, "w");
  if (file == NULL) {
    perror(path);
    shmem_global_exit(1);
  }
  fprintf(file, "pe %d all %zu others %zu offsets", shmem_my_pe(), all, others);
  for (size_t i = 0; i < kept; ++i) fprintf(file, " %td", at[i] - least);
  fprintf(file, "\n");
  fclose(file);
  pshmem_finalize();
}
