// SPDX-License-Identifier: BSD-3-Clause
// The operations on one shard.  README.md has the rules of its locks, and why readers need
// none.
#pragma once

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include <algorithm>
#include <optional>
#include <type_traits>

#include "base/stats.hpp"
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

/// A byte for each slot of a group, such as the tags.
struct Bytes16 {
  std::uint64_t low, high;

  /// Bit i: byte i is this.
  [[gnu::always_inline]] unsigned matches(std::uint8_t byte) const {
#if defined(__SSE2__)
    const __m128i all = _mm_set_epi64x(static_cast<long long>(high), static_cast<long long>(low));
    return static_cast<unsigned>(
        _mm_movemask_epi8(_mm_cmpeq_epi8(all, _mm_set1_epi8(static_cast<char>(byte)))));
#else
    unsigned bits = 0;
    for (unsigned i = 0; i < kSlots; ++i) bits |= ((*this)[i] == byte ? 1U : 0U) << i;
    return bits;
#endif
  }
  /// Of tags.  Bit i: slot i is free, or taken.
  unsigned free() const { return matches(0) & ((1U << kSlots) - 1); }
  unsigned taken() const { return ~matches(0) & ((1U << kSlots) - 1); }
  std::uint8_t operator[](unsigned slot) const {
    return static_cast<std::uint8_t>(slot < 8 ? low >> (slot * 8) : high >> (slot * 8 - 64));
  }
};

/// The first line of a group, whose version is read first.  Other words come from memory when they are asked
/// for, or where that is slow, all at once.
template <class Memory>
class Head {
 public:
  Head(const Memory& memory, std::uint64_t at)
      : memory_(memory), at_(at), version_(memory.template load<std::uint32_t>(at)) {
    if constexpr (!Memory::kWordsAreQuick) memory_.read(at, &copy_, sizeof copy_);
  }

  std::uint32_t version() const { return version_; }
  /// What it was before this took the group's lock.
  void set_version(std::uint32_t version) { version_ = version; }
  Bytes16 tags() const {
    return {word<std::uint64_t>(offsetof(SlotGroup, tags)),
            word<std::uint64_t>(offsetof(SlotGroup, tags) + 8)};
  }
  /// How many elements of this home are in the alternate.
  unsigned away(unsigned alternate) const { return static_cast<unsigned>(away() >> (4 * alternate)) % 16; }
  std::uint64_t away() const { return word<std::uint64_t>(offsetof(SlotGroup, away)); }
  std::uint16_t returns() const { return word<std::uint16_t>(offsetof(SlotGroup, returns)); }
  std::uint16_t guests() const { return word<std::uint16_t>(offsetof(SlotGroup, guests)); }
  std::uint16_t lengths(unsigned slot) const { return word<std::uint16_t>(lengths_at(slot)); }

 private:
  struct None {};
  struct Line {
    std::byte bytes[64];
  };

  template <class T>
  [[gnu::always_inline]] T word(std::size_t member) const {
    if constexpr (Memory::kWordsAreQuick) {
      return memory_.template load<T>(at_ + member);
    } else {
      T word;
      std::memcpy(&word, copy_.bytes + member, sizeof word);
      return word;
    }
  }

  const Memory& memory_;
  std::uint64_t at_;
  std::uint32_t version_;
  [[no_unique_address]] std::conditional_t<Memory::kWordsAreQuick, None, Line> copy_;
};

/// Where Shard::next() puts an element.
struct Element {
  void* key;
  std::uint64_t key_room, key_bytes;
  void* value;  // null: not wanted
  std::uint64_t value_room, value_bytes;
};

