// SPDX-License-Identifier: BSD-3-Clause
// Where the elements of a shard are: at their homes as far as there is room, else each in one of its home's
// alternates.  Elements move from one to the other to make room for others.
//
// Who moves an element holds the lock of its home, so nobody changes it meanwhile, and has it in both places
// before it leaves the first.  That lock is tried, not waited for: who makes room holds another home's.
#pragma once

#include "kv/shard.hpp"

namespace shm::kv {
namespace detail {

// A lock of 0 and 1.
template <class Word, class Memory>
bool take(const Memory& memory, std::uint64_t at, unsigned patience) {
  for (unsigned looks = 0;;) {
    if (memory.template load<Word>(at) == 0 && memory.compare_swap(at, Word{0}, Word{1})) return true;
    if (++looks > patience) return false;
    memory.look_again(looks);
  }
}

}  // namespace detail

// Of one search for room.
template <class Memory>
struct Shard<Memory>::Making {
  std::uint64_t home;   // whose lock the caller holds
  unsigned looks_left;  // at groups: what a refused element costs at most
  bool contended;       // the lock of another home was taken
};

// An element that is to move, as it was seen.
template <class Memory>
struct Shard<Memory>::Mover {
  std::uint64_t group;
  unsigned slot;
  std::uint8_t tag;
  bool is_guest;
  std::uint64_t home;
};

template <class Memory>
void Shard<Memory>::count_away(std::uint64_t home, unsigned alternate, bool more) const {
  const std::uint64_t at = layout_.group_at(home) + offsetof(SlotGroup, away);
  const std::uint64_t one = std::uint64_t{1} << (4 * alternate);
  const auto away = memory_.template load<std::uint64_t>(at);
  memory_.store(at, more ? away + one : away - one);
  if (more && longest_probe() == 0) memory_.store(offsetof(ShardHeader, displaced), std::uint64_t{1});
}

// With the lock of the group.
template <class Memory>
void Shard<Memory>::fill_slot(const Position& position, std::uint8_t tag, unsigned number) const {
  const std::uint64_t group_at = layout_.group_at(position.group);
  if (!position.is_home) {
    const std::uint64_t guests_at = group_at + offsetof(SlotGroup, guests);
    const auto guests = memory_.template load<std::uint16_t>(guests_at);
    memory_.store(guests_at, static_cast<std::uint16_t>(guests | 1U << position.slot));
  }
  memory_.store(group_at + offsetof(SlotGroup, numbers) + position.slot, static_cast<std::uint8_t>(number));
  memory_.store(group_at + offsetof(SlotGroup, tags) + position.slot, tag);
}

// Likewise.
template <class Memory>
void Shard<Memory>::empty_slot(std::uint64_t group, unsigned slot) const {
  const std::uint64_t group_at = layout_.group_at(group);
  memory_.store(group_at + offsetof(SlotGroup, tags) + slot, std::uint8_t{0});
  const std::uint64_t guests_at = group_at + offsetof(SlotGroup, guests);
  const auto guests = memory_.template load<std::uint16_t>(guests_at);
  if ((guests >> slot) % 2 != 0) memory_.store(guests_at, static_cast<std::uint16_t>(guests & ~(1U << slot)));
}

// f(slot) for the elements of `home` in the group, which is the home or an alternate of it.
template <class Memory>
template <class F>
void Shard<Memory>::for_each_of_home(const Head<Memory>& head, std::uint64_t home, std::uint64_t group,
                                     F f) const {
  const Bytes16 tags = head.tags();
  const std::uint16_t guests = head.guests();
  const unsigned slots = tags.taken() & (group == home ? ~guests : guests);
  for (unsigned left = slots; left != 0; left &= left - 1) {
    const auto slot = static_cast<unsigned>(__builtin_ctz(left));
    if (group == home || layout_.home_of_guest(group, alternate_of(tags[slot])) == home) f(slot);
  }
}

// f(group) for the alternates that have elements of the home.
template <class Memory>
template <class F>
void Shard<Memory>::for_each_alternate(std::uint64_t home, std::uint64_t away, F f) const {
  while (away != 0) {
    const auto alternate = static_cast<unsigned>(__builtin_ctzll(away)) / 4;
    away &= ~(std::uint64_t{15} << (4 * alternate));
    f(layout_.alternate(home, alternate));
  }
}

// With the lock of the home: its elements neither come nor go.  Who else is in the groups may be taken for
// one of them while it comes, which costs a number.
template <class Memory>
unsigned Shard<Memory>::new_number(std::uint64_t home, const Position& position) const {
  const Head<Memory> state = head(home);
  // Mostly its slot will do.
  const unsigned here = state.tags().taken() & ~unsigned{state.guests()};
  if (state.away() == 0 && (numbers(home).matches(static_cast<std::uint8_t>(position.slot)) & here) == 0)
    return position.slot;
  std::uint64_t used[kNumbers / 64] = {};
  const auto note = [&](std::uint64_t group) {
    const Bytes16 all = numbers(group);
    for_each_of_home(head(group), home, group,
                     [&](unsigned slot) { used[all[slot] / 64] |= std::uint64_t{1} << (all[slot] % 64); });
  };
  note(home);
  for_each_alternate(home, state.away(), note);
  for (unsigned word = 0;; ++word) {
    if (~used[word] != 0) return word * 64 + static_cast<unsigned>(__builtin_ctzll(~used[word]));
  }
}

// Without making room.  It may be taken before the caller comes to it.
template <class Memory>
std::optional<typename Shard<Memory>::Position> Shard<Memory>::free_position(const Key& key) const {
  const std::uint64_t home = home_of(key);
  if (const unsigned free = head(home).tags().free(); free != 0)
    return Position{home, static_cast<unsigned>(__builtin_ctz(free)), true};
  const std::uint64_t there = layout_.alternate(home, alternate_of(tag_of(key.hash)));
  if (there == home) return std::nullopt;
  if (const unsigned free = head(there).tags().free(); free != 0)
    return Position{there, static_cast<unsigned>(__builtin_ctz(free)), false};
  return std::nullopt;
}

// Has an element leave one of the key's two groups, and others before it where that is needed.  OK; kNoSlot;
// kBusy.
template <class Memory>
Code Shard<Memory>::make_room(const Key& key) const {
  constexpr unsigned kMostLooks = 4096;  // far more than are needed, but where many keys have one hash
  constexpr int kMostMoves = 3;
  const std::uint64_t home = home_of(key);
  const std::uint64_t there = layout_.alternate(home, alternate_of(tag_of(key.hash)));
  if (there == home) return kNoSlot;
  Making making{home, kMostLooks, false};
  for (int moves = 1; moves <= kMostMoves; ++moves) {
    if (free_a_slot(home, moves, making) || free_a_slot(there, moves, making)) return SHMEMX_KV_OK;
  }
  return making.contended ? kBusy : kNoSlot;
}

// By so many moves, of which the last one goes to a group that has room.
template <class Memory>
bool Shard<Memory>::free_a_slot(std::uint64_t group, int moves, Making& making) const {
  const Head<Memory> state = head(group);
  const Bytes16 tags = state.tags();
  const std::uint16_t guests = state.guests();
  unsigned tried = 0;  // alternates
  for (unsigned slots = tags.taken(); slots != 0 && making.looks_left != 0; slots &= slots - 1) {
    const auto slot = static_cast<unsigned>(__builtin_ctz(slots));
    const unsigned alternate = alternate_of(tags[slot]);
    const bool is_guest = (guests >> slot) % 2 != 0;
    if (!is_guest && (tried >> alternate) % 2 != 0) continue;
    if (!is_guest) tried |= 1U << alternate;
    const std::uint64_t home = is_guest ? layout_.home_of_guest(group, alternate) : group;
    const std::uint64_t other = is_guest ? home : layout_.alternate(home, alternate);
    --making.looks_left;
    const bool has_room = moves == 1 ? head(other).tags().free() != 0 : free_a_slot(other, moves - 1, making);
    if (has_room && move({group, slot, tags[slot], is_guest, home}, other, making)) return true;
  }
  return false;
}

template <class Memory>
bool Shard<Memory>::move(const Mover& mover, std::uint64_t to, Making& making) const {
  if (mover.home == making.home) return move_alone(mover, to);
  const std::uint64_t lock = layout_.group_at(mover.home) + offsetof(SlotGroup, home);
  if (!detail::take<std::uint32_t>(memory_, lock, 0)) {
    making.contended = true;
    return false;
  }
  const bool moved = move_alone(mover, to);
  memory_.store(lock, std::uint32_t{0});
  return moved;
}

// With the lock of its home.  False: another one is there, or there is no room.
template <class Memory>
bool Shard<Memory>::move_alone(const Mover& mover, std::uint64_t to) const {
  bool is_there = false;
  look_whole(mover.group, kUnlimited, [&](const Head<Memory>& head, unsigned&) {
    is_there =
        head.tags()[mover.slot] == mover.tag && ((head.guests() >> mover.slot) % 2 != 0) == mover.is_guest;
  });
  if (!is_there) return false;
  const std::uint64_t from_at = layout_.group_at(mover.group), to_at = layout_.group_at(to);
  if (!mover.is_guest) count_away(mover.home, alternate_of(mover.tag), true);
  std::uint32_t version = lock_group(to);
  const unsigned free = head(to).tags().free();
  if (free != 0) {
    const Position position{to, static_cast<unsigned>(__builtin_ctz(free)), mover.is_guest};
    alignas(8) std::byte bytes[kLargestSlot];
    memory_.read(layout_.slot_at(mover.group, mover.slot), bytes, layout_.slot_bytes);
    memory_.write(layout_.slot_at(to, position.slot), bytes, layout_.slot_bytes);
    memory_.store(to_at + lengths_at(position.slot),
                  memory_.template load<std::uint16_t>(from_at + lengths_at(mover.slot)));
    fill_slot(position, mover.tag,
              memory_.template load<std::uint8_t>(from_at + offsetof(SlotGroup, numbers) + mover.slot));
  }
  unlock_group(to, version);
  if (free != 0) {
    if (mover.is_guest) {
      // Before it leaves: who has looked at its home before and finds it gone looks there again.
      const std::uint64_t returns = to_at + offsetof(SlotGroup, returns);
      memory_.store(returns, static_cast<std::uint16_t>(memory_.template load<std::uint16_t>(returns) + 1));
    }
    version = lock_group(mover.group);
    empty_slot(mover.group, mover.slot);
    unlock_group(mover.group, version);
  }
  if (mover.is_guest == (free != 0)) count_away(mover.home, alternate_of(mover.tag), false);
  return free != 0;
}

// One of its elements that are away, if there are any; with the lock of the home, where a slot is free.
template <class Memory>
void Shard<Memory>::bring_home(std::uint64_t home) const {
  bool done = false;
  for_each_alternate(home, head(home).away(), [&](std::uint64_t group) {
    if (done) return;
    const Head<Memory> state = head(group);
    std::optional<Mover> mover;
    for_each_of_home(state, home, group, [&](unsigned slot) {
      mover = Mover{group, slot, state.tags()[slot], true, home};
    });
    done = mover && move_alone(*mover, home);
  });
}

}  // namespace shm::kv
