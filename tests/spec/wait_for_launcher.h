/* SPDX-License-Identifier: BSD-3-Clause */
/* For a thread beside shmem_init.  Needs _GNU_SOURCE (RTLD_DEFAULT). */
#ifndef WAIT_FOR_LAUNCHER_H
#define WAIT_FOR_LAUNCHER_H

#include <dlfcn.h>
#include <unistd.h>

/* Until this process has connected to its launcher. */
static inline void wait_for_launcher(void) {
  int (*connected)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "PMIx_Initialized");
  while (!connected()) usleep(100);
}

#endif
