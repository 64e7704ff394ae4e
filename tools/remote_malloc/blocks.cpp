// SPDX-License-Identifier: BSD-3-Clause
#include "blocks.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <map>

#include "base/mutex.hpp"
#include "inside.hpp"
#include "remote_memory.hpp"
#include "start.hpp"

namespace remote_malloc::blocks {
namespace {

// Blocks that begin within one of remote memory, which is aligned to its pages only.
struct Shifted {
  void* whole;
  std::size_t bytes;
};
shm::Mutex mutex;
std::atomic<std::size_t> shifted_count{0};  // read without the lock: mostly 0

// Never destroyed: there are frees until the process ends.
std::map<const void*, Shifted>& shifted() REQUIRES(mutex) {
  static auto& all = *new std::map<const void*, Shifted>;
  return all;
}

bool is_aligned(const void* at, std::size_t alignment) {
  return reinterpret_cast<std::uintptr_t>(at) % alignment == 0;
}

void widen(const void* block, std::size_t bytes) { hull.add(reinterpret_cast<std::uintptr_t>(block), bytes); }

// Within a block that has room for it wherever it begins.
void* allocate_shifted(std::size_t bytes, std::size_t alignment) {
  auto* whole =
      bytes + alignment < bytes ? nullptr : static_cast<std::byte*>(memory::allocate(bytes + alignment));
  if (whole == nullptr) return nullptr;
  std::byte* block = whole + (0 - reinterpret_cast<std::uintptr_t>(whole)) % alignment;
  widen(whole, bytes + alignment);
  if (block == whole) return block;
  const shm::LockGuard guard(mutex);
  shifted().emplace(block, Shifted{whole, bytes});
  shifted_count.fetch_add(1);
  return block;
}

}  // namespace

void* allocate(std::size_t bytes, std::size_t alignment) {
  const int saved = errno;
  const Inside inside;
  const Use use;
  void* block = use.here() ? memory::allocate(bytes) : nullptr;
  if (block != nullptr && !is_aligned(block, alignment)) {
    memory::release(block);
    block = allocate_shifted(bytes, alignment);
  } else if (block != nullptr) {
    widen(block, bytes);
  }
  errno = block != nullptr ? saved : ENOMEM;
  return block;
}

void release(void* block) {
  const Use use;
  if (!use.here()) return;
  const int saved = errno;
  const Inside inside;
  if (shifted_count.load() != 0) {
    const shm::LockGuard guard(mutex);
    if (const auto found = shifted().find(block); found != shifted().end()) {
      block = found->second.whole;
      shifted().erase(found);
      shifted_count.fetch_sub(1);
    }
  }
  memory::release(block);
  errno = saved;
}

std::size_t size_of(const void* block) {
  const Use use;
  if (!use.here()) return 0;
  const Inside inside;
  if (shifted_count.load() != 0) {
    const shm::LockGuard guard(mutex);
    if (const auto found = shifted().find(block); found != shifted().end()) return found->second.bytes;
  }
  return memory::size_of(block);
}

}  // namespace remote_malloc::blocks
