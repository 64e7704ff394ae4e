// SPDX-License-Identifier: BSD-3-Clause
#include "kv/layout.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "kv/hash.hpp"

namespace shm::kv {
namespace {

constexpr std::uint64_t kLine = 64;
constexpr std::uint64_t kMostSegments = std::uint64_t{1} << kSegmentBits;
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
void choose_block_sizes(ShardLayout& layout) {
  const std::uint64_t longest = lines(sizeof(Block) + padded(layout.key_bytes) + padded(layout.value_bytes));
  const std::uint64_t unit = std::max(kLine, std::bit_floor(longest / 8));
  layout.largest_block = (longest + unit - 1) / unit * unit;
  layout.smallest_block = layout.largest_block;
  layout.orders = 1;
  while (layout.smallest_block % (2 * kLine) == 0 && layout.orders < kMostOrders) {
    layout.smallest_block /= 2;
    ++layout.orders;
  }
}

// As if by chance, so that no few groups have only each other as alternates; 1 at least, and less than the
// groups.
void choose_strides(ShardLayout& layout) {
  std::uint64_t bits = 0x9e3779b97f4a7c15U;
  for (std::uint32_t& stride : layout.strides) {
    bits = (bits ^ (bits >> 32)) * 0xd6e8feb86659fd93U;
    stride = layout.segment_groups == 1 ? 0 : 1 + scale(bits >> 32, layout.segment_groups - 1);
  }
}

// What does not depend on how many there will be.
ShardLayout begin_layout(std::uint64_t key_bytes, std::uint64_t value_bytes, bool report_collisions) {
  ShardLayout layout{};
  layout.key_bytes = key_bytes;
  layout.value_bytes = value_bytes;
  layout.report_collisions = report_collisions;
  // Slots that refer to blocks have the hashes by which collisions are told.
  layout.inlined = !report_collisions && key_bytes <= kLargestLength && value_bytes <= kLargestLength &&
                   padded(key_bytes) + padded(value_bytes) <= kLargestSlot;
  layout.slot_bytes = layout.inlined ? padded(key_bytes) + padded(value_bytes) : 16;
  layout.group_bytes = lines(sizeof(SlotGroup) + kSlots * layout.slot_bytes);
  if (!layout.inlined) choose_block_sizes(layout);
  return layout;
}

// A third more slots than elements: few of these are then away from their homes.
std::uint64_t groups_for(std::uint64_t capacity, unsigned npes) {
  const std::uint64_t slots = share(capacity, npes) / 3 * 4 + kSlots;
  return (slots + kSlots - 1) / kSlots;
}

// A byte for each of the smallest blocks.
std::uint64_t bytes_of_orders(const ShardLayout& layout, std::uint64_t chunks) {
  return layout.inlined ? 0 : chunks * (layout.largest_block / layout.smallest_block);
}

// Header, orders, directory; the groups begin behind them.
void lay_out_front(ShardLayout& layout, std::uint64_t chunks, bool on_pages) {
  constexpr std::uint64_t kPage = 4096;
  const std::uint64_t unit = on_pages ? kPage : kLine;
  const auto whole = [](std::uint64_t n, std::uint64_t of) { return (n + of - 1) / of * of; };
  layout.orders_at = lines(sizeof(ShardHeader));
  layout.directory_at = whole(layout.orders_at + bytes_of_orders(layout, chunks), unit);
  const std::uint64_t entries = whole((1 + layout.directory_entries()) * sizeof(std::uint64_t), unit);
  layout.groups_at = layout.directory_at + whole(entries, layout.group_bytes);
  layout.directory_groups = (layout.groups_at - layout.directory_at) / layout.group_bytes;
}

// Segments of 128 groups or a few more: as many as are split and filled again in a moment, and so many that
// they are filled alike by chance.
void choose_segments(ShardLayout& layout, std::uint64_t groups) {
  constexpr std::uint64_t kLeast = kMostGroupsOfSegment / 2;
  layout.first_segments = std::bit_floor(std::clamp(groups / kLeast, std::uint64_t{1}, kMostSegments));
  layout.segment_groups =
      std::clamp((groups + layout.first_segments - 1) / layout.first_segments, kLeast, kMostGroupsOfSegment);
}

}  // namespace

ShardLayout make_layout(std::uint64_t key_bytes, std::uint64_t value_bytes, std::uint64_t capacity,
                        unsigned npes, bool report_collisions) {
  ShardLayout layout = begin_layout(key_bytes, value_bytes, report_collisions);
  layout.groups = layout.segment_groups = groups_for(capacity, npes);
  layout.first_segments = layout.most_segments = 1;
  choose_strides(layout);
  // Each element, however short, takes at most one of the largest, so there is one for each slot.
  if (!layout.inlined) layout.chunks = layout.groups * kSlots;
  lay_out_front(layout, layout.chunks, false);
  layout.blocks_at = layout.end_of(1);
  std::uint64_t blocks = 0;
  const bool too_many = __builtin_mul_overflow(layout.chunks, layout.largest_block, &blocks) ||
                        __builtin_add_overflow(layout.blocks_at, blocks, &layout.bytes);
  layout.bytes = too_many ? kNoMemory : std::min(layout.bytes, kNoMemory);
  return layout;
}

ShardLayout make_layout(const ShardShape& shape, const Budget& budget) {
  ShardLayout layout = begin_layout(shape.key_bytes, shape.value_bytes, shape.report_collisions);
  choose_segments(layout, groups_for(shape.capacity, shape.npes));
  const std::uint64_t bytes = std::min(budget.bytes, kNoMemory);
  // As if there were nothing else, for either of them.
  const auto lay_out = [&] {
    const std::uint64_t segment = layout.segment_groups * layout.group_bytes;
    layout.most_segments = std::clamp(bytes / segment, layout.first_segments, kMostSegments);
    lay_out_front(layout, layout.inlined ? 0 : std::max(bytes / layout.largest_block, std::uint64_t{1}),
                  budget.on_pages);
  };
  const std::uint64_t least = layout.inlined ? 0 : layout.largest_block;
  lay_out();
  const std::uint64_t for_groups = layout.inlined ? bytes : bytes / 2;  // else the others for blocks
  while (layout.first_segments > 1 && layout.end_of(layout.first_segments) + least > for_groups) {
    layout.first_segments /= 2;
    lay_out();
  }
  while (layout.segment_groups > 1 && layout.end_of(1) + least > bytes) {
    layout.segment_groups /= 2;
    lay_out();
  }
  layout.bytes = std::max(bytes, layout.end_of(layout.first_segments) + least) / kLine * kLine;
  const std::uint64_t most =
      (layout.bytes - least - layout.groups_at) / (layout.segment_groups * layout.group_bytes);
  layout.most_segments = std::clamp(most, layout.first_segments, layout.most_segments);
  layout.groups = layout.most_segments * layout.segment_groups;
  const std::uint64_t first_end = layout.end_of(layout.first_segments);
  if (!layout.inlined) layout.chunks = (layout.bytes - first_end) / layout.largest_block;
  layout.blocks_at = layout.bytes - layout.chunks * layout.largest_block;
  choose_strides(layout);
  return layout;
}

std::uint64_t bytes_for(const ShardShape& shape, bool longest) {
  ShardLayout layout = begin_layout(shape.key_bytes, shape.value_bytes, shape.report_collisions);
  const std::uint64_t groups = groups_for(shape.capacity, shape.npes);
  choose_segments(layout, groups);
  layout.most_segments = std::min(2 * layout.first_segments, kMostSegments);
  lay_out_front(layout, 0, true);
  const std::uint64_t all_groups = std::max(groups, layout.first_segments * layout.segment_groups);
  const std::uint64_t front = layout.groups_at + (all_groups + 1) * layout.group_bytes;
  if (layout.inlined) return front;
  // One for each slot, and for values that take the places of others.
  const auto with_orders = [&](std::uint64_t block) { return block + block / layout.smallest_block; };
  std::uint64_t blocks = 0, bytes = 0;
  const bool too_many =
      __builtin_mul_overflow(groups * kSlots,
                             with_orders(longest ? layout.largest_block : layout.smallest_block), &blocks) ||
      __builtin_add_overflow(blocks, front + 2 * with_orders(layout.largest_block), &bytes);
  return too_many ? kNoMemory : std::min(bytes, kNoMemory);
}

}  // namespace shm::kv
