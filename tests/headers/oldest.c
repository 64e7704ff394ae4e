/* SPDX-License-Identifier: BSD-3-Clause */
/* C89, and C++98: all headers, the functions with a type, and no names without one. */
#include <mpp/shmem.h>
#include <mpp/shmemx.h>
#include <pshmem.h>
#include <pshmemx.h>
#include <shmem.h>
#include <shmemx.h>

#if defined(shmem_put) || defined(shmem_sync) || defined(shmemx_atomic_max)
#error "These need C11 or C++11."
#endif

long oldest(void);

long oldest(void) {
  static long word;
  long old;
  shmem_init();
  shmem_long_put(&word, &word, 1, 0);
  shmem_ctx_putmem(SHMEM_CTX_DEFAULT, &word, &word, sizeof word, 0);
  old = shmem_long_atomic_fetch_add(&word, 1, 0);
  shmemx_long_atomic_max(&word, old, 0);
  shmem_wait_until(&word, SHMEM_CMP_NE, 0);
  shmem_team_sync(SHMEM_TEAM_WORLD);
  return pshmem_long_g(&word, 0);
}
