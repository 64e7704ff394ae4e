// SPDX-License-Identifier: BSD-3-Clause
// The operations on one shard.  README.md has the rules of its locks, and why readers need
// none.
#pragma once

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include <algorithm>
#include <optional>

#include "kv/hash.hpp"
#include "kv/layout.hpp"
#include "kv/memory.hpp"
#include "kv/paged.hpp"
#include "kv/request.hpp"

namespace shm::kv {

/// Patience that does not end.
inline constexpr unsigned kUnlimited = ~0U;
/// Looks at a group, all in vain, after which a reader takes the lock as soon as it is free: writers have to
/// wait for once.
inline constexpr unsigned kFairLooks = 256;
/// Looks so far, with a copy in vain: not so many that nobody would try the lock.
constexpr unsigned after_copy(unsigned looks, std::uint64_t bytes) {
  return std::max(looks, static_cast<unsigned>(std::min<std::uint64_t>(looks + (bytes >> 10), kFairLooks)));
}

namespace detail {

/// Bit i: tags[i] == tag.
[[gnu::always_inline]] inline unsigned matches(const std::uint8_t (&tags)[16], std::uint8_t tag) {
#if defined(__SSE2__)
  const __m128i all = _mm_loadu_si128(reinterpret_cast<const __m128i*>(tags));
  return static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpeq_epi8(all, _mm_set1_epi8(static_cast<char>(tag)))));
#else
  unsigned bits = 0;
  for (unsigned i = 0; i < 16; ++i) bits |= (tags[i] == tag ? 1U : 0U) << i;
  return bits;
#endif
}

}  // namespace detail

/// Where Shard::next() puts an element.
struct Element {
  void* key;
  std::uint64_t key_room, key_bytes;
  void* value;  // null: not wanted
  std::uint64_t value_room, value_bytes;
};

/// Thread safety: all threads of all PEs that can reach the shard, at any time, each with a Shard of its own
/// or a common one; but for prepare().
template <class Memory>
class Shard {
 public:
  Shard(Memory memory, const ShardLayout& layout) : memory_(memory), layout_(layout) {}

  const ShardLayout& layout() const { return layout_; }

  /// Makes an empty shard of zeros.  `hash_sign`: what the table's hash function makes of some key.
  void prepare(std::uint64_t hash_sign) const;
  /// What there is: zeros; a shard that was prepared alike; or something else.
  enum class Origin { empty, same, other };
  Origin origin(std::uint64_t hash_sign) const;

  /// kBusy only where `patience`, in looks at a lock, is not unlimited.  REQUIRES: lengths that the layout
  /// allows, but for values that are to be stored.
  Code execute(const KvRequest& request, ValueRoom& result, unsigned patience) const;

  /// The same for get and contains.  `value` may be null if `room` is 0.
  Code get(const Key& key, void* value, std::uint64_t room, std::uint64_t& n, unsigned patience) const;

  /// The key will be asked for soon: first for all such keys, then for each of them.
  void prefetch_home(const Key& key) const {
    memory_.prefetch(layout_.group_at(group_of(key.hash, layout_.groups)));
  }
  void prefetch_slot(const Key& key) const {
    const std::uint64_t group = group_of(key.hash, layout_.groups);
    std::uint8_t tags[16];
    memory_.read(layout_.group_at(group) + offsetof(SlotGroup, tags), tags, sizeof tags);
    constexpr unsigned kAll = (1U << kSlots) - 1;
    if (const unsigned slots = detail::matches(tags, tag_of(key.hash)) & kAll; slots != 0)
      memory_.prefetch(layout_.slot_at(group, static_cast<unsigned>(__builtin_ctz(slots))));
  }

  /// Where the key's value is.  kBusy as above.
  Code locate(const Key& key, Location& location, std::uint64_t& n, unsigned patience) const;

  /// The next element at or after `cursor`, which becomes the one after it.  NOT_FOUND: there is none;
  /// TOO_LARGE: `cursor` stays.
  Code next(std::uint64_t& cursor, Element& element) const;

  std::uint64_t elements() const {
    return memory_.template load<std::uint64_t>(offsetof(ShardHeader, elements));
  }
  std::uint64_t longest_probe() const {
    return memory_.template load<std::uint64_t>(offsetof(ShardHeader, longest_probe));
  }
  std::uint64_t block_bytes_used() const {
    return memory_.template load<std::uint64_t>(offsetof(ShardHeader, used));
  }

