// SPDX-License-Identifier: BSD-3-Clause
// Collective operations on groups (OpenSHMEM 1.6, section 9.10), for teams and active sets alike.
//
// All members call the same operations in the same order with matching arguments.  On return dest is final
// and source may be reused; the others may still be inside.  A peer's source is read, and its dest written,
// only after that peer has entered the call.  Sizes are in bytes unless said otherwise; a size of 0 does
// nothing, and pointers are not looked at.  `call` is for messages.
#pragma once

#include "base/reduce_op.hpp"
#include "coll/group.hpp"

namespace shm {

/// n bytes from member `root` to all; to its own dest only with `root_too`.
void broadcast(Group& g, Call call, void* dest, const void* source, std::size_t n, int root, bool root_too);

/// Concatenation of all sources in team order: n bytes from each, or the caller's own n.
void fcollect(Group& g, Call call, void* dest, const void* source, std::size_t n);
void collect(Group& g, Call call, void* dest, const void* source, std::size_t n);

/// The same where each knows how much all bring, in team order.
void collect_known(Group& g, Call call, void* dest, const void* source,
                   const std::vector<std::size_t>& sizes);

/// Where the blocks of an alltoall lie: element j of block b starts at base + (b * count + j) * step bytes.
struct StridedBlocks {
  std::byte* base;
  std::size_t element;  // bytes
  std::size_t count;    // elements of a block
  std::size_t step;     // >= element; equal: contiguous

  bool contiguous() const { return step == element || count == 0; }
  std::size_t bytes() const { return element * count; }
  std::byte* block(int b) const { return base + static_cast<std::size_t>(b) * count * step; }
  /// From the first byte of the first to the last of the last of n blocks.
  std::size_t extent(int n) const { return (static_cast<std::size_t>(n) * count - 1) * step + element; }
};

/// Block l of source at member k goes to block k of dest at member l.
void alltoall(Group& g, Call call, const StridedBlocks& dest, const StridedBlocks& source);

/// Element-wise over all members; dest equals source or does not overlap it.
void reduce(Group& g, Call call, const Reduction& op, void* dest, const void* source, std::size_t count);

/// The same for vectors that fit into a cell (Cell::kPayload), in any memory, whatever SHMEM_ALGORITHMS says.
void reduce_inline(Group& g, const Reduction& op, void* dest, const void* source, std::size_t count);

/// Element-wise over the members before this one, and with `inclusive` this one.  `op` is a sum: zero is
/// neutral.
void scan(Group& g, Call call, const Reduction& op, void* dest, const void* source, std::size_t count,
          bool inclusive);

}  // namespace shm
