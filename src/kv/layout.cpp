// SPDX-License-Identifier: BSD-3-Clause
#include "kv/layout.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "kv/hash.hpp"

namespace shm::kv {
namespace {

constexpr std::uint64_t kLine = 64;
constexpr std::uint64_t kLargestLength = 255;  // what a byte of the group can say

constexpr std::uint64_t lines(std::uint64_t n) { return (n + kLine - 1) / kLine * kLine; }

// Elements are spread over PEs by chance: six standard deviations more than the mean come on less than one PE
// in 500 million.
std::uint64_t share(std::uint64_t capacity, unsigned npes) {
  if (npes == 1) return capacity;
  const auto mean = static_cast<double>(capacity) / npes;
  const auto most = static_cast<std::uint64_t>(std::ceil(mean + 6 * std::sqrt(mean))) + 1;
  return std::min(most, capacity);
}

// Blocks are the largest one halved again and again, so that neighbours can be joined: a size with as
// many factors of two as cost at most an eighth of it.
void lay_out_blocks(ShardLayout& layout) {
  const std::uint64_t longest = lines(sizeof(Block) + padded(layout.key_bytes) + padded(layout.value_bytes));
  const std::uint64_t unit = std::max(kLine, std::bit_floor(longest / 8));
  layout.largest_block = (longest + unit - 1) / unit * unit;
  layout.smallest_block = layout.largest_block;
  layout.orders = 1;
  while (layout.smallest_block % (2 * kLine) == 0 && layout.orders < kMostOrders) {
    layout.smallest_block /= 2;
    ++layout.orders;
  }
  // Each element, however short, takes at most one of the largest, so there is one for each slot.
  layout.chunks = layout.groups * kSlots;
}

// As if by chance, so that no few groups have only each other as alternates; 1 at least, and less than the
// groups.
void choose_strides(ShardLayout& layout) {
  std::uint64_t bits = 0x9e3779b97f4a7c15U;
  for (std::uint32_t& stride : layout.strides) {
    bits = (bits ^ (bits >> 32)) * 0xd6e8feb86659fd93U;
    stride = layout.groups == 1 ? 0 : 1 + scale(bits >> 32, layout.groups - 1);
  }
}

}  // namespace

ShardLayout make_layout(std::uint64_t key_bytes, std::uint64_t value_bytes, std::uint64_t capacity,
                        unsigned npes, bool report_collisions) {
  ShardLayout layout{};
  layout.key_bytes = key_bytes;
  layout.value_bytes = value_bytes;
  layout.report_collisions = report_collisions;
  // Slots that refer to blocks have the hashes by which collisions are told.
  layout.inlined = !report_collisions && key_bytes <= kLargestLength && value_bytes <= kLargestLength &&
                   padded(key_bytes) + padded(value_bytes) <= kLargestSlot;
  layout.slot_bytes = layout.inlined ? padded(key_bytes) + padded(value_bytes) : 16;
  layout.group_bytes = lines(sizeof(SlotGroup) + kSlots * layout.slot_bytes);
  // A third more slots than elements: few of these are then away from their homes.
  const std::uint64_t slots = share(capacity, npes) / 3 * 4 + kSlots;
  layout.groups = (slots + kSlots - 1) / kSlots;
  choose_strides(layout);
  if (!layout.inlined) lay_out_blocks(layout);
  layout.groups_at = lines(sizeof(ShardHeader));
  layout.orders_at = layout.groups_at + layout.groups * layout.group_bytes;
  const std::uint64_t smallest =
      layout.inlined ? 0 : layout.chunks * (layout.largest_block / layout.smallest_block);
  layout.blocks_at = lines(layout.orders_at + smallest);
  std::uint64_t blocks = 0;
  const bool too_many = __builtin_mul_overflow(layout.chunks, layout.largest_block, &blocks) ||
                        __builtin_add_overflow(layout.blocks_at, blocks, &layout.bytes);
  layout.bytes = too_many ? kNoMemory : std::min(layout.bytes, kNoMemory);
  return layout;
}

}  // namespace shm::kv
