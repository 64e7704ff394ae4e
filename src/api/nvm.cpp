// SPDX-License-Identifier: BSD-3-Clause
// Memory on NVM: named objects and pinned pages (shmemx.h).
#include "api/define.hpp"
#include "base/fatal.hpp"
#include "core/region.hpp"
#include "core/runtime.hpp"
#include "nvm/heap.hpp"
#include "setup/named_objects.hpp"

namespace shm {
namespace {

// The heap on NVM, if the range is in this PE's part of it; null if none of it is.
nvm::Heap* heap_of(Call call, const void* at, std::size_t n) {
  check_started(call);
  nvm::Heap* heap = nvm::heap_of_job();
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  if (heap == nullptr || n == 0) return nullptr;
  if (heap->holds(address, n)) return heap;
  // Whichever of the two comes first is within the other.
  if (heap->holds(address, 1) || heap->base() - address < n)
    fatal("%s: ptr %p, %zu bytes: only a part is in the NVM heap; allowed is what lies in one block",
          call.name, at, n);
  return nullptr;
}

}  // namespace
}  // namespace shm

extern "C" {

void* pshmemx_nvm_open(const char* name, size_t size) {
  return shm::open_named({"shmemx_nvm_open"}, name, size);
}

void pshmemx_nvm_persist(void* object) { shm::persist_named({"shmemx_nvm_persist"}, object); }

int pshmemx_nvm_pin(const void* ptr, size_t size, int mode) {
  const shm::Call call{"shmemx_nvm_pin"};
  if (mode != SHMEMX_NVM_READ && mode != SHMEMX_NVM_WRITE)
    shm::fatal("%s: mode is %d; allowed are SHMEMX_NVM_READ and SHMEMX_NVM_WRITE", call.name, mode);
  shm::nvm::Heap* heap = shm::heap_of(call, ptr, size);
  if (heap == nullptr) return 0;  // what is not on NVM stays where it is
  const auto access = mode == SHMEMX_NVM_WRITE ? shm::nvm::Access::write : shm::nvm::Access::read;
  return heap->pin(reinterpret_cast<std::uintptr_t>(ptr), size, access) ? 0 : 1;
}

void pshmemx_nvm_unpin(const void* ptr, size_t size) {
  const shm::Call call{"shmemx_nvm_unpin"};
  shm::nvm::Heap* heap = shm::heap_of(call, ptr, size);
  if (heap != nullptr && !heap->unpin(reinterpret_cast<std::uintptr_t>(ptr), size))
    shm::fatal("%s: ptr %p, %zu bytes: not pinned; allowed is what shmemx_nvm_pin was called with", call.name,
               ptr, size);
}

void pshmemx_nvm_advise(const void* ptr, size_t size, int advice) {
  using Advice = shm::nvm::Heap::Advice;
  const shm::Call call{"shmemx_nvm_advise"};
  if (advice < SHMEMX_NVM_OVERWRITE || advice > SHMEMX_NVM_DONTNEED)
    shm::fatal(
        "%s: advice is %d; allowed are SHMEMX_NVM_OVERWRITE, SHMEMX_NVM_SEQUENTIAL, SHMEMX_NVM_WILLNEED and "
        "SHMEMX_NVM_DONTNEED",
        call.name, advice);
  shm::nvm::Heap* heap = shm::heap_of(call, ptr, size);
  if (heap == nullptr) return;  // there is nothing to gain
  constexpr Advice kAdvice[] = {Advice::overwrite, Advice::sequential, Advice::soon, Advice::later};
  heap->advise(reinterpret_cast<std::uintptr_t>(ptr), size, kAdvice[advice]);
}

SHMEMX_NVM_FUNCS(ATOLL_ALIAS_)

}  // extern "C"
