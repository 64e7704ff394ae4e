// SPDX-License-Identifier: BSD-3-Clause
// Room for elements that are too long for a slot: buddies.  The largest block is halved as often as is
// needed, and halves that are both free are joined again: so as long as fewer elements are there than there
// are largest blocks, there is room for one more, whatever its length (Knuth, The Art of Computer Programming
// 1, 2.5).
//
// Free blocks begin with the offsets of the next and the previous one in their list.
#pragma once

#include <cstdint>

#include "kv/layout.hpp"

namespace shm::kv {

/// Thread safety: the caller holds ShardHeader::lock.
template <class Memory>
class BlockAllocator {
 public:
  BlockAllocator(const Memory& memory, const ShardLayout& layout) : memory_(memory), layout_(layout) {}

  /// The offset of a block of at least n bytes; 0: there is none.  REQUIRES: n <= layout.largest_block.
  std::uint64_t take(std::uint64_t n) {
    int order = layout_.orders - 1;
    while (size(order) < n) --order;
    int from = order;
    while (from >= 0 && head(from) == 0) --from;
    std::uint64_t block;
    if (from >= 0) {
      block = head(from);
      unlink(block, from);
    } else {
      block = fresh();
      if (block == 0) return 0;
      from = 0;
    }
    for (; from < order; ++from) link(block + size(from + 1), from + 1);
    note(block, order, false);
    memory_.store(offsetof(ShardHeader, used), used() + size(order));
    return block;
  }

  void give_back(std::uint64_t block) {
    int order = memory_.template load<std::uint8_t>(note_at(block)) & kOrder;
    memory_.store(offsetof(ShardHeader, used), used() - size(order));
    for (; order > 0; --order) {
      const std::uint64_t buddy = buddy_of(block, order);
      if (memory_.template load<std::uint8_t>(note_at(buddy)) != (order | kFree)) break;
      unlink(buddy, order);
      block = block < buddy ? block : buddy;
    }
    link(block, order);
  }

  /// Of a block in use.  Needs no lock where nobody gives it back.
  std::uint64_t bytes_of(std::uint64_t block) const {
    return size(memory_.template load<std::uint8_t>(note_at(block)) & kOrder);
  }

  /// Keeps memory for the groups up to `end`; false: blocks are there.
  bool keep_up_to(std::uint64_t end) {
    const auto n = memory_.template load<std::uint64_t>(offsetof(ShardHeader, fresh));
    if (end > layout_.bytes - n * layout_.largest_block) return false;
    if (end > memory_.template load<std::uint64_t>(offsetof(ShardHeader, front)))
      memory_.store(offsetof(ShardHeader, front), end);
    return true;
  }

  std::uint64_t used() const { return memory_.template load<std::uint64_t>(offsetof(ShardHeader, used)); }

 private:
  static constexpr int kOrder = 63;
  static constexpr int kFree = 64;

  std::uint64_t size(int order) const { return layout_.largest_block >> order; }
  static std::uint64_t head_at(int order) {
    return offsetof(ShardHeader, free_blocks) + static_cast<unsigned>(order) * sizeof(std::uint64_t);
  }
  std::uint64_t head(int order) const { return memory_.template load<std::uint64_t>(head_at(order)); }

  std::uint64_t buddy_of(std::uint64_t block, int order) const {
    const std::uint64_t in_chunk = (block - layout_.blocks_at) % layout_.largest_block;
    return (in_chunk / size(order)) % 2 == 0 ? block + size(order) : block - size(order);
  }

  // The byte that says which order the block that begins there has.
  std::uint64_t note_at(std::uint64_t block) const {
    return layout_.orders_at + (block - layout_.blocks_at) / layout_.smallest_block;
  }
  void note(std::uint64_t block, int order, bool free) {
    memory_.store(note_at(block), static_cast<std::uint8_t>(order | (free ? kFree : 0)));
  }

  std::uint64_t fresh() {
    const auto n = memory_.template load<std::uint64_t>(offsetof(ShardHeader, fresh));
    if (n == layout_.chunks) return 0;
    const std::uint64_t block = layout_.blocks_at + (layout_.chunks - 1 - n) * layout_.largest_block;
    if (block < memory_.template load<std::uint64_t>(offsetof(ShardHeader, front))) return 0;
    memory_.store(offsetof(ShardHeader, fresh), n + 1);
    return block;
  }

  void link(std::uint64_t block, int order) {
    const std::uint64_t next = head(order);
    memory_.store(block, next);
    memory_.store(block + 8, std::uint64_t{0});
    if (next != 0) memory_.store(next + 8, block);
    memory_.store(head_at(order), block);
    note(block, order, true);
  }

  void unlink(std::uint64_t block, int order) {
    const auto next = memory_.template load<std::uint64_t>(block);
    const auto previous = memory_.template load<std::uint64_t>(block + 8);
    memory_.store(previous == 0 ? head_at(order) : previous, next);
    if (next != 0) memory_.store(next + 8, previous);
  }

  const Memory& memory_;
  const ShardLayout& layout_;
};

}  // namespace shm::kv
