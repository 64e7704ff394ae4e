// SPDX-License-Identifier: BSD-3-Clause
#include <pshmem.h>
#include <pshmemx.h>

#include "remote_memory.hpp"

// The names of the profiling interface: a program's shmem_init is this library's own (start.cpp).
namespace remote_malloc::memory {

void start() { pshmem_init(); }
void end() { pshmem_finalize(); }

bool alone() {
  int started = 0;  // not if the program has finalized once too often
  pshmem_query_initialized(&started);
  return started != 0 && pshmem_n_pes() == 1;
}

void* allocate(std::size_t bytes) { return pshmemx_remote_alloc(bytes); }
void release(void* block) { pshmemx_remote_free(block); }
std::size_t size_of(const void* block) { return pshmemx_remote_size(block); }
std::size_t take_over(void* at, std::size_t bytes) { return pshmemx_remote_take_over(at, bytes); }

}  // namespace remote_malloc::memory
