// SPDX-License-Identifier: BSD-3-Clause
// What Shard does beside the fast path.  The library has it compiled for its memories in shard.cpp and needs
// shard.hpp only; a test includes this for a memory of its own, which stops between one access and the next.
#pragma once

#include <algorithm>
#include <vector>

#include "kv/blocks.hpp"
#include "kv/hash.hpp"
#include "kv/shard.hpp"
#include "kv/shard_growth.hpp"
#include "kv/shard_iteration.hpp"
#include "kv/shard_room.hpp"
#include "kv/shard_survey.hpp"
#include "kv/shard_telling.hpp"

namespace shm::kv {
namespace detail {

inline void shape_of(const ShardLayout& layout, std::uint64_t hash_sign, std::uint64_t (&shape)[7]) {
  const std::uint64_t words[] = {layout.key_bytes,
                                 layout.value_bytes,
                                 layout.report_collisions,
                                 layout.first_segments << 32 | layout.segment_groups,
                                 layout.largest_block,
                                 layout.bytes,
                                 hash_sign};
  static_assert(sizeof words == sizeof shape);
  std::memcpy(shape, words, sizeof words);
}

// Of an operation with a word of a value.
inline std::size_t operand_bytes(const KvRequest& request) {
  return request.op == KvOp::compare_swap ? request.n : atomic_size(request.type);
}

}  // namespace detail

template <class Memory>
void Shard<Memory>::prepare(std::uint64_t hash_sign) const {
  ShardHeader header{};
  header.magic = kMagic;
  detail::shape_of(layout_, hash_sign, header.shape);
  header.segments = layout_.first_segments;
  header.front = layout_.end_of(layout_.first_segments);
  memory_.write(0, &header, sizeof header);
  memory_.store(layout_.directory_at, std::bit_ceil(layout_.first_segments) - 1);
  for (std::uint64_t i = 0; i < 2 * layout_.first_segments && i < layout_.directory_entries(); ++i)
    enter_segment(i, i < layout_.first_segments ? i : ShardLayout::parent_of(i));
}

template <class Memory>
typename Shard<Memory>::Origin Shard<Memory>::origin(std::uint64_t hash_sign) const {
  ShardHeader header{}, mine{};
  memory_.read(0, &header, sizeof header);
  detail::shape_of(layout_, hash_sign, mine.shape);
  if (header.magic == 0) return Origin::empty;
  const bool same = header.magic == kMagic && std::memcmp(header.shape, mine.shape, sizeof mine.shape) == 0;
  return same ? Origin::same : Origin::other;
}

template <class Memory>
bool Shard<Memory>::try_lock_group(std::uint64_t group, std::uint32_t& version) const {
  const std::uint64_t at = layout_.group_at(group);
  version = memory_.template load<std::uint32_t>(at);
  return version % 2 == 0 && memory_.compare_swap(at, version, version + 1);
}

template <class Memory>
std::uint32_t Shard<Memory>::lock_group(std::uint64_t group) const {
  std::uint32_t version;
  for (unsigned looks = 0; !try_lock_group(group, version);) memory_.look_again(++looks);
  return version;
}

template <class Memory>
Code Shard<Memory>::execute(const KvRequest& request, ValueRoom& result, unsigned patience) const {
  expect(request);
  if (request.op == KvOp::get) return get(request.key, result.value, request.n, result.n, patience);
  if (request.op == KvOp::contains) {
    const Code status = get(request.key, nullptr, 0, result.n, patience);
    return status == SHMEMX_KV_TOO_LARGE ? SHMEMX_KV_OK : status;
  }
  if (request.op == KvOp::reserve) return reserve(request, result, patience);
  if (request.op == KvOp::confirm)
    return request.n % 2 == 0 && unchanged(request.offset, static_cast<std::uint32_t>(request.n))
               ? SHMEMX_KV_OK
               : SHMEMX_KV_MISMATCH;
  if (request.op == KvOp::scan) return scan(request, result);
  if (request.op == KvOp::leave) {
    memory_.add(offsetof(ShardHeader, left), std::uint64_t{1});
    return SHMEMX_KV_OK;
  }
  if (request.op == KvOp::count) {
    result.n = elements();
    return SHMEMX_KV_OK;
  }
  constexpr std::uint64_t kLong = 8192;
  const bool is_store = request.op == KvOp::put || request.op == KvOp::insert || request.op == KvOp::update;
  if (is_store && request.n > kLong && request.n <= layout_.value_bytes && request.block == 0)
    return store_long(request, patience);
  return change_alone(request, result, patience);
}

template <class Memory>
void Shard<Memory>::expect(const KvRequest& request) const {
  if (!is_of_a_key(request.op)) return;
  memory_.expect(layout_.group_at(home_of(request.key)), may_change(request.op));
}

// Takes the lock, which was not free.
template <class Memory>
bool Shard<Memory>::wait_for_home(std::uint64_t lock, unsigned patience) const {
  if (layout_.events != nullptr) layout_.events->waits.add(1);
  return detail::take<std::uint32_t>(memory_, lock, patience);
}

// With the lock of the key's home; kBusy also where room needs the lock of another home, which somebody has.
template <class Memory>
Code Shard<Memory>::change_alone(const KvRequest& request, ValueRoom& result, unsigned patience) const {
  for (unsigned looks = 0;;) {
    const std::uint64_t group = home_of(request.key);
    const std::uint64_t home = layout_.group_at(group) + offsetof(SlotGroup, home);
    if (!detail::take<std::uint32_t>(memory_, home, 0) && !wait_for_home(home, patience)) return kBusy;
    if (home_of(request.key) != group) {  // it has another one meanwhile
      memory_.store(home, std::uint32_t{0});
      continue;
    }
    const std::uint64_t before = segments();
    Code status = change(request, result);
    memory_.store(home, std::uint32_t{0});
    if (status == kNoSlot) {
      status = make_more_room(patience);
      if (status == SHMEMX_KV_OK) continue;
      if (status == SHMEMX_KV_FULL && segments() != before) continue;  // somebody else has made the last one
      if (status == kBusy && patience != kUnlimited) return kBusy;     // others have their turn
    } else if (is_done(status) && may_add(request.op) && layout_.has_segments() &&
               elements() > layout_.enough_elements(segments())) {
      grow(patience);  // or somebody else does, or who inserts next
    }
    if (status != kBusy) {
      if (request.block != 0 && !is_done(status)) free_block(request.block);
      return status == SHMEMX_KV_FULL ? refuse_full() : status;
    }
    // Without the lock, as the other one may be looking for room here.
    if (++looks > patience) return kBusy;
    memory_.look_again(looks);
  }
}

// A value whose copying takes long is copied before the lock is taken.
template <class Memory>
Code Shard<Memory>::store_long(const KvRequest& request, unsigned patience) const {
  std::uint64_t n = 0;
  const Code found = get(request.key, nullptr, 0, n, patience);
  if (found == kBusy) return kBusy;
  if (request.op == KvOp::insert && found != SHMEMX_KV_NOT_FOUND) return SHMEMX_KV_EXISTS;
  if (request.op == KvOp::update && found == SHMEMX_KV_NOT_FOUND) return SHMEMX_KV_NOT_FOUND;
  KvRequest with_block = request;
  with_block.block = make_block(request.key, request.value, request.n);
  ValueRoom none;
  if (with_block.block == 0)  // one that is there may still have room in its own
    return found == SHMEMX_KV_NOT_FOUND ? refuse_full() : change_alone(request, none, patience);
  const Code status = change_alone(with_block, none, patience);
  if (status == kBusy) free_block(with_block.block);
  return status;
}

// With the lock of the key's home: nobody else changes what its element is.
template <class Memory>
Code Shard<Memory>::change(const KvRequest& request, ValueRoom& result) const {
  if (tells_what_was(request.op)) return change_and_tell(request, result);
  if (const std::optional<Position> position = find(request.key)) {
    switch (request.op) {
      case KvOp::insert: return SHMEMX_KV_EXISTS;
      case KvOp::put:
      case KvOp::update: return replace(request, *position);
      case KvOp::remove: erase(request.key, *position); return SHMEMX_KV_OK;
      default: return modify(request, *position, result);
    }
  }
  if (request.op != KvOp::put && request.op != KvOp::insert && request.op != KvOp::upsert)
    return SHMEMX_KV_NOT_FOUND;
  if (layout_.report_collisions && collides(request.key)) return SHMEMX_KV_COLLISION;
  if (request.op != KvOp::upsert) return add(request, request.value, request.n);
  const std::size_t n = atomic_size(request.type);
  if (n > layout_.value_bytes) return SHMEMX_KV_TOO_LARGE;
  const Code status = add(request, request.value, n);
  // Not before it is done: the operand and the key may be in the same memory, and be needed once more.
  if (status == SHMEMX_KV_OK && result.value != nullptr) std::memset(result.value, 0, n);
  return status;
}

// The lock of its home makes sure that the key stays where it is; what else is in the groups does not.
template <class Memory>
std::optional<typename Shard<Memory>::Position> Shard<Memory>::find(const Key& key) const {
  std::optional<Position> position;
  search(key, kUnlimited, [&](const Head<Memory>& head, std::uint64_t group, unsigned&) {
    Bytes bytes;
    const int slot = slot_of(head, group, key, bytes);
    position.reset();
    if (slot >= 0) position = {group, static_cast<unsigned>(slot), group == home_of(key)};
    return slot >= 0;
  });
  return position;
}

// Whether another key has this hash, and so this home, whose lock is held.
template <class Memory>
bool Shard<Memory>::collides(const Key& key) const {
  const auto has_hash = [&](const Head<Memory>& head, std::uint64_t group, unsigned&) {
    for (unsigned slots = head.tags().matches(tag_of(key.hash)); slots != 0; slots &= slots - 1) {
      const std::uint64_t slot = layout_.slot_at(group, static_cast<unsigned>(__builtin_ctz(slots)));
      if (memory_.template load<std::uint64_t>(slot) == key.hash) return true;
    }
    return false;
  };
  return search(key, kUnlimited, has_hash) == SHMEMX_KV_OK;
}

// 0: there is none.
template <class Memory>
std::uint64_t Shard<Memory>::take_block(std::uint64_t n) const {
  const std::uint64_t lock = offsetof(ShardHeader, lock);
  detail::take<std::uint64_t>(memory_, lock, kUnlimited);
  const std::uint64_t block = BlockAllocator(memory_, layout_).take(n);
  memory_.store(lock, std::uint64_t{0});
  return block;
}

template <class Memory>
std::uint64_t Shard<Memory>::make_block(const Key& key, const void* value, std::uint64_t n) const {
  const std::uint64_t block = take_block(sizeof(Block) + padded(key.n) + padded(n));
  if (block == 0) return 0;
  const Block head{key.n, 0, n};
  memory_.write(block, &head, sizeof head);
  memory_.write(block + sizeof head, key.bytes, key.n);
  memory_.write(block + sizeof head + padded(key.n), value, n);
  return block;
}

// With the key and the value.  0: there is no room.
template <class Memory>
std::uint64_t Shard<Memory>::block_for(const KvRequest& request, const void* value, std::uint64_t n) const {
  return request.block != 0 ? request.block : make_block(request.key, value, n);
}

// A block that the caller will fill, and pass with a put, insert or update, whichever `offset` says.  None
// where that would store nothing: an insert of a key that is there (EXISTS), an update of one that is not
// (NOT_FOUND).  EXISTS also where there is no block, but the key has an element, which may be long enough.
template <class Memory>
Code Shard<Memory>::reserve(const KvRequest& request, ValueRoom& result, unsigned patience) const {
  const auto op = static_cast<KvOp>(request.offset);
  Code found = SHMEMX_KV_PENDING;
  const auto look = [&] {
    std::uint64_t n = 0;
    found = get(request.key, nullptr, 0, n, patience);
  };
  if (op != KvOp::put) {
    look();
    if (found == kBusy) return kBusy;
    const bool is_there = found != SHMEMX_KV_NOT_FOUND;
    if (is_there != (op == KvOp::update)) return is_there ? SHMEMX_KV_EXISTS : SHMEMX_KV_NOT_FOUND;
  }
  result.n = take_block(request.n);
  if (result.n != 0) return SHMEMX_KV_OK;
  if (op == KvOp::put) look();
  if (found == kBusy) return kBusy;
  return found == SHMEMX_KV_NOT_FOUND ? refuse_full() : SHMEMX_KV_EXISTS;
}

template <class Memory>
Code Shard<Memory>::locate(const Key& key, Location& location, std::uint64_t& n, unsigned patience) const {
  return search(key, patience, [&](const Head<Memory>& head, std::uint64_t group, unsigned&) {
    Bytes bytes;
    if (slot_of(head, group, key, bytes) < 0) return false;
    location = {bytes.value_at, group, head.version()};
    n = bytes.value_bytes;
    return true;
  });
}

template <class Memory>
void Shard<Memory>::free_block(std::uint64_t block) const {
  const std::uint64_t lock = offsetof(ShardHeader, lock);
  detail::take<std::uint64_t>(memory_, lock, kUnlimited);
  BlockAllocator(memory_, layout_).give_back(block);
  memory_.store(lock, std::uint64_t{0});
}

template <class Memory>
Code Shard<Memory>::add(const KvRequest& request, const void* value, std::uint64_t n) const {
  if (n > layout_.value_bytes) return SHMEMX_KV_TOO_LARGE;
  const Key& key = request.key;
  if (!count_in()) return kNoSlot;
  const std::uint64_t block = layout_.inlined ? 0 : block_for(request, value, n);
  if (layout_.inlined || block != 0) {
    const Code status = add_counted(key, block, value, n);
    if (status == SHMEMX_KV_OK) return status;
    if (block != request.block) free_block(block);
    count_out();
    return status;
  }
  count_out();
  return SHMEMX_KV_FULL;
}

// Where the segment of a key has none.  OK: some segment, maybe that one, has been split; kBusy likewise, or
// as grow(); FULL.  Segments are split in turn, so it may take several.  But not without end where many keys
// have one hash.
template <class Memory>
Code Shard<Memory>::make_more_room(unsigned patience) const {
  constexpr std::uint64_t kMostSlots = 4;  // for an element
  if (elements() * kMostSlots < slots()) return SHMEMX_KV_FULL;
  const Code status = grow(patience);
  return status == SHMEMX_KV_OK && patience != kUnlimited ? kBusy : status;
}

// Of elements, if there may be one more.  Before it is there: so there are never too many.  Where words are
// slow others may find the table full for an instant in which one too many is refused.
template <class Memory>
bool Shard<Memory>::count_in() const {
  constexpr std::uint64_t kAt = offsetof(ShardHeader, elements);
  if constexpr (Memory::kWordsAreQuick) {
    for (std::uint64_t n = elements(); n < layout_.most_elements(segments()); n = elements())
      if (memory_.compare_swap(kAt, n, n + 1)) return true;
    return false;
  }
  if (memory_.add(kAt, std::uint64_t{1}) < layout_.most_elements(segments())) return true;
  count_out();
  return false;
}

template <class Memory>
Code Shard<Memory>::add_counted(const Key& key, std::uint64_t block, const void* value,
                                std::uint64_t n) const {
  for (;;) {
    const std::optional<Position> position = free_position(key);
    if (position && place(*position, key, block, value, n)) return SHMEMX_KV_OK;
    const Code room = position ? SHMEMX_KV_OK : make_room(key);  // OK: somebody else may have taken it
    if (room != SHMEMX_KV_OK) return room;
  }
}

// False: the slot has been taken.
template <class Memory>
bool Shard<Memory>::place(const Position& position, const Key& key, std::uint64_t block, const void* value,
                          std::uint64_t n) const {
  const std::uint8_t tag = tag_of(key.hash);
  // Before anybody can have seen the element.
  if (!position.is_home) count_away(home_of(key), alternate_of(tag), true);
  const unsigned number = new_number(home_of(key), position);
  const std::uint32_t version = lock_group(position.group);
  const bool is_free = (head(position.group).tags().free() >> position.slot) % 2 != 0;
  if (is_free) {
    const std::uint64_t slot = layout_.slot_at(position.group, position.slot);
    if (layout_.inlined) {
      memory_.write(slot, key.bytes, key.n);
      memory_.write(layout_.value_at(slot), value, n);
      memory_.store(layout_.group_at(position.group) + lengths_at(position.slot), lengths_of(key.n, n));
    } else {
      memory_.store(slot, key.hash);
      memory_.store(slot + 8, block);
    }
    fill_slot(position, tag, number);
  }
  unlock_group(position.group, version);
  if (!is_free && !position.is_home) count_away(home_of(key), alternate_of(tag), false);
  return is_free;
}

template <class Memory>
Code Shard<Memory>::replace(const KvRequest& request, const Position& position) const {
  if (request.n > layout_.value_bytes) return SHMEMX_KV_TOO_LARGE;
  const std::uint64_t slot = layout_.slot_at(position.group, position.slot);
  if (layout_.inlined) {
    const std::uint32_t version = lock_group(position.group);
    memory_.write(layout_.value_at(slot), request.value, request.n);
    memory_.store(layout_.group_at(position.group) + lengths_at(position.slot),
                  lengths_of(request.key.n, request.n));
    unlock_group(position.group, version);
    return SHMEMX_KV_OK;
  }
  const std::uint64_t block = block_for(request, request.value, request.n);
  if (block == 0) return replace_in_place(request, position);
  const auto old = memory_.template load<std::uint64_t>(slot + 8);
  const std::uint32_t version = lock_group(position.group);
  memory_.store(slot + 8, block);
  unlock_group(position.group, version);
  free_block(old);
  return SHMEMX_KV_OK;
}

// Where there is no other block, in the one it has, if that is long enough: readers wait while it is copied.
template <class Memory>
Code Shard<Memory>::replace_in_place(const KvRequest& request, const Position& position) const {
  const auto block = memory_.template load<std::uint64_t>(layout_.slot_at(position.group, position.slot) + 8);
  const std::uint64_t front = sizeof(Block) + padded(request.key.n);
  if (front + padded(request.n) > BlockAllocator(memory_, layout_).bytes_of(block)) return SHMEMX_KV_FULL;
  const std::uint32_t version = lock_group(position.group);
  memory_.store(block + offsetof(Block, value_bytes), request.n);
  memory_.write(block + front, request.value, request.n);
  unlock_group(position.group, version);
  return SHMEMX_KV_OK;
}

// Of a part of the value, in place.
template <class Memory>
Code Shard<Memory>::modify(const KvRequest& request, const Position& position, ValueRoom& result) const {
  Bytes bytes{};
  bytes_of(head(position.group), position.group, position.slot, bytes);  // nobody else changes it
  const std::uint64_t n = detail::operand_bytes(request);
  if (request.offset > bytes.value_bytes || n > bytes.value_bytes - request.offset)
    return SHMEMX_KV_TOO_LARGE;
  // In whole words, which is how readers read.
  const std::uint64_t skip = request.offset % 8;
  const std::uint64_t at = bytes.value_at + request.offset - skip;
  std::vector<std::byte> long_words;
  std::byte few_words[64];
  if (padded(skip + n) > sizeof few_words) long_words.resize(padded(skip + n));
  std::byte* words = long_words.empty() ? few_words : long_words.data();
  memory_.read(at, words, padded(skip + n));
  std::byte* here = words + skip;
  // What was there is given last: the caller may have the operands in the same place.
  if (request.op == KvOp::compare_swap) {
    const bool same = std::memcmp(here, request.expected, n) == 0;
    std::vector<std::byte> before;
    if (result.value != nullptr) before.assign(here, here + n);
    if (same) std::memcpy(here, request.value, n);
    if (result.value != nullptr) std::memcpy(result.value, before.data(), n);
    if (!same) return SHMEMX_KV_MISMATCH;
  } else {
    alignas(8) std::byte word[8], before[8];
    std::memcpy(word, here, n);
    std::memcpy(before, here, n);
    atomic_apply(request.atomic, request.type, word, request.value, nullptr, nullptr);
    std::memcpy(here, word, n);
    if (result.value != nullptr) std::memcpy(result.value, before, n);
  }
  const std::uint32_t version = lock_group(position.group);
  memory_.write(at, words, padded(skip + n));
  unlock_group(position.group, version);
  return SHMEMX_KV_OK;
}

template <class Memory>
void Shard<Memory>::erase(const Key& key, const Position& position) const {
  const std::uint64_t slot = layout_.slot_at(position.group, position.slot);
  const std::uint64_t block = layout_.inlined ? 0 : memory_.template load<std::uint64_t>(slot + 8);
  const std::uint32_t version = lock_group(position.group);
  empty_slot(position.group, position.slot);
  unlock_group(position.group, version);
  if (position.is_home) {
    bring_home(position.group);
  } else {
    count_away(home_of(key), alternate_of(tag_of(key.hash)), false);
  }
  if (block != 0) free_block(block);
  count_out();
}

}  // namespace shm::kv
