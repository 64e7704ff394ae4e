/* SPDX-License-Identifier: BSD-3-Clause */
/* Atoll's extensions of OpenSHMEM.  Every name begins with shmemx_ or SHMEMX_. */
#ifndef SHMEMX_H
#define SHMEMX_H

#include "shmem.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __cplusplus
}
#endif

#endif
