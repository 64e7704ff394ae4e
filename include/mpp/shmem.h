/* SPDX-License-Identifier: BSD-3-Clause */
/* The path that programs older than OpenSHMEM include. */
#include "../shmem.h"
