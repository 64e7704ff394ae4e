// SPDX-License-Identifier: BSD-3-Clause
// Memory management (OpenSHMEM 1.6, section 9.3).
#include "coll/memory.hpp"

#include "api/define.hpp"
#include "base/fatal.hpp"
#include "shmemx.h"

namespace {

using shm::Call;

void* aligned(Call call, std::size_t alignment, std::size_t bytes) {
  // The specification asks for multiples of sizeof(void*), too; smaller powers of two do no harm.  A failed
  // allocation has a return value, and programs test that they get it.
  if (alignment == 0 || (alignment & (alignment - 1)) != 0) {
    shm::check_started(call);
    shm::warn("%s: alignment is %zu; allowed are powers of two; returns NULL", call.name, alignment);
    return nullptr;
  }
  return shm::allocate(call, bytes, alignment, false);
}

}  // namespace

extern "C" {

void* pshmem_malloc(size_t bytes) { return shm::allocate({"shmem_malloc"}, bytes, 0, false); }

void* pshmem_calloc(size_t count, size_t bytes) {
  size_t total = 0;
  // More bytes than can be counted are more than there are.
  if (__builtin_mul_overflow(count, bytes, &total)) total = SIZE_MAX;
  return shm::allocate({"shmem_calloc"}, total, 0, true);
}

void* pshmem_align(size_t alignment, size_t bytes) { return aligned({"shmem_align"}, alignment, bytes); }

// All of the heap in memory serves atomics and signals equally well, and better than the one on NVM.
void* pshmem_malloc_with_hints(size_t bytes, long hints) {
  constexpr long kInMemory = SHMEM_MALLOC_ATOMICS_REMOTE | SHMEM_MALLOC_SIGNAL_REMOTE;
  const shm::Where where = (hints & SHMEMX_MALLOC_NVM) != 0 ? shm::Where::nvm
                           : (hints & kInMemory) != 0       ? shm::Where::memory
                                                            : shm::Where::usual;
  return shm::allocate({"shmem_malloc_with_hints"}, bytes, 0, false, where);
}

void* pshmem_realloc(void* block, size_t bytes) { return shm::reallocate({"shmem_realloc"}, block, bytes); }

void pshmem_free(void* block) { shm::release({"shmem_free"}, block); }

void* pshmalloc(size_t bytes) { return shm::allocate({"shmalloc"}, bytes, 0, false); }
void* pshmemalign(size_t alignment, size_t bytes) { return aligned({"shmemalign"}, alignment, bytes); }
void* pshrealloc(void* block, size_t bytes) { return shm::reallocate({"shrealloc"}, block, bytes); }
void pshfree(void* block) { shm::release({"shfree"}, block); }

ATOLL_FUNCS_MEMORY(ATOLL_ALIAS_)
ATOLL_FUNCS_OLD_MEMORY(ATOLL_ALIAS_)

}  // extern "C"
