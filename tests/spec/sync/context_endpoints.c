/* SPDX-License-Identifier: BSD-3-Clause */
/* A context has an endpoint of its own only in a program that has asked for threads that call at the same
 * time. SHMEM_CONTEXT_ENDPOINTS allows some. */
#include <glob.h>

#include "check.h"

static long word;

static int descriptors(void) {
  glob_t names;
  glob("/proc/self/fd/*", 0, NULL, &names);
  const int n = (int)names.gl_pathc;
  globfree(&names);
  return n;
}

/* How many more descriptors there are once a context has been used. */
static int taken_by_a_context(void) {
  shmem_ctx_t context;
  shmem_long_p(&word, 1, right_pe());
  shmem_quiet();
  shmem_barrier_all(); /* all connections are there */
  const int before = descriptors();
  shmem_barrier_all();
  CHECK_EQ(shmem_ctx_create(0, &context), 0);
  shmem_ctx_long_p(context, &word, 2, right_pe());
  shmem_ctx_quiet(context);
  const int after = descriptors();
  shmem_barrier_all();
  shmem_ctx_destroy(context);
  return after - before;
}

int main(void) {
  shmem_init();
  CHECK_EQ(taken_by_a_context(), 0);
  const int far = shmem_ptr(&word, right_pe()) == NULL;
  shmem_finalize();
  CHECK_EQ(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &(int){0}), 0);
  const int taken = taken_by_a_context();
  if (far) {
    CHECK_CMP(taken, >, 0);
  } else {
    CHECK_EQ(taken, 0);
  }
  shmem_finalize();
  return 0;
}
