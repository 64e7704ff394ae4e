// SPDX-License-Identifier: BSD-3-Clause
// Blocks that the program has in remote memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "statics.hpp"

namespace remote_malloc::blocks {

// All blocks that ever were lie in [lowest, highest), and nothing else does: these addresses are reserved for
// remote memory.  Who has got a block from another thread finds it in here.
inline constinit std::atomic<std::uintptr_t> lowest{UINTPTR_MAX}, highest{0};

/// Whether any of [at, at + n) is where blocks are.  Any thread, and signal handlers.
inline bool meet(const void* at, std::size_t n) {
  const auto begin = reinterpret_cast<std::uintptr_t>(at);
  if (begin >= highest.load(std::memory_order_relaxed)) return false;
  const std::uintptr_t low = lowest.load(std::memory_order_relaxed);
  return n != 0 && (begin >= low || low - begin < n);
}
inline bool contains(const void* block) { return meet(block, 1); }

/// Whether any of [at, at + n) is remote, in a block or in a static variable.  Any thread, and signal
/// handlers.
inline bool touches(const void* at, std::size_t n) { return meet(at, n) || statics::touches(at, n); }
/// Whether anything is.
inline bool any_remote() {
  return highest.load(std::memory_order_relaxed) != 0 ||
         statics::highest.load(std::memory_order_relaxed) != 0;
}

/// A block at a multiple of `alignment`, a power of two; null: errno is ENOMEM.  It reads as zeros.
void* allocate(std::size_t bytes, std::size_t alignment);
/// REQUIRES: a block of allocate() that was not released.  Does nothing where the memory is not (here()).
void release(void* block);
/// What was asked for; 0 where the memory is not.
std::size_t size_of(const void* block);

}  // namespace remote_malloc::blocks
