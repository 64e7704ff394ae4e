// SPDX-License-Identifier: BSD-3-Clause
#include "local.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "next.hpp"

namespace remote_malloc::local {
namespace {

constinit Next<void*(std::size_t)> next_malloc("malloc");
constinit Next<void*(std::size_t, std::size_t)> next_calloc("calloc");
constinit Next<void*(std::size_t, std::size_t)> next_memalign("memalign");
constinit Next<void*(void*, std::size_t)> next_realloc("realloc");
constinit Next<void(void*)> next_free("free");
constinit Next<std::size_t(void*)> next_malloc_usable_size("malloc_usable_size");

// What the dynamic linker allocates while it looks for these: little, and never reused.
constexpr std::size_t kUnit = 16;
constexpr std::size_t kFirstBytes = std::size_t{32} << 10;
alignas(kUnit) constinit std::byte first[kFirstBytes]{};
constinit std::atomic<std::size_t> first_used{0};

// A unit with its size lies before each.
void* allocate_first(std::size_t bytes) {
  if (bytes > kFirstBytes) return nullptr;
  const std::size_t whole = kUnit + (bytes + kUnit - 1) / kUnit * kUnit;
  const std::size_t at = first_used.fetch_add(whole, std::memory_order_relaxed);
  if (at + whole > kFirstBytes) return nullptr;
  std::memcpy(first + at, &bytes, sizeof bytes);
  return first + at + kUnit;
}

bool is_first(const void* block) {
  const auto at = reinterpret_cast<std::uintptr_t>(block), begin = reinterpret_cast<std::uintptr_t>(first);
  return at - begin < kFirstBytes;
}

std::size_t size_of_first(const void* block) {
  std::size_t bytes;
  std::memcpy(&bytes, static_cast<const std::byte*>(block) - kUnit, sizeof bytes);
  return bytes;
}

}  // namespace

void* allocate(std::size_t bytes) {
  if (finding_next()) [[unlikely]]
    return allocate_first(bytes);
  return next_malloc(bytes);
}

void* allocate_zeros(std::size_t count, std::size_t bytes) {
  if (!finding_next()) [[likely]]
    return next_calloc(count, bytes);
  std::size_t all;
  return __builtin_mul_overflow(count, bytes, &all) ? nullptr : allocate_first(all);
}

void* allocate_aligned(std::size_t alignment, std::size_t bytes) { return next_memalign(alignment, bytes); }

void* reallocate(void* block, std::size_t bytes) {
  if (!is_first(block) && !finding_next()) [[likely]]
    return next_realloc(block, bytes);
  void* moved = allocate(bytes);
  if (moved != nullptr && block != nullptr) std::memcpy(moved, block, std::min(size_of(block), bytes));
  return moved;
}

void release(void* block) {
  // What is freed while `free` is looked for stays: else it would be looked for again.
  if (!is_first(block) && !finding_next()) [[likely]]
    next_free(block);
}

std::size_t size_of(void* block) {
  return is_first(block) ? size_of_first(block) : next_malloc_usable_size(block);
}

}  // namespace remote_malloc::local
