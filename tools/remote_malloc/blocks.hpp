// SPDX-License-Identifier: BSD-3-Clause
// Blocks that the program has in remote memory.
#pragma once

#include <cstddef>

#include "hull.hpp"
#include "statics.hpp"

namespace remote_malloc::blocks {

// Of all blocks that ever were.  Nothing else lies in it: these addresses are reserved for remote memory.
inline constinit Hull hull;

/// Whether any of [at, at + n) is where blocks are.  Any thread, and signal handlers.
inline bool meet(const void* at, std::size_t n) { return hull.meets(at, n); }
inline bool contains(const void* block) { return meet(block, 1); }

/// Whether any of [at, at + n) is remote, in a block or in a static variable.  Any thread, and signal
/// handlers.
inline bool touches(const void* at, std::size_t n) { return meet(at, n) || statics::touches(at, n); }
/// Whether anything is.
inline bool any_remote() { return !hull.empty() || !statics::hull.empty(); }

/// A block at a multiple of `alignment`, a power of two; null: errno is ENOMEM.  It reads as zeros.
void* allocate(std::size_t bytes, std::size_t alignment);
/// REQUIRES: a block of allocate() that was not released.  Does nothing where the memory is not (here()).
void release(void* block);
/// What was asked for; 0 where the memory is not.
std::size_t size_of(const void* block);

}  // namespace remote_malloc::blocks
