// SPDX-License-Identifier: BSD-3-Clause
// The collective allocator behind shmem_malloc and its kin (OpenSHMEM 1.6, section 9.3).
#pragma once

#include "core/address.hpp"

namespace shm {

/// Which of the heaps: the one that shmem_malloc takes from, the one in memory, or the one on NVM.
enum class Where : std::uint8_t { usual, memory, nvm };

/// All are collective over the world with the same arguments; they return when every PE has the block, or
/// null everywhere when the heap is exhausted.  What the default context has issued before is complete.
void* allocate(Call call, std::size_t size, std::size_t alignment, bool zero, Where where = Where::usual);
void* reallocate(Call call, void* block, std::size_t size);
void release(Call call, void* block);

/// What the heap in memory still has for all PEs alike.  Collective.
std::size_t free_bytes(Call call);

/// Addresses in the heap on NVM, for which no room is made; null everywhere if there are none left. release()
/// ends them.  REQUIRES: there is such a heap.
void* allocate_addresses(Call call, std::size_t size, std::size_t alignment);

/// Who checks all calls (base/call_checks) hears of a block, or of its new size.  allocate(), reallocate()
/// and release() do that; who has got addresses says what they are for.
void tell_of_block(Call call, const void* block, std::size_t size);

/// Between these two, valgrind and AddressSanitizer know of the blocks of the heap in memory, if a PE of the
/// job runs under one of them; and where SHMEM_CHECKS=full, too, blocks are apart.  begin_checks() returns
/// how many bytes more than the program may have the heap needs for that; no block is there at both.
std::size_t begin_checks();
void end_checks();
/// They hear that the library itself uses the first `n` bytes of the heap: the program needs no block any
/// more.
void take_over_heap(std::size_t n);

/// Whether no PE has failed in what all have just tried.  Collective; all tries are over.
bool all_succeeded(Call call, bool failed);

/// Blocks allocated and not looked at by map_filled_blocks() yet.
extern bool have_new_blocks;
void map_filled_blocks();

/// After a barrier of the world: maps what the node's PEs have put into blocks that are new.
inline void map_ahead() {
  if (have_new_blocks) [[unlikely]]
    map_filled_blocks();
}

}  // namespace shm
