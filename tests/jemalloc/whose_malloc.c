// SPDX-License-Identifier: BSD-3-Clause
// With jemalloc as a shared library: the symmetric heap is jemalloc's, and malloc and operator new stay whose they are.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <shmem.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

static const char* owner(const char* function) {
  void* at = dlsym(RTLD_DEFAULT, function);
  Dl_info info;
  return at != NULL && dladdr(at, &info) != 0 ? info.dli_fname : "nobody";
}

int main(void) {
  shmem_init();
  CHECK(strstr(owner("mallocx"), "/libjemalloc.so") != NULL);
  CHECK(strstr(owner("malloc"), "/libc.so") != NULL);
  CHECK(strstr(owner("free"), "/libc.so") != NULL);
  CHECK(strstr(owner("_Znwm"), "/libstdc++.so") != NULL); /* operator new */
  CHECK(strstr(owner("_ZdaPv"), "/libstdc++.so") != NULL);
  long* block = shmem_malloc(1000 * sizeof *block);
  void* own = malloc(100000);
  CHECK(block != NULL && own != NULL);
  CHECK(shmem_addr_accessible(block, 0) && !shmem_addr_accessible(own, 0));
  free(own);
  shmem_long_p(&block[999], 7, (shmem_my_pe() + 1) % shmem_n_pes());
  shmem_barrier_all();
  CHECK_AT(block, 999, 7L);
  shmem_free(block);
  shmem_finalize();
}
