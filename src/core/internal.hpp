// SPDX-License-Identifier: BSD-3-Clause
// The runtime's own symmetric memory: the first bytes of every PE's heap segment, below what users allocate.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/runtime.hpp"
#include "heap/node_memory.hpp"

namespace shm {

/// What PE 0's allocator decided in one collective call.  Two, used in turn: a PE can only come to the next
/// but one after all have read this one.
struct Allocation {
  std::uint64_t argument;  // size that PE 0 was asked for; every PE must have been asked for the same
  std::uint64_t offset;    // from the heap's base; kNoBlock: exhausted
  std::uint64_t moved;     // realloc: the block is new, the contents must be copied
};
inline constexpr std::uint64_t kNoBlock = ~std::uint64_t{0};

struct InternalArea {
  /// Barrier between node leaders: word k is written by the leader 2^k nodes before this one.
  alignas(kCacheLine) std::atomic<std::uint64_t> rounds[32];
  alignas(kCacheLine) Allocation allocations[2];
};

inline constexpr std::size_t kInternalBytes = std::size_t{64} << 10;
static_assert(sizeof(InternalArea) <= kInternalBytes);

inline InternalArea& internal_area() { return *reinterpret_cast<InternalArea*>(rt.heap.base); }

}  // namespace shm