/// How the elements of a shard lie.
struct ShardSurvey {
  std::uint64_t at_home = 0, away = 0;  // elements
  // Of the pairs of a home and an alternate: how many elements of that home, if any, lie there or not.
  std::uint64_t without_away = 0, with_away = 0;
  std::uint64_t groups[kSlots + 1] = {};  // by how many slots of them are taken
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
    if constexpr (Memory::kWordsAreQuick) memory_.prefetch(layout_.group_at(home_of(key)));
  }
  void prefetch_slot(const Key& key) const {
    if constexpr (!Memory::kWordsAreQuick) return;
    const std::uint64_t group = home_of(key);
    const Bytes16 tags = Head<Memory>(memory_, layout_.group_at(group)).tags();
    if (const unsigned slots = tags.matches(tag_of(key.hash)); slots != 0)
      memory_.prefetch(layout_.slot_at(group, static_cast<unsigned>(__builtin_ctz(slots))));
  }

  /// Where the key's value is.  kBusy as above.
  Code locate(const Key& key, Location& location, std::uint64_t& n, unsigned patience) const;

  /// Whether the head of a reserved block says these lengths.
  bool is_filled(std::uint64_t block, std::uint64_t key_bytes, std::uint64_t value_bytes) const {
    Block head;
    memory_.read(block, &head, sizeof head);
    return head.key_bytes == key_bytes && head.value_bytes == value_bytes;
  }

  /// The next element at or after `cursor`, which becomes the one after it.  NOT_FOUND: there is none;
  /// TOO_LARGE: `cursor` stays.  Elements come by home (shard_iteration).
  Code next(std::uint64_t& cursor, Element& element) const;
  /// The same, but of the home that the cursor is at, in one segment: a step whose length does not depend on
  /// how many segments there are.  NOT_FOUND: there are no more, and the cursor is at the home in the next
  /// segment that has become of the one in which it was begun, or at the next home.  REQUIRES:
  /// !is_at_end(cursor).
  Code next_here(std::uint64_t& cursor, Element& element) const;
  bool is_at_end(std::uint64_t cursor) const;

  /// Of a shard that does not grow.
  static std::uint64_t cursor_at(std::uint64_t home) { return home * kNumbers; }
  static std::uint64_t home_of_cursor(std::uint64_t cursor) { return cursor / kNumbers; }
  /// The same; only elements of the cursor's home.
  Code next_of_home(std::uint64_t& cursor, Element& element) const;

  /// The group that a key's hash says now.
  [[gnu::always_inline]] std::uint64_t home_of(const Key& key) const {
    const auto mask = memory_.template load<std::uint64_t>(layout_.directory_at);
    const auto first = memory_.template load<std::uint64_t>(layout_.entry_at(key.hash & mask));
    return first - layout_.directory_groups + layout_.group_in_segment(key.hash);
  }
  /// Where its directory is mapped.  (Clang 14 would instantiate what is no template with all of the class.)
  template <class M = Memory>
  std::byte* directory() const requires(M::kWordsAreQuick) {
    return memory_.at(layout_.directory_at);
  }
  std::uint64_t segments() const {
    return memory_.template load<std::uint64_t>(offsetof(ShardHeader, segments));
  }
  std::uint64_t slots() const { return segments() * layout_.segment_groups * kSlots; }

  /// Makes one more segment, of elements of another one.  FULL: there is no memory, or it does not grow;
  /// kBusy: somebody else makes one, or a lock is not free soon.
  Code grow(unsigned patience) const;

  std::uint64_t elements() const {
    return memory_.template load<std::uint64_t>(offsetof(ShardHeader, elements));
  }
  /// In how many groups beside its home an element was ever looked for: none or one.
  std::uint64_t longest_probe() const {
    return memory_.template load<std::uint64_t>(offsetof(ShardHeader, displaced));
  }
  /// How often there was no memory for what was to be stored.
  std::uint64_t times_full() const {
    return memory_.template load<std::uint64_t>(offsetof(ShardHeader, full));
  }
  /// Looks at all groups; while others change them, roughly.
  ShardSurvey survey() const;
  std::uint64_t block_bytes_used() const {
    return memory_.template load<std::uint64_t>(offsetof(ShardHeader, used));
  }

 private:
  static constexpr std::uint64_t kMagic = 0x33766b6c6c6f7461;  // "atollkv3"

  static constexpr std::uint64_t kNumbers = 256;  // of elements of one home
  static_assert(kSlots * (1 + kAlternates) < kNumbers);

  // Where an element is, or would be.
  struct Position {
    std::uint64_t group;
    unsigned slot;
    bool is_home;
  };
  // Where its bytes are, by the state of a group.
  struct Bytes {
    std::uint64_t key_at, key_bytes, value_at, value_bytes;
  };

  // At a group that was being changed.  `memory` by value, so that a shard need not be in memory for that.
  [[gnu::cold, gnu::noinline]] static void look_again(Memory memory, ShardEvents* events, unsigned looks) {
    if (events != nullptr) events->looks.add(1);
    memory.look_again(looks);
  }
  [[gnu::always_inline]] void look_again(unsigned looks) const { look_again(memory_, layout_.events, looks); }
  [[gnu::cold, gnu::noinline]] bool wait_for_home(std::uint64_t lock, unsigned patience) const;
  [[gnu::cold, gnu::noinline]] Code refuse_full() const {
    memory_.add(offsetof(ShardHeader, full), std::uint64_t{1});
    shm::count(Stat::kv_full);
    return SHMEMX_KV_FULL;
  }

  Head<Memory> head(std::uint64_t group) const { return Head<Memory>(memory_, layout_.group_at(group)); }
  Bytes16 numbers(std::uint64_t group) const {
    const std::uint64_t at = layout_.group_at(group) + offsetof(SlotGroup, numbers);
    return {memory_.template load<std::uint64_t>(at), memory_.template load<std::uint64_t>(at + 8)};
  }
  bool unchanged(std::uint64_t group, std::uint32_t version) const {
    return memory_.template load<std::uint32_t>(layout_.group_at(group)) == version;
  }
  bool bytes_of(const Head<Memory>& head, std::uint64_t group, unsigned slot, Bytes& bytes) const;
  bool holds(const Head<Memory>& head, std::uint64_t group, unsigned slot, const Key& key,
             Bytes& bytes) const;
  std::optional<Position> find(const Key& key) const;
  int slot_of(const Head<Memory>& head, std::uint64_t group, const Key& key, Bytes& bytes) const;
  bool collides(const Key& key) const;
  template <class Visit>
  bool look_whole(std::uint64_t group, unsigned patience, Visit visit) const;
  template <class Visit>
  Code search(const Key& key, unsigned patience, Visit visit) const;
  template <class Visit>
  Code search_from(std::uint64_t home, const Key& key, unsigned patience, Visit visit) const;
  template <class Visit>
  Code search_alternate(std::uint64_t home, const Key& key, std::uint16_t returns, unsigned patience,
                        Visit visit) const;
  Code copy_value(const Bytes& bytes, void* value, std::uint64_t room, std::uint64_t& n) const;

  // Growing: kv/shard_growth.hpp.
  struct Moving;
  bool has_memory_for(std::uint64_t segments) const;
  void enter_segment(std::uint64_t bits, std::uint64_t segment) const;
  Code make_segment(std::uint64_t to, unsigned patience) const;
  void split(std::uint64_t from, std::uint64_t to) const;
  void copy_group(std::uint64_t from, std::uint64_t to, Moving& moving) const;
  void leave_group(std::uint64_t group, Moving& moving) const;
  std::uint64_t hash_at(const std::byte* group, unsigned slot) const;
  bool lock_homes(std::uint64_t segment, unsigned patience) const;
  void unlock_homes(std::uint64_t segment, std::uint64_t n) const;

  // Iteration: kv/shard_iteration.hpp.
  struct Place;
  struct Cover;
  struct Least;
  Code next_of_place(Place& place, Element& element) const;
  Code look_for_least(const Cover& cover, Least& least, Element& element) const;
  bool find_least(const Cover& cover, Least& least) const;
  std::optional<std::uint64_t> position_at(const Head<Memory>& head, std::uint64_t group, unsigned slot,
                                           std::uint64_t segment, std::uint64_t segments,
                                           std::byte* key) const;
  Code read(const Head<Memory>& head, std::uint64_t group, unsigned slot, Element& element) const;
  void expect(const KvRequest& request) const;
  Code change(const KvRequest& request, ValueRoom& result) const;
  Code change_and_tell(const KvRequest& request, ValueRoom& result) const;
  Code scan(const KvRequest& request, ValueRoom& result) const;
  Code apply(const KvRequest& request, const std::optional<Position>& position, ValueRoom& result) const;
  Code remove_if(const KvRequest& request, const std::optional<Position>& position) const;
  Code make_more_room(unsigned patience) const;
  Code change_alone(const KvRequest& request, ValueRoom& result, unsigned patience) const;
  Code store_long(const KvRequest& request, unsigned patience) const;
  Code reserve(const KvRequest& request, ValueRoom& result, unsigned patience) const;
  std::uint64_t block_for(const KvRequest& request, const void* value, std::uint64_t n) const;
  Code add(const KvRequest& request, const void* value, std::uint64_t n) const;
  Code add_counted(const Key& key, std::uint64_t block, const void* value, std::uint64_t n) const;
  bool count_in() const;
  void count_out() const { memory_.add(offsetof(ShardHeader, elements), ~std::uint64_t{0}); }
  bool place(const Position& position, const Key& key, std::uint64_t block, const void* value,
             std::uint64_t n) const;
  Code replace(const KvRequest& request, const Position& position) const;
  Code replace_in_place(const KvRequest& request, const Position& position) const;
  Code modify(const KvRequest& request, const Position& position, ValueRoom& result) const;
  void erase(const Key& key, const Position& position) const;

  std::uint64_t make_block(const Key& key, const void* value, std::uint64_t n) const;
  std::uint64_t take_block(std::uint64_t n) const;
  void free_block(std::uint64_t block) const;
  bool try_lock_group(std::uint64_t group, std::uint32_t& version) const;
  std::uint32_t lock_group(std::uint64_t group) const;
  void unlock_group(std::uint64_t group, std::uint32_t version) const {
    memory_.store(layout_.group_at(group), version + 2);
  }

  // Making room: kv/shard_room.hpp.
  struct Making;
  struct Mover;
  template <class F>
  void for_each_of_home(const Head<Memory>& head, std::uint64_t home, std::uint64_t group, F f) const;
  template <class F>
  void for_each_alternate(std::uint64_t home, std::uint64_t away, F f) const;
  std::optional<Position> free_position(const Key& key) const;
  Code make_room(const Key& key) const;
  bool free_a_slot(std::uint64_t group, int depth, Making& making) const;
  bool move(const Mover& mover, std::uint64_t to, Making& making) const;
  bool move_alone(const Mover& mover, std::uint64_t to) const;
  void bring_home(std::uint64_t home) const;
  void count_away(std::uint64_t home, unsigned alternate, bool more) const;
  unsigned new_number(std::uint64_t home, const Position& position) const;
  void fill_slot(const Position& position, std::uint8_t tag, unsigned number) const;
  void empty_slot(std::uint64_t group, unsigned slot) const;

  Memory memory_;
  const ShardLayout& layout_;
};

