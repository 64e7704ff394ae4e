/* SPDX-License-Identifier: BSD-3-Clause */
/* The interface of the Distributed Large Memory system, so that programs written for it compile: data beyond the
 * memory of the node lie in that of memory servers (oshrun --memory-servers).  shmem/remote.h says the rest. */
#ifndef DLM_H
#define DLM_H

#include <stddef.h>
#include <stdlib.h>

#include "shmem.h"
#include "shmemx.h"

/* Starts the library.  The arguments stay as they are. */
static inline int dlm_startup(int* argc, char*** argv) {
  (void)argc;
  (void)argv;
  shmem_init();
  return 0;
}

/* Memory that reads as zeros; ends the job with a line on stderr if there is no room. */
static inline void* dlm_alloc(size_t bytes) {
  void* const block = shmemx_remote_alloc(bytes);
  if (block == NULL && bytes != 0) shmem_global_exit(EXIT_FAILURE); /* which has been explained */
  return block;
}

/* Ends the library; what was allocated is gone. */
static inline int dlm_shutdown(void) {
  shmem_finalize();
  return 0;
}

#endif