 private:
  static constexpr std::uint64_t kMagic = 0x31766b6c6c6f7461;  // "atollkv1"

  // Where an element is, or would be.
  struct Position {
    std::uint64_t group;
    unsigned slot;
    std::uint64_t distance;  // in groups from its home
  };
  // Where its bytes are, by the state of a group.
  struct Bytes {
    std::uint64_t key_at, key_bytes, value_at, value_bytes;
  };

  SlotGroup look(std::uint64_t group) const;
  bool unchanged(std::uint64_t group, std::uint32_t version) const {
    return memory_.template load<std::uint32_t>(layout_.group_at(group)) == version;
  }
  bool bytes_of(const SlotGroup& state, std::uint64_t group, unsigned slot, Bytes& bytes) const;
  bool holds(const SlotGroup& state, std::uint64_t group, unsigned slot, const Key& key, Bytes& bytes) const;
  std::optional<Position> find(const Key& key) const;
  int slot_of(const SlotGroup& state, std::uint64_t group, const Key& key, Bytes& bytes) const;
  bool collides(const Key& key) const;
  template <class Visit>
  bool look_whole(std::uint64_t group, unsigned patience, Visit visit) const;
  template <class Visit>
  Code search(const Key& key, unsigned patience, Visit visit) const;
  Code copy_value(const Bytes& bytes, void* value, std::uint64_t room, std::uint64_t& n) const;

  Code read(const SlotGroup& state, std::uint64_t group, unsigned slot, Element& element) const;
  void expect(const KvRequest& request) const;
  Code change(const KvRequest& request, ValueRoom& result) const;
  Code change_alone(const KvRequest& request, ValueRoom& result, unsigned patience) const;
  Code store_long(const KvRequest& request, unsigned patience) const;
  Code reserve(std::uint64_t n, ValueRoom& result) const;
  std::uint64_t block_for(const KvRequest& request, const void* value, std::uint64_t n) const;
  Code add(const KvRequest& request, const void* value, std::uint64_t n) const;
  Code replace(const KvRequest& request, const Position& position) const;
  Code modify(const KvRequest& request, const Position& position, ValueRoom& result) const;
  void erase(const Position& position) const;

  std::optional<Position> free_position(std::uint64_t home) const;
  void pass(const Position& position, std::uint32_t more) const;
  std::uint64_t make_block(const Key& key, const void* value, std::uint64_t n) const;
  std::uint64_t take_block(std::uint64_t n) const;
  void free_block(std::uint64_t block) const;
  bool try_lock_group(std::uint64_t group, std::uint32_t& version) const;
  std::uint32_t lock_group(std::uint64_t group) const;
  void unlock_group(std::uint64_t group, std::uint32_t version) const {
    memory_.store(layout_.group_at(group), version + 2);
  }

  Memory memory_;
  const ShardLayout& layout_;
};

extern template class Shard<Mapped>;
extern template class Shard<Paged>;

// ---- the fast path --------------------------------------------------------------------------------------

template <class Memory>
[[gnu::always_inline]] inline SlotGroup Shard<Memory>::look(std::uint64_t group) const {
  SlotGroup state;
  const std::uint64_t at = layout_.group_at(group);
  if constexpr (Memory::kReadsInOrder) {
    memory_.read(at, &state, sizeof state);
  } else {  // the version first
    const auto version = memory_.template load<std::uint32_t>(at);
    memory_.read(at, &state, sizeof state);
    state.version = version;
  }
  return state;
}

// False: what was read makes no sense, as it is being changed.
template <class Memory>
[[gnu::always_inline]] inline bool Shard<Memory>::bytes_of(const SlotGroup& state, std::uint64_t group,
                                                           unsigned slot, Bytes& bytes) const {
  const std::uint64_t at = layout_.slot_at(group, slot);
  if (layout_.inlined) [[likely]] {
    bytes = {at, state.key_bytes[slot], layout_.value_at(at), state.value_bytes[slot]};
    return bytes.key_bytes <= layout_.key_bytes && bytes.value_bytes <= layout_.value_bytes;
  }
  const auto block = memory_.template load<std::uint64_t>(at + 8);
  if (block < layout_.blocks_at || block >= layout_.bytes || block % 8 != 0) return false;
  Block head;
  memory_.read(block, &head, sizeof head);
  const std::uint64_t value_at = block + sizeof(Block) + padded(head.key_bytes);
  bytes = {block + sizeof(Block), head.key_bytes, value_at, head.value_bytes};
  return bytes.key_bytes <= layout_.key_bytes && bytes.value_bytes <= layout_.value_bytes &&
         value_at + padded(bytes.value_bytes) <= layout_.bytes;
}

