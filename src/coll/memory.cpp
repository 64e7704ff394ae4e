// SPDX-License-Identifier: BSD-3-Clause
#include "coll/memory.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/fatal.hpp"
#include "coll/barrier.hpp"
#include "core/internal.hpp"
#include "core/order.hpp"
#include "core/remote.hpp"
#include "heap/heap.hpp"
#include "heap/node_memory.hpp"

namespace shm {
namespace {

constexpr std::size_t kNaturalAlignment = 16;  // of max_align_t

// Collective allocations so far; picks which of the two words of PE 0 is in use.
std::uint64_t turn = 0;

struct NewBlock {
  std::size_t offset, size;  // in a PE's segment
  int barriers_left;
};
std::vector<NewBlock> new_blocks;
constexpr int kBarriersToFill = 4;  // a block that is not filled after as many barriers is left alone
constexpr std::size_t kSmallestAhead = std::size_t{64} << 10;
constexpr std::size_t kLargestAhead = std::size_t{256} << 20;  // bytes for a block: 0.5 MiB of page tables

std::byte* heap_start() { return reinterpret_cast<std::byte*>(rt.heap.base); }

// PE 0 decides, everybody enters the barrier, everybody reads what PE 0 decided: one barrier a call.
template <class Decide>
Allocation decide_together(Call call, std::uint64_t argument, Decide decide) {
  Allocation& word = internal_area().allocations[turn++ % 2];
  if (rt.me == 0) word = decide();
  quiet(rt.world_context, call);
  sync_world(call);
  Allocation decided;
  if (const Allocation* here = internal_at(&word, 0)) {
    decided = *here;
  } else {
    get_internal(call, &decided, &word, sizeof word, 0);
  }
  if (decided.argument != argument) {
    fatal("%s: this PE passes %zu, PE 0 passes %zu; all PEs must pass the same", call.name,
          static_cast<std::size_t>(argument), static_cast<std::size_t>(decided.argument));
  }
  return decided;
}

void* block_at(std::uint64_t offset) { return offset == kNoBlock ? nullptr : heap_start() + offset; }

std::size_t offset_of(Call call, const void* block) {
  const auto* at = static_cast<const std::byte*>(block);
  if (at < heap_start() || !rt.heap.holds(reinterpret_cast<std::uintptr_t>(block), 1)) {
    fatal(
        "%s: ptr %p is not in the symmetric heap; allowed are pointers that shmem_malloc and the like "
        "returned",
        call.name, block);
  }
  return static_cast<std::size_t>(at - heap_start());
}

void note_new_block(const std::byte* block, std::size_t size) {
  if (rt.node_ranks.size() < 2 || size < kSmallestAhead) return;
  const auto offset = static_cast<std::size_t>(block - rt.memory->heap(rt.node_index));
  new_blocks.push_back({offset, size, kBarriersToFill});
  have_new_blocks = true;
}

constexpr const char* kNotABlock =
    "%s: ptr %p is not the start of an allocated block; has it been freed before?";

}  // namespace

void* allocate(Call call, std::size_t size, std::size_t alignment, bool zero) {
  check_started(call);
  if (size == 0) return nullptr;
  alignment = std::max(alignment, kNaturalAlignment);
  const Allocation decided = decide_together(call, size, [&] {
    // What is aligned more than the heaps are would be so on PE 0 only.
    if (alignment > kLargestAlignment) return Allocation{size, kNoBlock, 0};
    const auto offset = rt.allocator->allocate(size, alignment);
    return Allocation{size, offset.value_or(kNoBlock), 0};
  });
  void* block = block_at(decided.offset);
  if (block != nullptr) note_new_block(static_cast<std::byte*>(block), size);
  if (zero && block != nullptr) {
    std::memset(block, 0, size);
    sync_world(call);  // a peer may write as soon as its own call has returned
  }
  return block;
}

void* reallocate(Call call, void* block, std::size_t size) {
  check_started(call);
  if (block == nullptr) return allocate(call, size, 0, false);
  if (size == 0) {
    release(call, block);
    return nullptr;
  }
  const std::size_t old_offset = offset_of(call, block);
  // The block may still be written to by peers that have not come here; only PE 0 looks at it, and only at
  // its size.
  const Allocation decided = decide_together(call, size, [&] {
    const auto old_size = rt.allocator->size_at(old_offset);
    if (!old_size) {
      warn(kNotABlock, call.name, block);  // a failure has a return value, which programs test for
      return Allocation{size, kNoBlock, 0};
    }
    if (rt.allocator->resize(old_offset, size)) return Allocation{size, old_offset, 0};
    const auto offset = rt.allocator->allocate(size, kNaturalAlignment);
    return Allocation{size, offset.value_or(kNoBlock), std::min(*old_size, size)};
  });
  void* moved = block_at(decided.offset);
  if (moved == nullptr || decided.moved == 0) return moved;
  std::memcpy(moved, block, decided.moved);
  sync_world(call);  // all have copied
  if (rt.me == 0) rt.allocator->release(old_offset);
  return moved;
}

void release(Call call, void* block) {
  check_started(call);
  if (block == nullptr) return;
  const std::size_t offset = offset_of(call, block);
  quiet(rt.world_context, call);
  sync_world(call);
  if (rt.me != 0) return;
  if (!rt.allocator->size_at(offset)) fatal(kNotABlock, call.name, block);
  rt.allocator->release(offset);
}

bool have_new_blocks = false;

void map_filled_blocks() {
  const std::size_t peers = rt.node_ranks.size() - 1;
  std::erase_if(new_blocks, [peers](NewBlock& block) {
    return rt.memory->map_touched(block.offset, block.size, kLargestAhead) >=
               std::min(block.size * peers, kLargestAhead) ||
           --block.barriers_left == 0;
  });
  have_new_blocks = !new_blocks.empty();
}

}  // namespace shm
