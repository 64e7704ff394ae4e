/* SPDX-License-Identifier: BSD-3-Clause */
/* With SHMEM_WARN_DEPRECATED what is not deprecated stays silent, though the generics mention deprecated
 * functions. */
#define SHMEM_WARN_DEPRECATED
#include "calls.c"