// Whether the slot has the key, as far as can be told before the version is looked at again.
template <class Memory>
[[gnu::always_inline]] inline bool Shard<Memory>::holds(const SlotGroup& state, std::uint64_t group,
                                                        unsigned slot, const Key& key, Bytes& bytes) const {
  if (!layout_.inlined && memory_.template load<std::uint64_t>(layout_.slot_at(group, slot)) != key.hash)
    return false;
  return bytes_of(state, group, slot, bytes) && bytes.key_bytes == key.n &&
         memory_.is(bytes.key_at, key.bytes, key.n);
}

template <class Memory>
[[gnu::always_inline]] inline Code Shard<Memory>::copy_value(const Bytes& bytes, void* value,
                                                             std::uint64_t room, std::uint64_t& n) const {
  n = bytes.value_bytes;
  if (n > room) return SHMEMX_KV_TOO_LARGE;
  memory_.read(bytes.value_at, value, n);
  return SHMEMX_KV_OK;
}

// Which slot of the group has the key, likewise; negative: none.
template <class Memory>
[[gnu::always_inline]] inline int Shard<Memory>::slot_of(const SlotGroup& state, std::uint64_t group,
                                                         const Key& key, Bytes& bytes) const {
  for (unsigned slots = detail::matches(state.tags, tag_of(key.hash)); slots != 0; slots &= slots - 1) {
    const int slot = __builtin_ctz(slots);
    if (holds(state, group, static_cast<unsigned>(slot), key, bytes)) return slot;
  }
  return -1;
}

// Has visit(state, looks) look at the group until nothing has changed meanwhile, in the end with the lock; it
// adds to `looks` what it cost.  False: not within `patience`.
template <class Memory>
template <class Visit>
[[gnu::always_inline]] inline bool Shard<Memory>::look_whole(std::uint64_t group, unsigned patience,
                                                             Visit visit) const {
  for (unsigned looks = 0; looks <= patience; memory_.look_again(++looks)) {
    const bool locked = looks > kFairLooks;
    std::uint32_t version = 0;
    if (locked && !try_lock_group(group, version)) continue;
    SlotGroup state = look(group);
    if (locked) state.version = version;
    if (state.version % 2 != 0) continue;
    visit(state, looks);
    if (locked)
      memory_.store(layout_.group_at(group), version);  // nothing has changed
    else if (!unchanged(group, state.version))
      continue;
    return true;
  }
  return false;
}

// Walks the groups in which the key may be.  visit(state, group, distance from the home, looks) returns
// whether it has found what it looks for; otherwise as in look_whole().  Returns OK if it has, else
// NOT_FOUND, or kBusy.
template <class Memory>
template <class Visit>
[[gnu::always_inline]] inline Code Shard<Memory>::search(const Key& key, unsigned patience,
                                                         Visit visit) const {
  std::uint64_t group = group_of(key.hash, layout_.groups);
  for (std::uint64_t distance = 0; distance < layout_.groups; ++distance) {
    bool found = false, goes_on = false;
    const auto visit_this = [&](const SlotGroup& state, unsigned& looks) __attribute__((always_inline)) {
      found = visit(state, group, distance, looks);
      goes_on = state.passed != 0;
    };
    if (!look_whole(group, patience, visit_this)) return kBusy;
    if (found) return SHMEMX_KV_OK;
    if (!goes_on) return SHMEMX_KV_NOT_FOUND;
    if (++group == layout_.groups) group = 0;
  }
  return SHMEMX_KV_NOT_FOUND;
}

template <class Memory>
[[gnu::always_inline]] inline Code Shard<Memory>::get(const Key& key, void* value, std::uint64_t room,
                                                      std::uint64_t& n, unsigned patience) const {
  Code copied = SHMEMX_KV_OK;
  const Code status = search(
      key, patience,
      [&](const SlotGroup& state, std::uint64_t group, std::uint64_t, unsigned& looks)
          __attribute__((always_inline)) {
            Bytes bytes;
            if (slot_of(state, group, key, bytes) < 0) return false;
            copied = copy_value(bytes, value, room, n);
            if (copied == SHMEMX_KV_OK) looks = after_copy(looks, n);
            return true;
          });
  return status == SHMEMX_KV_OK ? copied : status;
}

}  // namespace shm::kv
