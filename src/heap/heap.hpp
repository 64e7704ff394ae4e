// SPDX-License-Identifier: BSD-3-Clause
// The allocator of the symmetric heap.  One PE allocates for all: see README.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/status.hpp"

namespace shm {

/// Hands out offsets in a range of address space; only user data ever touch its pages.
/// Thread safety: calls must not overlap.
class HeapAllocator {
 public:
  /// `base` .. `base + range` is mapped memory that reads as zeros; at most `limit` bytes are given to users.
  /// The range should exceed the limit by half, for the allocator's size classes and fragmentation.
  static Result<std::unique_ptr<HeapAllocator>> create(std::byte* base, std::size_t range, std::size_t limit);
  virtual ~HeapAllocator() = default;

  /// An aligned block of `size` > 0 bytes as an offset from base, or nothing when the heap is exhausted.
  /// `alignment` is a power of two.
  virtual std::optional<std::size_t> allocate(std::size_t size, std::size_t alignment) = 0;

  /// Grows or shrinks in place; false: the caller must move the block.
  virtual bool resize(std::size_t offset, std::size_t size) = 0;

  /// Size as requested of the block that starts at `offset`; nothing if none does.
  virtual std::optional<std::size_t> size_at(std::size_t offset) const = 0;

  /// REQUIRES: size_at(offset).
  virtual void release(std::size_t offset) = 0;

  virtual std::size_t bytes_in_use() const = 0;
};

}  // namespace shm
