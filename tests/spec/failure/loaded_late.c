/* SPDX-License-Identifier: BSD-3-Clause */
/* A library that the program loads (dying.c) after Atoll, as Atoll loads libfabric.  It is not destroyed when a
 * PE that has failed ends: the agent, or a thread of the program, could be inside it. */
#include <unistd.h>

__attribute__((destructor)) static void must_not_be_destroyed(void) { _exit(4); }
