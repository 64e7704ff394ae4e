// SPDX-License-Identifier: BSD-3-Clause
// Memory that this PE gives out by itself, at the end of its heap segment: mapped on the node and reached by
// RMA, as all of the segment, but at addresses that mean nothing on other PEs.  For shards of tables of
// teams.
#pragma once

#include <cstddef>

namespace shm::kv {

/// What blocks of so many bytes together need, with what an allocator loses.
constexpr std::size_t own_range(std::size_t bytes) {
  constexpr std::size_t kUnit = std::size_t{2} << 20;
  return (bytes + bytes / 2 + kUnit - 1) / kUnit * kUnit + kUnit;
}

/// Thread safety: all.  A block of `n` > 0 bytes, whatever is in it, a multiple of a line; null: there is no
/// room.
std::byte* allocate_own(std::size_t n);
void release_own(std::byte* block);
/// Bytes that all blocks may have, and what is left of them.
std::size_t own_bytes();
std::size_t own_bytes_free();
/// All blocks end.
void end_own_memory();

}  // namespace shm::kv
