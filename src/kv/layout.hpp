// SPDX-License-Identifier: BSD-3-Clause
// What a shard looks like.
//
//   ShardHeader | orders of the blocks, a byte each | directory | groups, by segment -> | ... | <- blocks
//
//   Directory, by the lowest bits of a key's hash:  mask | first group of a segment, for each value up to the
//   mask
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

#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/thread_counter.hpp"
#include "kv/hash.hpp"

namespace shm::kv {

/// Bytes that a table can be created for.
inline constexpr std::uint64_t kLongestKey = 65536, kLongestValue = std::uint64_t{1} << 30;

inline constexpr unsigned kSlots = 14;              // of a group
inline constexpr std::uint64_t kLargestSlot = 128;  // bytes: two lines

/// Where the elements of a group may be when the group is full: in groups of its segment that are so many
/// further on, the same for all groups.  An element's tag says which of them it is, so that its home can be
/// told without its key.
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
  std::uint64_t growing;    // 1: somebody makes a segment
  std::uint64_t splitting;  // one more than the segment whose elements are in two segments, maybe; 0: none
  std::uint64_t segments;   // that there are
  std::uint64_t full;       // how often there was no memory for what was to be stored
  std::uint64_t left;       // of a table of a team: how many members have left it
  std::uint64_t spare;
  std::uint64_t lock;                      // of what follows
  std::uint64_t front;                     // where the groups end, those to come included
  std::uint64_t fresh;                     // largest blocks that have been used at least once
  std::uint64_t used;                      // bytes of blocks in use
  std::uint64_t free_blocks[kMostOrders];  // by order, 0 the largest: the first of a list; 0: none
};

constexpr std::uint64_t padded(std::uint64_t n) { return (n + 7) & ~std::uint64_t{7}; }

/// Bytes of a shard that no machine has.
inline constexpr std::uint64_t kNoMemory = std::uint64_t{1} << 62;

/// Bits of the hash that say which segment a key is in; the group in the segment is said by others.
inline constexpr unsigned kSegmentBits = 24;
inline constexpr std::uint64_t kMostGroupsOfSegment = 256;  // where there may be more than one

/// What threads of this process have come upon in the shards of a table.
struct ShardEvents {
  ThreadCounter looks;  // at a group, in vain: it was being changed
  ThreadCounter waits;  // for a key's home, which was taken
};

/// Computed alike on all PEs, but for `events`.
struct ShardLayout {
  KeyHash hash;                          // of the table's keys
  std::uint64_t key_bytes, value_bytes;  // longest
  bool inlined;
  bool report_collisions;
  std::uint64_t slot_bytes, group_bytes;
  std::uint64_t groups;                                 // at most
  std::uint64_t segment_groups;                         // of each segment
  std::uint64_t first_segments, most_segments;          // at the beginning; at most
  std::uint64_t largest_block, smallest_block, chunks;  // bytes; how many of the largest there are at most
  int orders;
  std::uint64_t orders_at, directory_at, groups_at, blocks_at,
      bytes;                           // blocks_at: of the lowest there may be
  std::uint64_t directory_groups;      // as large as the directory
  std::uint32_t strides[kAlternates];  // how much further on each alternate is; 0: there is one group only
  ShardEvents* events;                 // null: nobody counts

  bool has_segments() const { return most_segments > 1; }

  /// So many are accepted by so many segments: the last slots would take long searches for room.
  std::uint64_t most_elements(std::uint64_t segments) const {
    const std::uint64_t slots = segments * segment_groups * kSlots;
    return slots - slots / 32;
  }
  std::uint64_t most_elements() const { return most_elements(most_segments); }
  /// With more elements there had better be a segment more.  Of the segments that are to be split in this
  /// round, as full as they are twice as full as the others, the first are split at three quarters, the last
  /// at 17 twentieths.
  std::uint64_t enough_elements(std::uint64_t segments) const {
    const std::uint64_t round = std::bit_floor(segments);
    return segment_groups * kSlots * (round * 75 + (segments - round) * 10) / 100;
  }

  // Segments by the lowest bits of the hash: linear hashing.

  /// Which of so many it is.
  static std::uint64_t segment_of(std::uint64_t hash, std::uint64_t segments) {
    const std::uint64_t mask = std::bit_ceil(segments) - 1, segment = hash & mask;
    return segment < segments ? segment : segment & (mask >> 1);
  }
  /// How many bits that takes.
  static unsigned level_of(std::uint64_t segment, std::uint64_t segments) {
    const std::uint64_t round = std::bit_floor(segments);
    const bool is_split = segment >= round || segment + round < segments;
    return static_cast<unsigned>(std::bit_width(round)) - 1 + (is_split ? 1 : 0);
  }
  /// From which the elements of a segment come when it is made.
  static std::uint64_t parent_of(std::uint64_t segment) { return segment - std::bit_floor(segment); }

  // In the directory, groups are counted from the directory's start.
  std::uint64_t entry_at(std::uint64_t segment_bits) const {
    return directory_at + sizeof(std::uint64_t) * (1 + segment_bits);
  }
  std::uint64_t directory_entries() const { return std::bit_ceil(most_segments); }
  std::uint64_t group_in_segment(std::uint64_t hash) const { return group_of(hash, segment_groups); }

  // Of the home, and the home of what is there.
  std::uint64_t alternate(std::uint64_t home, unsigned which) const {
    const std::uint64_t first = first_of_segment(home), group = home + strides[which];
    return group < first + segment_groups ? group : group - segment_groups;
  }
  std::uint64_t home_of_guest(std::uint64_t group, unsigned which) const {
    const std::uint64_t first = first_of_segment(group), stride = strides[which];
    return group >= first + stride ? group - stride : group + segment_groups - stride;
  }
  std::uint64_t first_of_segment(std::uint64_t group) const {
    return has_segments() ? group - group % segment_groups : 0;
  }
  std::uint64_t group_at(std::uint64_t group) const { return groups_at + group * group_bytes; }
  std::uint64_t end_of(std::uint64_t segments) const { return group_at(segments * segment_groups); }
  std::uint64_t slot_at(std::uint64_t group, unsigned slot) const {
    return group_at(group) + sizeof(SlotGroup) + slot * slot_bytes;
  }
  std::uint64_t value_at(std::uint64_t slot) const { return slot + padded(key_bytes); }  // inlined
};

/// The longest key and value, elements of all PEs, and what else a table is made for.
struct ShardShape {
  std::uint64_t key_bytes, value_bytes, capacity;
  unsigned npes;
  bool report_collisions;
};

/// Memory for a shard that grows; on pages the directory has one of its own, which readers keep.
struct Budget {
  std::uint64_t bytes;
  bool on_pages;
};

/// REQUIRES: lengths and capacity that shmemx_kv_create allows; `bytes` may be more than any machine has.
/// Room for `capacity` elements of all PEs: for each PE its share, and what it may have more by chance; it
/// does not grow.
ShardLayout make_layout(std::uint64_t key_bytes, std::uint64_t value_bytes, std::uint64_t capacity,
                        unsigned npes, bool report_collisions);
/// The same, but that it grows from there while its memory has room, which is what elements take.  Begins
/// with less where there is no room for so many; `bytes` may be a little more than asked for where that is
/// too little for one of the longest.
ShardLayout make_layout(const ShardShape& shape, const Budget& budget);
/// Bytes of one for as many, each of which takes as little or as much as possible.
std::uint64_t bytes_for(const ShardShape& shape, bool longest);

}  // namespace shm::kv
