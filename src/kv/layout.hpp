// SPDX-License-Identifier: BSD-3-Clause
// What a shard looks like.
//
//   ShardHeader | groups | orders of the blocks, a byte each | blocks
//
//   SlotGroup, of a multiple of 64 bytes:
//   version | home | away | tags[16] | lengths[14] | guests | returns | numbers[14] | - | slots[14]
//    4 bytes   4      8     16          28            2        2         14           2
//
//   Slot, inlined:  key | value, each padded to 8          else:  hash | where its block is, from the shard's
//   start Block:          key_bytes (4) | - (4) | value_bytes (8) | key, padded to 8 | value
//
// All offsets count from the shard's start, so shards may be mapped anywhere.  All words are aligned.
#pragma once

#include <cstddef>
#include <cstdint>

namespace shm::kv {

inline constexpr unsigned kSlots = 14;              // of a group
inline constexpr std::uint64_t kLargestSlot = 128;  // bytes: two lines

/// Where the elements of a group may be when the group is full: in groups that are so many further on, the
/// same for all groups.  An element's tag says which of them it is, so that its home can be told without its
/// key.
inline constexpr unsigned kAlternates = 16;
constexpr unsigned alternate_of(std::uint8_t tag) { return tag % kAlternates; }

struct SlotGroup {
  std::uint32_t version;          // odd: being changed
  std::uint32_t home;             // 1: an element whose home this is is being changed
  std::uint64_t away;             // of these how many are in each alternate, four bits each
  std::uint8_t tags[16];          // of the slots; 0: free; the last two are always 0
  std::uint16_t lengths[kSlots];  // of inlined elements, as lengths_of()
  std::uint16_t guests;           // bit i: slot i has an element of another home
  std::uint16_t returns;          // how often an element of this home has come back here
  std::uint8_t numbers[kSlots];   // of elements: no other of the same home has it meanwhile
  std::uint8_t unused[2];
};
static_assert(sizeof(SlotGroup) == 80);
static_assert(kSlots < 16, "so many may be in one alternate");

/// Of a key and a value in a slot, in one word; where that is, from the group's start.
constexpr std::uint16_t lengths_of(std::uint64_t key_bytes, std::uint64_t value_bytes) {
  return static_cast<std::uint16_t>(key_bytes | value_bytes << 8);
}
constexpr std::uint64_t lengths_at(unsigned slot) {
  return offsetof(SlotGroup, lengths) + slot * sizeof(std::uint16_t);
}

struct Block {
  std::uint32_t key_bytes;
  std::uint32_t unused;
  std::uint64_t value_bytes;
};
static_assert(sizeof(Block) == 16);

inline constexpr int kMostOrders = 32;  // sizes of blocks: the largest, its half, and so on

struct ShardHeader {
  std::uint64_t magic;
  std::uint64_t shape[7];   // what it was made for, compared when it is opened again
  std::uint64_t elements;   // a line of its own: all who insert count here
  std::uint64_t displaced;  // 1: some element has been in an alternate
  std::uint64_t spare[6];
  std::uint64_t lock;                      // of what follows
  std::uint64_t fresh;                     // largest blocks that have been used at least once
  std::uint64_t used;                      // bytes of blocks in use
  std::uint64_t free_blocks[kMostOrders];  // by order, 0 the largest: the first of a list; 0: none
};

constexpr std::uint64_t padded(std::uint64_t n) { return (n + 7) & ~std::uint64_t{7}; }

/// Bytes of a shard that no machine has.
inline constexpr std::uint64_t kNoMemory = std::uint64_t{1} << 62;

/// Computed alike on all PEs.
struct ShardLayout {
  std::uint64_t key_bytes, value_bytes;  // longest
  bool inlined;
  bool report_collisions;
  std::uint64_t slot_bytes, group_bytes, groups;
  std::uint64_t largest_block, smallest_block, chunks;  // bytes; how many of the largest there are
  int orders;
  std::uint64_t groups_at, orders_at, blocks_at, bytes;
  std::uint32_t strides[kAlternates];  // how much further on each alternate is; 0: there is one group only

  /// So many are accepted: the last slots would take long searches for room.
  std::uint64_t most_elements() const {
    const std::uint64_t slots = groups * kSlots;
    return slots - slots / 32;
  }

  /// Of the home, and the home of what is there.
  std::uint64_t alternate(std::uint64_t home, unsigned which) const {
    const std::uint64_t group = home + strides[which];
    return group < groups ? group : group - groups;
  }
  std::uint64_t home_of_guest(std::uint64_t group, unsigned which) const {
    const std::uint64_t stride = strides[which];
    return group >= stride ? group - stride : group + groups - stride;
  }
  std::uint64_t group_at(std::uint64_t group) const { return groups_at + group * group_bytes; }
  std::uint64_t slot_at(std::uint64_t group, unsigned slot) const {
    return group_at(group) + sizeof(SlotGroup) + slot * slot_bytes;
  }
  std::uint64_t value_at(std::uint64_t slot) const { return slot + padded(key_bytes); }  // inlined
};

/// REQUIRES: lengths and capacity that shmemx_kv_create allows; `bytes` may be more than any machine has.
/// Room for `capacity` elements of all PEs: for each PE its share, and what it may have more by chance.
ShardLayout make_layout(std::uint64_t key_bytes, std::uint64_t value_bytes, std::uint64_t capacity,
                        unsigned npes, bool report_collisions);

}  // namespace shm::kv
