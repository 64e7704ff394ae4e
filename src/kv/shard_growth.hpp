// SPDX-License-Identifier: BSD-3-Clause
// A shard grows by one segment at a time: linear hashing.  Segments are split in turn, each into itself and a
// new one, which gets the elements whose next bit of the hash is 1, in the same groups of it, slots and
// numbers.  README.md says why nobody misses an element meanwhile.
#pragma once

#include <algorithm>
#include <array>

#include "kv/blocks.hpp"
#include "kv/shard_room.hpp"

namespace shm::kv {

// What of a segment leaves it.
template <class Memory>
struct Shard<Memory>::Moving {
  std::uint64_t bit;  // of the hash
  std::uint64_t first;
  std::array<std::uint16_t, kMostGroupsOfSegment> slots{};  // of each group
  std::array<std::uint64_t, kMostGroupsOfSegment> away{};   // of each home, as in SlotGroup
};

template <class Memory>
bool Shard<Memory>::has_memory_for(std::uint64_t segments) const {
  const auto fresh = memory_.template load<std::uint64_t>(offsetof(ShardHeader, fresh));
  return segments <= layout_.most_segments &&
         layout_.end_of(segments) <= layout_.bytes - fresh * layout_.largest_block;
}

// In the directory.
template <class Memory>
void Shard<Memory>::enter_segment(std::uint64_t bits, std::uint64_t segment) const {
  memory_.store(layout_.entry_at(bits), layout_.directory_groups + segment * layout_.segment_groups);
}

template <class Memory>
Code Shard<Memory>::grow(unsigned patience) const {
  constexpr std::uint64_t kGrowing = offsetof(ShardHeader, growing);
  if (!layout_.has_segments() || !has_memory_for(segments() + 1)) return SHMEMX_KV_FULL;
  if (!detail::take<std::uint64_t>(memory_, kGrowing, 0)) return kBusy;
  const Code status = make_segment(segments(), patience);
  memory_.store(kGrowing, std::uint64_t{0});
  return status;
}

// Alone in that.  The homes of the segment that is split are locked from before its elements are copied until
// none is in both any more: nobody changes one of them, or has one move, and who reads may find it in either.
template <class Memory>
Code Shard<Memory>::make_segment(std::uint64_t to, unsigned patience) const {
  if (to == layout_.most_segments) return SHMEMX_KV_FULL;
  constexpr std::uint64_t kLock = offsetof(ShardHeader, lock);
  detail::take<std::uint64_t>(memory_, kLock, kUnlimited);
  const bool has_memory = BlockAllocator(memory_, layout_).keep_up_to(layout_.end_of(to + 1));
  memory_.store(kLock, std::uint64_t{0});
  if (!has_memory) return SHMEMX_KV_FULL;
  const std::uint64_t from = ShardLayout::parent_of(to);
  if (!lock_homes(from, patience)) return kBusy;
  memory_.store(offsetof(ShardHeader, splitting), from + 1);
  split(from, to);
  memory_.store(offsetof(ShardHeader, splitting), std::uint64_t{0});
  unlock_homes(from, layout_.segment_groups);
  unlock_homes(to, layout_.segment_groups);
  return SHMEMX_KV_OK;
}

template <class Memory>
void Shard<Memory>::split(std::uint64_t from, std::uint64_t to) const {
  const std::uint64_t groups = layout_.segment_groups, old = from * groups, made = to * groups;
  Moving moving{.bit = std::bit_floor(to), .first = old};
  for (std::uint64_t i = 0; i < groups; ++i) copy_group(old + i, made + i, moving);
  for (std::uint64_t i = 0; i < groups; ++i)
    memory_.store(layout_.group_at(made + i) + offsetof(SlotGroup, away), moving.away[i]);
  // Both halves of the directory lead to the same segments until they are split.  Of the next doubling each
  // step enters its part.
  for (const std::uint64_t bits : {2 * to, 2 * to + 1})
    if (bits < layout_.directory_entries()) enter_segment(bits, ShardLayout::parent_of(bits));
  memory_.store(layout_.directory_at, std::bit_ceil(to + 1) - 1);
  memory_.store(offsetof(ShardHeader, segments), to + 1);
  enter_segment(to, to);
  // From here on all look for its elements there.
  for (std::uint64_t i = 0; i < groups; ++i) leave_group(old + i, moving);
}

// Of an element in a copy of its group.
template <class Memory>
std::uint64_t Shard<Memory>::hash_at(const std::byte* group, unsigned slot) const {
  const std::byte* at = group + sizeof(SlotGroup) + slot * layout_.slot_bytes;
  if (layout_.inlined) {
    std::uint16_t lengths;
    std::memcpy(&lengths, group + lengths_at(slot), sizeof lengths);
    return kv::hash_of(layout_.hash, at, lengths % 256U);
  }
  std::uint64_t hash;
  std::memcpy(&hash, at, sizeof hash);
  return hash;
}

// What moves of it, to where nobody looks yet; the homes there are locked.
template <class Memory>
void Shard<Memory>::copy_group(std::uint64_t from, std::uint64_t to, Moving& moving) const {
  alignas(64) std::byte bytes[sizeof(SlotGroup) + kSlots * kLargestSlot];
  memory_.expect(layout_.group_at(from), true);
  memory_.read(layout_.group_at(from), bytes, layout_.group_bytes);
  SlotGroup group;
  std::memcpy(&group, bytes, sizeof group);
  unsigned slots = 0;
  for (unsigned slot = 0; slot < kSlots; ++slot) {
    if (group.tags[slot] == 0 || (hash_at(bytes, slot) & moving.bit) == 0) {
      group.tags[slot] = 0;
      continue;
    }
    slots |= 1U << slot;
    if ((group.guests >> slot) % 2 == 0) continue;
    const unsigned which = alternate_of(group.tags[slot]);
    moving.away[layout_.home_of_guest(from, which) - moving.first] += std::uint64_t{1} << (4 * which);
  }
  moving.slots[from - moving.first] = static_cast<std::uint16_t>(slots);
  group.version = 0;
  group.home = 1;
  group.away = 0;
  group.guests = static_cast<std::uint16_t>(group.guests & slots);
  group.returns = 0;
  std::memcpy(bytes, &group, sizeof group);
  memory_.expect(layout_.group_at(to), true);
  memory_.write(layout_.group_at(to), bytes, layout_.group_bytes);
}

// Has what has been copied leave the group, and its home count what stays.
template <class Memory>
void Shard<Memory>::leave_group(std::uint64_t group, Moving& moving) const {
  const unsigned slots = moving.slots[group - moving.first];
  const std::uint64_t gone = moving.away[group - moving.first];
  const std::uint64_t at = layout_.group_at(group);
  if (gone != 0) {
    const std::uint64_t away_at = at + offsetof(SlotGroup, away);
    memory_.store(away_at, memory_.template load<std::uint64_t>(away_at) - gone);
  }
  if (slots == 0) return;
  const std::uint32_t version = lock_group(group);
  const Head<Memory> state = head(group);
  std::uint64_t tags[2] = {state.tags().low, state.tags().high};
  for (unsigned left = slots; left != 0; left &= left - 1) {
    const auto slot = static_cast<unsigned>(__builtin_ctz(left));
    tags[slot / 8] &= ~(std::uint64_t{0xff} << (slot % 8 * 8));
  }
  memory_.store(at + offsetof(SlotGroup, tags), tags[0]);
  memory_.store(at + offsetof(SlotGroup, tags) + 8, tags[1]);
  memory_.store(at + offsetof(SlotGroup, guests), static_cast<std::uint16_t>(state.guests() & ~slots));
  unlock_group(group, version);
}

// Whoever holds one of them holds no other and waits for none.
template <class Memory>
bool Shard<Memory>::lock_homes(std::uint64_t segment, unsigned patience) const {
  const std::uint64_t first = segment * layout_.segment_groups;
  for (std::uint64_t i = 0; i < layout_.segment_groups; ++i) {
    memory_.expect(layout_.group_at(first + i), true);
    if (detail::take<std::uint32_t>(memory_, layout_.group_at(first + i) + offsetof(SlotGroup, home),
                                    patience))
      continue;
    unlock_homes(segment, i);
    return false;
  }
  return true;
}

// The first n.
template <class Memory>
void Shard<Memory>::unlock_homes(std::uint64_t segment, std::uint64_t n) const {
  const std::uint64_t first = segment * layout_.segment_groups;
  for (std::uint64_t i = 0; i < n; ++i)
    memory_.store(layout_.group_at(first + i) + offsetof(SlotGroup, home), std::uint32_t{0});
}

}  // namespace shm::kv
