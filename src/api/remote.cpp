// SPDX-License-Identifier: BSD-3-Clause
// Private memory on memory servers (shmem/remote.h).
#include "api/define.hpp"
#include "base/fatal.hpp"
#include "base/ranges_meet.hpp"
#include "core/region.hpp"
#include "core/runtime.hpp"
#include "setup/remote_memory.hpp"

namespace shm {
namespace {

// The area, if the range is in one of its blocks; null if none of it is.
remote::Area* area_of(Call call, const char* argument, const void* at, std::size_t n) {
  check_started(call);
  remote::Area* area = remote_area();
  if (area == nullptr || n == 0 || !area->touches(at, n)) return nullptr;
  if (!area->holds(at, n))
    fatal(
        "%s: %s %p, %zu bytes: not all of it is in a block of remote memory; allowed is what lies in one "
        "block, or was taken over together",
        call.name, argument, at, n);
  return area;
}

bool meets(const SymmetricSegment& segment, const void* at, std::size_t n) {
  return ranges_meet(reinterpret_cast<std::uintptr_t>(at), n, segment.base, segment.size);
}

// Variables of a job of one PE are its own alone.
bool is_symmetric(const void* at, std::size_t n) {
  return meets(rt.heap, at, n) || (rt.npes > 1 && meets(rt.statics, at, n)) || in_region(at);
}

remote::Area& area_with(Call call, const char* argument, const void* at, std::size_t n) {
  remote::Area* area = area_of(call, argument, at, n);
  if (area == nullptr)
    fatal("%s: %s %p is not remote memory; allowed is what lies in a block of shmemx_remote_alloc", call.name,
          argument, at);
  return *area;
}

}  // namespace
}  // namespace shm

extern "C" {

void* pshmemx_remote_alloc(size_t bytes) {
  const shm::Call call{"shmemx_remote_alloc"};
  shm::check_started(call);
  if (bytes == 0) return nullptr;
  shm::remote::Area* area = shm::remote_area();
  if (area == nullptr) {
    shm::warn(
        "%s: the job has no memory servers; start it with oshrun --memory-servers 1, or more; returns NULL",
        call.name);
    return nullptr;
  }
  shm::Result<void*> block = area->allocate(bytes);
  if (block.ok()) return block.value();
  shm::warn("%s: %s; returns NULL", call.name, block.status().text().c_str());
  return nullptr;
}

void pshmemx_remote_free(void* ptr) {
  const shm::Call call{"shmemx_remote_free"};
  shm::check_started(call);
  if (ptr == nullptr) return;
  shm::remote::Area* area = shm::remote_area();
  using Freed = shm::remote::Area::Freed;
  const Freed freed = area != nullptr ? area->free(ptr) : Freed::no_block;
  if (freed == Freed::pinned)
    shm::fatal("%s: pages of the block at %p are pinned; call shmemx_unpin first", call.name, ptr);
  if (freed == Freed::no_block)
    shm::fatal("%s: ptr %p is no block; allowed is what shmemx_remote_alloc has returned, once", call.name,
               ptr);
}

size_t pshmemx_remote_size(const void* ptr) {
  shm::check_started({"shmemx_remote_size"});
  shm::remote::Area* area = shm::remote_area();
  return area != nullptr ? area->size_of(ptr).value_or(0) : 0;
}

size_t pshmemx_remote_take_over(void* ptr, size_t bytes) {
  const shm::Call call{"shmemx_remote_take_over"};
  shm::check_started(call);
  if (bytes == 0) return 0;
  if (shm::is_symmetric(ptr, bytes))
    shm::fatal(
        "%s: ptr %p, %zu bytes: some of it is symmetric; allowed is other memory, and variables in a job of "
        "one PE",
        call.name, ptr, bytes);
  if (shm::remote_area() == nullptr) {
    shm::warn(
        "%s: the job has no memory servers; start it with oshrun --memory-servers 1, or more; returns 0",
        call.name);
    return 0;
  }
  shm::Result<std::size_t> taken = shm::take_over_memory(ptr, bytes);
  if (taken.ok()) return taken.value();
  shm::warn("%s: %zu bytes at %p: %s; returns 0", call.name, bytes, ptr, taken.status().text().c_str());
  return 0;
}

void pshmemx_remote_get(void* dest, const void* source, size_t bytes) {
  const shm::Call call{"shmemx_remote_get"};
  shm::check_started(call);
  if (bytes == 0) return;
  shm::remote::Area& area = shm::area_with(call, "source", source, bytes);
  if (area.touches(dest, bytes))
    shm::fatal("%s: dest %p is remote memory; allowed is other memory", call.name, dest);
  area.read(source, dest, bytes);
}

void pshmemx_remote_put(void* dest, const void* source, size_t bytes) {
  const shm::Call call{"shmemx_remote_put"};
  shm::check_started(call);
  if (bytes == 0) return;
  shm::remote::Area& area = shm::area_with(call, "dest", dest, bytes);
  if (area.touches(source, bytes))
    shm::fatal("%s: source %p is remote memory; allowed is other memory", call.name, source);
  area.write(dest, source, bytes);
}

void pshmemx_overwrite(const void* ptr, size_t bytes) {
  shm::remote::Area* area = shm::area_of({"shmemx_overwrite"}, "ptr", ptr, bytes);
  if (area != nullptr) return area->overwrite(ptr, bytes);
  pshmemx_nvm_advise(ptr, bytes, SHMEMX_NVM_OVERWRITE);
}

int pshmemx_pin(const void* ptr, size_t bytes, int mode) {
  const shm::Call call{"shmemx_pin"};
  if (mode != SHMEMX_NVM_READ && mode != SHMEMX_NVM_WRITE)
    shm::fatal("%s: mode is %d; allowed are SHMEMX_NVM_READ and SHMEMX_NVM_WRITE", call.name, mode);
  shm::remote::Area* area = shm::area_of(call, "ptr", ptr, bytes);
  if (area == nullptr) return pshmemx_nvm_pin(ptr, bytes, mode);
  const auto access = mode == SHMEMX_NVM_WRITE ? shm::pages::Access::write : shm::pages::Access::read;
  return area->pin(ptr, bytes, access) ? 0 : 1;
}

void pshmemx_unpin(const void* ptr, size_t bytes) {
  const shm::Call call{"shmemx_unpin"};
  shm::remote::Area* area = shm::area_of(call, "ptr", ptr, bytes);
  if (area == nullptr) return pshmemx_nvm_unpin(ptr, bytes);
  if (!area->unpin(ptr, bytes))
    shm::fatal("%s: ptr %p, %zu bytes: not pinned; allowed is what shmemx_pin was called with", call.name,
               ptr, bytes);
}

SHMEMX_REMOTE_FUNCS(ATOLL_ALIAS_)

}  // extern "C"
