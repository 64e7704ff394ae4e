/* SPDX-License-Identifier: BSD-3-Clause */
/* The library starts and ends again and again, with blocks on NVM and tables in memory: each life has all of
 * them, what was not waited for is complete at its end, and neither descriptors nor addresses are left of it.
 */
#include <dirent.h>
#include <malloc.h>
#include <shmemx.h>
#include <string.h>

#include "check.h"

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
enum { kSanitized = 1 }; /* memory is theirs to keep */
#else
enum { kSanitized = 0 };
#endif

enum { kBytes = 2 << 20, kKeys = 20, kFirst = 3, kLives = 13 };
static const long kMostPages = 1500; /* of addresses that a life takes for good: 6 MB. jemalloc keeps 4 MiB */

static long open_descriptors(void) {
  long n = 0;
  DIR* all = opendir("/proc/self/fd");
  while (readdir(all) != NULL) ++n;
  closedir(all);
  return n;
}

/* Of the address space. */
static long pages(void) {
  long n = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  CHECK_EQ(fscanf(file, "%ld", &n), 1);
  fclose(file);
  return n;
}

/* More than there is room for in memory, by loads and stores and from another PE. */
static void use_block(int life) {
  unsigned char* block = shmem_malloc_with_hints(kBytes, SHMEMX_MALLOC_NVM);
  CHECK(block != NULL);
  for (size_t i = 0; i < kBytes; i += 4096) CHECK_AT(block, i, 0);
  for (size_t i = 0; i < kBytes; i += 4096) block[i] = (unsigned char)(life + shmem_my_pe());
  shmem_barrier_all();
  static unsigned char got[kBytes];
  shmem_getmem(got, block, kBytes, right_pe());
  for (size_t i = 0; i < kBytes; i += 4096) CHECK_AT(got, i, (unsigned char)(life + right_pe()));
}

static void live(int life) {
  static int status[kKeys];
  const shmemx_kv_options_t options = {.key_bytes = 8, .value_bytes = 8, .capacity = 1000};
  shmemx_kv_t kv;
  shmem_init();
  CHECK_EQ(shmemx_kv_create(&options, &kv), SHMEMX_KV_OK);
  use_block(life);
  for (long i = 0; i < kKeys; ++i) {
    const long key = shmem_my_pe() * kKeys + i;
    CHECK_FOR(i, shmemx_kv_contains(kv, &key, sizeof key), SHMEMX_KV_NOT_FOUND);
    shmemx_kv_put_nbi(kv, &key, sizeof key, &i, sizeof i, &status[i]);
  }
  shmem_finalize();
  for (int i = 0; i < kKeys; ++i) CHECK_AT(status, i, SHMEMX_KV_OK);
}

int main(void) {
  /* glibc's malloc has more arenas when threads meet in it, of 64 MiB of addresses each: maybe not before a
   * late life. */
  mallopt(M_ARENA_MAX, 1);
  long descriptors = 0, addresses = 0;
  for (int life = 1; life <= kLives; ++life) {
    live(life);
    if (life == kFirst) descriptors = open_descriptors(), addresses = pages();
  }
  /* Connections are made when they are needed, to wake a neighbour that sleeps, say: a few may come later. */
  CHECK_CMP(open_descriptors() - descriptors, <, kLives - kFirst);
  if (!kSanitized) CHECK_CMP(pages() - addresses, <, (kLives - kFirst) * kMostPages);
  return 0;
}
