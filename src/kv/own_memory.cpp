// SPDX-License-Identifier: BSD-3-Clause
#include "kv/own_memory.hpp"

#include "base/fatal.hpp"
#include "base/mutex.hpp"
#include "core/runtime.hpp"
#include "heap/checkers.hpp"
#include "heap/heap.hpp"

namespace shm::kv {
namespace {

Mutex own_mutex;
HeapAllocator* own_allocator GUARDED_BY(own_mutex) = nullptr;  // from the first block on

std::byte* own_base() { return reinterpret_cast<std::byte*>(rt.own_memory.base); }

HeapAllocator& allocator() REQUIRES(own_mutex) {
  if (own_allocator == nullptr) {
    auto made = HeapAllocator::create(own_base(), rt.own_memory.size, own_bytes());
    if (!made.ok()) fatal("%s", made.status().text().c_str());
    own_allocator = made.value().release();
  }
  return *own_allocator;
}

}  // namespace

// own_range() of it is no more than there is.
std::size_t own_bytes() { return (rt.own_memory.size - own_range(0)) / 3 * 2; }

std::byte* allocate_own(std::size_t n) {
  const LockGuard guard(own_mutex);
  const auto offset = allocator().allocate(n, 64);
  if (!offset) return nullptr;
  permit_beside_blocks(own_base() + *offset, n);
  return own_base() + *offset;
}

void release_own(std::byte* block) {
  const LockGuard guard(own_mutex);
  allocator().release(static_cast<std::size_t>(block - own_base()));
}

std::size_t own_bytes_free() {
  const LockGuard guard(own_mutex);
  return own_bytes() - allocator().bytes_in_use();
}

void end_own_memory() {
  const LockGuard guard(own_mutex);
  delete own_allocator;
  own_allocator = nullptr;
}

}  // namespace shm::kv