extern template class Shard<Mapped>;
extern template class Shard<Paged>;

// ---- the fast path --------------------------------------------------------------------------------------

// False: what was read makes no sense, as it is being changed.
template <class Memory>
[[gnu::always_inline]] inline bool Shard<Memory>::bytes_of(const Head<Memory>& head, std::uint64_t group,
                                                           unsigned slot, Bytes& bytes) const {
  const std::uint64_t at = layout_.slot_at(group, slot);
  if (layout_.inlined) [[likely]] {
    const std::uint16_t lengths = head.lengths(slot);
    bytes = {at, lengths % 256U, layout_.value_at(at), lengths / 256U};
    return bytes.key_bytes <= layout_.key_bytes && bytes.value_bytes <= layout_.value_bytes;
  }
  const auto block = memory_.template load<std::uint64_t>(at + 8);
  if (block < layout_.blocks_at || block >= layout_.bytes || block % 8 != 0) return false;
  Block front;
  memory_.read(block, &front, sizeof front);
  const std::uint64_t value_at = block + sizeof(Block) + padded(front.key_bytes);
  bytes = {block + sizeof(Block), front.key_bytes, value_at, front.value_bytes};
  return bytes.key_bytes <= layout_.key_bytes && bytes.value_bytes <= layout_.value_bytes &&
         value_at + padded(bytes.value_bytes) <= layout_.bytes;
}

