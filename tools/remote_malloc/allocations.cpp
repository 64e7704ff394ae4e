// SPDX-License-Identifier: BSD-3-Clause
// The malloc family: large blocks of the program in remote memory, all others where they would be.
#include <malloc.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "blocks.hpp"
#include "local.hpp"
#include "next.hpp"
#include "start.hpp"

namespace remote_malloc {
namespace {

constexpr std::size_t kNoAlignment = 1;

std::size_t page_size() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

void* allocate(std::size_t bytes) {
  return wants_remote(bytes) ? blocks::allocate(bytes, kNoAlignment) : local::allocate(bytes);
}

void* allocate_aligned(std::size_t alignment, std::size_t bytes) {
  if (!std::has_single_bit(alignment) || !wants_remote(bytes))
    return local::allocate_aligned(alignment, bytes);
  return blocks::allocate(bytes, alignment);
}

void release(void* block) {
  if (blocks::contains(block))
    blocks::release(block);
  else
    local::release(block);
}

std::size_t size_of(void* block) {
  return blocks::contains(block) ? blocks::size_of(block) : local::size_of(block);
}

// Of a block that is remote, or that is to become so.
void* move(void* block, std::size_t bytes) {
  const std::size_t old = size_of(block);
  if (blocks::contains(block) && !here()) {  // in a forked child, or at exit: its contents are gone
    errno = ENOMEM;
    return nullptr;
  }
  if (blocks::contains(block) && wants_remote(bytes) && bytes <= old && bytes >= old / 2) return block;
  void* moved = allocate(bytes);
  if (moved == nullptr) return nullptr;
  std::memcpy(moved, block, std::min(old, bytes));
  release(block);
  return moved;
}

void* reallocate(void* block, std::size_t bytes) {
  if (block == nullptr) return allocate(bytes);
  if (!blocks::contains(block) && !wants_remote(bytes)) return local::reallocate(block, bytes);
  if (bytes != 0) return move(block, bytes);
  release(block);
  return nullptr;
}

}  // namespace
}  // namespace remote_malloc

REMOTE_MALLOC_WRAPPER void* malloc(size_t bytes) noexcept { return remote_malloc::allocate(bytes); }

REMOTE_MALLOC_WRAPPER void* calloc(size_t count, size_t bytes) noexcept {
  size_t all;
  if (__builtin_mul_overflow(count, bytes, &all) || !remote_malloc::wants_remote(all))
    return remote_malloc::local::allocate_zeros(count, bytes);
  return remote_malloc::blocks::allocate(all, remote_malloc::kNoAlignment);
}

REMOTE_MALLOC_WRAPPER void* realloc(void* block, size_t bytes) noexcept {
  return remote_malloc::reallocate(block, bytes);
}

REMOTE_MALLOC_WRAPPER void* reallocarray(void* block, size_t count, size_t bytes) noexcept {
  size_t all;
  if (!__builtin_mul_overflow(count, bytes, &all)) return remote_malloc::reallocate(block, all);
  errno = ENOMEM;
  return nullptr;
}

REMOTE_MALLOC_WRAPPER void free(void* block) noexcept { remote_malloc::release(block); }

REMOTE_MALLOC_WRAPPER int posix_memalign(void** block, size_t alignment, size_t bytes) noexcept {
  if (alignment % sizeof(void*) != 0 || !std::has_single_bit(alignment)) return EINVAL;
  const int saved = errno;
  void* got = remote_malloc::allocate_aligned(alignment, bytes);
  errno = saved;
  if (got == nullptr) return ENOMEM;
  *block = got;
  return 0;
}

REMOTE_MALLOC_WRAPPER void* aligned_alloc(size_t alignment, size_t bytes) noexcept {
  return remote_malloc::allocate_aligned(alignment, bytes);
}

REMOTE_MALLOC_WRAPPER void* memalign(size_t alignment, size_t bytes) noexcept {
  return remote_malloc::allocate_aligned(alignment, bytes);
}

REMOTE_MALLOC_WRAPPER void* valloc(size_t bytes) noexcept {
  return remote_malloc::allocate_aligned(remote_malloc::page_size(), bytes);
}

REMOTE_MALLOC_WRAPPER void* pvalloc(size_t bytes) noexcept {
  const size_t page = remote_malloc::page_size();
  if (bytes > SIZE_MAX - page) {
    errno = ENOMEM;
    return nullptr;
  }
  return remote_malloc::allocate_aligned(page, (bytes + page - 1) / page * page);
}

REMOTE_MALLOC_WRAPPER size_t malloc_usable_size(void* block) noexcept {
  return block != nullptr ? remote_malloc::size_of(block) : 0;
}
