// SPDX-License-Identifier: BSD-3-Clause
// Tells valgrind and AddressSanitizer, if this process runs under one of them, which bytes of the symmetric
// heaps are blocks.  So they find what reaches past a block, or is used after shmem_free, here and in the
// heaps of the node's other PEs; and valgrind's leak check reads the blocks, not the heaps.
//
// Thread safety: calls must not overlap.
#pragma once

#include <cstddef>
#include <vector>

namespace shm {

/// Whether somebody wants to know.
bool runs_under_checker();

/// Bytes that lie behind each block then, which nobody may access.
inline constexpr std::size_t kRedZone = 64;

/// Memory that Checkers::begin() was told of and that is no block of the heap is used from now on.
void permit_beside_blocks(std::byte* at, std::size_t n);

class Checkers {
 public:
  /// `heaps` are where the heaps of the node's PEs begin here, own ones first; in `size` bytes of each there
  /// are no blocks yet.
  void begin(std::vector<std::byte*> heaps, std::size_t size);
  /// A block has come, with as many bytes behind it as `red_zone`; one that is there already has this size
  /// now.
  void add(std::size_t offset, std::size_t size, std::size_t red_zone);
  void remove(std::size_t offset);
  /// There are no blocks any more, and the heaps' memory is nobody's.
  void end();

 private:
  struct CheckedBlock {
    std::size_t offset, size;
  };
  std::vector<std::byte*> heaps_;
  std::vector<CheckedBlock> blocks_;
  std::size_t used_ = 0;  // of each heap there never was a block behind
};

}  // namespace shm