// Whether the slot has the key, as far as can be told before the version is looked at again.
template <class Memory>
[[gnu::always_inline]] inline bool Shard<Memory>::holds(const Head<Memory>& head, std::uint64_t group,
                                                        unsigned slot, const Key& key, Bytes& bytes) const {
  if (!layout_.inlined && memory_.template load<std::uint64_t>(layout_.slot_at(group, slot)) != key.hash)
    return false;
  return bytes_of(head, group, slot, bytes) && bytes.key_bytes == key.n &&
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
[[gnu::always_inline]] inline int Shard<Memory>::slot_of(const Head<Memory>& head, std::uint64_t group,
                                                         const Key& key, Bytes& bytes) const {
  for (unsigned slots = head.tags().matches(tag_of(key.hash)); slots != 0; slots &= slots - 1) {
    const int slot = __builtin_ctz(slots);
    if (holds(head, group, static_cast<unsigned>(slot), key, bytes)) return slot;
  }
  return -1;
}

// Has visit(head, looks) look at the group until nothing has changed meanwhile, in the end with the lock; it
// adds to `looks` what it cost.  False: not within `patience`.
template <class Memory>
template <class Visit>
[[gnu::always_inline]] inline bool Shard<Memory>::look_whole(std::uint64_t group, unsigned patience,
                                                             Visit visit) const {
  for (unsigned looks = 0; looks <= patience; look_again(++looks)) {
    const bool locked = looks > kFairLooks;
    std::uint32_t version = 0;
    if (locked && !try_lock_group(group, version)) continue;
    Head<Memory> head(memory_, layout_.group_at(group));
    if (locked) head.set_version(version);
    if (head.version() % 2 != 0) continue;
    visit(head, looks);
    if (locked)
      memory_.store(layout_.group_at(group), version);  // nothing has changed
    else if (!unchanged(group, head.version()))
      continue;
    return true;
  }
  return false;
}

// Looks where the key may be: at its home, and at its alternate if its home says that elements are there.
// visit(head, group, looks) returns whether it has found what it looks for; otherwise as in look_whole().
// Returns OK if it has, else NOT_FOUND, or kBusy.  What is not found is looked for again if it has another
// home meanwhile, which it never has twice.
template <class Memory>
template <class Visit>
[[gnu::always_inline]] inline Code Shard<Memory>::search(const Key& key, unsigned patience,
                                                         Visit visit) const {
  for (std::uint64_t home = home_of(key);;) {
    const Code status = search_from(home, key, patience, visit);
    if (status != SHMEMX_KV_NOT_FOUND) return status;
    const std::uint64_t now = home_of(key);
    if (now == home) [[likely]]
      return status;
    home = now;
  }
}

template <class Memory>
template <class Visit>
[[gnu::always_inline]] inline Code Shard<Memory>::search_from(std::uint64_t home, const Key& key,
                                                              unsigned patience, Visit visit) const {
  bool found = false, is_away = false;
  std::uint16_t returns = 0;
  const auto visit_home = [&](const Head<Memory>& head, unsigned& looks) __attribute__((always_inline)) {
    found = visit(head, home, looks);
    is_away = !found && head.away(alternate_of(tag_of(key.hash))) != 0;
    if (is_away) returns = head.returns();
  };
  if (!look_whole(home, patience, visit_home)) return kBusy;
  if (found) return SHMEMX_KV_OK;
  return is_away ? search_alternate(home, key, returns, patience, visit) : SHMEMX_KV_NOT_FOUND;
}

// After the home, from which `returns` is.  What came home between the two looks is in neither: so the home
// is looked at again until none has come meanwhile, which none can without having been put away.
template <class Memory>
template <class Visit>
[[gnu::noinline]] Code Shard<Memory>::search_alternate(std::uint64_t home, const Key& key,
                                                       std::uint16_t returns, unsigned patience,
                                                       Visit visit) const {
  const std::uint64_t there = layout_.alternate(home, alternate_of(tag_of(key.hash)));
  bool found = false;
  const auto visit_there = [&](const Head<Memory>& head, unsigned& looks) {
    found = visit(head, there, looks);
  };
  const auto visit_home = [&](const Head<Memory>& head, unsigned& looks) {
    found = visit(head, home, looks);
    returns = head.returns();
  };
  for (;;) {
    if (!look_whole(there, patience, visit_there)) return kBusy;
    if (found) return SHMEMX_KV_OK;
    if (head(home).returns() == returns) return SHMEMX_KV_NOT_FOUND;
    if (!look_whole(home, patience, visit_home)) return kBusy;
    if (found) return SHMEMX_KV_OK;
  }
}

template <class Memory>
[[gnu::always_inline]] inline Code Shard<Memory>::get(const Key& key, void* value, std::uint64_t room,
                                                      std::uint64_t& n, unsigned patience) const {
  Code copied = SHMEMX_KV_OK;
  const Code status = search(
      key, patience,
      [&](const Head<Memory>& head, std::uint64_t group, unsigned& looks) __attribute__((always_inline)) {
        Bytes bytes;
        if (slot_of(head, group, key, bytes) < 0) return false;
        copied = copy_value(bytes, value, room, n);
        if (copied == SHMEMX_KV_OK) looks = after_copy(looks, n);
        return true;
      });
  return status == SHMEMX_KV_OK ? copied : status;
}

}  // namespace shm::kv
