/* SPDX-License-Identifier: BSD-3-Clause */
/* Private memory in the memory of memory servers.  Part of shmemx.h. */
#ifndef SHMEMX_REMOTE_H
#define SHMEMX_REMOTE_H

/* clang-format off */

/* A job may have memory servers: processes that lend their memory (oshrun --memory-servers, SHMEM_MEMORY_SERVERS).
 * What a PE allocates there is private: other PEs cannot reach it, and it is no argument of a call that wants
 * symmetric memory.  Loads and stores work on it as on any memory, by any thread: pages that are used are
 * in this PE's own memory (SHMEM_REMOTE_LOCAL bytes of it, pages of SHMEM_REMOTE_PAGE), and go to the servers and
 * come back on demand.
 *
 * All of these are local, and any thread may call them, at any time between shmem_init and shmem_finalize, which
 * frees what has not been freed.
 *
 *   shmemx_remote_alloc  `bytes` bytes that read as zeros, in whole pages; the servers have room for all of them
 *                        from now on.  Returns NULL if they have not, or there are none, and a line on stderr says
 *                        so; NULL for 0 bytes.
 *   shmemx_remote_free   ends a block; NULL: nothing.  Nobody may use it meanwhile, and it may not be pinned.
 *   shmemx_remote_size   what was asked for, if a block begins at `ptr`; else 0.
 *
 *   shmemx_remote_take_over  memory that is there already, such as a large array, becomes such memory where it is,
 *                        with what it holds: what of it is whole pages at multiples of SHMEM_REMOTE_PAGE.  Returns how
 *                        many bytes; 0 for 0 bytes, if there are none, or no room, which a line on stderr says.  It is
 *                        no block, and after shmem_finalize accesses are faults: not for memory that is unmapped or
 *                        freed later, for stacks, or what locks are in.  Static variables only in a job of one PE, as
 *                        they are symmetric in others.  At most 64 times, with SHMEM_SWAP=direct.  Nobody uses that
 *                        memory meanwhile, nor calls the library.
 *
 *   shmemx_remote_get    copies `bytes` bytes at `source`, in blocks, to `dest`, which is other memory, and brings no
 *                        page for it: what is not here is read from the servers.  For what is used once.
 *   shmemx_remote_put    the reverse: `dest` is in blocks, and what is not here is written to the servers.
 *   shmemx_overwrite     all of the `bytes` bytes at `ptr` will be written before they are read: what they hold may
 *                        be lost, and pages need not be read from the servers.  For pages of which all is meant.
 *   shmemx_pin           makes them resident, for SHMEMX_NVM_READ or SHMEMX_NVM_WRITE: for system calls, which fail with
 *                        EFAULT on pages that are not here, and for devices.  Returns 0, or 1 if more than a quarter of
 *                        the local memory would be pinned.
 *   shmemx_unpin         ends it, once for each shmemx_pin, with the same arguments.
 *
 * The last three also work on memory of the NVM heap, as shmemx_nvm_advise, shmemx_nvm_pin and shmemx_nvm_unpin do,
 * and on other memory they do nothing, and return 0.
 *
 * fork: a child has none of this memory.  A program's own handler of SIGSEGV must pass on to the one that was there
 * before it.  If a server is lost the job ends: there are no copies. */
#define SHMEMX_REMOTE_FUNCS(F)                                                               \
  F(void*, shmemx_remote_alloc, (size_t bytes), (bytes))                                     \
  F(void, shmemx_remote_free, (void* ptr), (ptr))                                            \
  F(size_t, shmemx_remote_size, (const void* ptr), (ptr))                                    \
  F(size_t, shmemx_remote_take_over, (void* ptr, size_t bytes), (ptr, bytes))                \
  F(void, shmemx_remote_get, (void* dest, const void* source, size_t bytes), (dest, source, bytes)) \
  F(void, shmemx_remote_put, (void* dest, const void* source, size_t bytes), (dest, source, bytes)) \
  F(void, shmemx_overwrite, (const void* ptr, size_t bytes), (ptr, bytes))                   \
  F(int, shmemx_pin, (const void* ptr, size_t bytes, int mode), (ptr, bytes, mode))          \
  F(void, shmemx_unpin, (const void* ptr, size_t bytes), (ptr, bytes))

/* clang-format on */

#endif
