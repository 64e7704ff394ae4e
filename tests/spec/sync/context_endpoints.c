/* SPDX-License-Identifier: BSD-3-Clause */
/* A context has an endpoint of its own only in a program that has asked for threads that call at the same
 * time. SHMEM_CONTEXT_ENDPOINTS allows some. */
#include <glob.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

static long word;

/* Each endpoint has some; connections, which may be made at any time, have none. */
static int event_descriptors(void) {
  glob_t names;
  int n = 0;
  glob("/proc/self/fd/*", 0, NULL, &names);
  for (size_t i = 0; i < names.gl_pathc; ++i) {
    char what[64] = "";
    if (readlink(names.gl_pathv[i], what, sizeof what - 1) > 0)
      n += strcmp(what, "anon_inode:[eventpoll]") == 0;
  }
  globfree(&names);
  return n;
}

/* How many more of them there are once a context has been used. */
static int taken_by_a_context(void) {
  shmem_ctx_t context;
  shmem_long_p(&word, 1, right_pe());
  shmem_quiet();
  const int before = event_descriptors();
  CHECK_EQ(shmem_ctx_create(0, &context), 0);
  shmem_ctx_long_p(context, &word, 2, right_pe());
  shmem_ctx_quiet(context);
  const int after = event_descriptors();
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
