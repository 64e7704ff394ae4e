/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPLACEMENT_H
#define REPLACEMENT_H

#ifdef __cplusplus
extern "C" {
#endif

/* 10000 x calls of shmem_barrier_all + 100 x calls of shmem_ctx_long_put + calls of shmem_getmem. */
int replaced_calls(void);

#ifdef __cplusplus
}
#endif

#endif
