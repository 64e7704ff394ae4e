// SPDX-License-Identifier: BSD-3-Clause
// All elements of a shard, one after the other, while others come, go and move, and segments are split.
//
// They come by segment and home.  A segment is where bits of the hash, the lowest first, are on a line of
// kSegmentBits: so when it is split, what becomes of it lies on the same part of that line.  A cursor keeps
// which part that was when the segment was begun.  Of a home the elements come by number, while its part is
// one segment; once that has been split, they come by their places on the line, and those of one place by
// number, so that each step looks at one segment.  Number and place of an element are the same all the time,
// and no two elements that were there when the segment was begun have both in common.  So those of a home
// that have come are known: of numbers below `floor`, and of places and numbers below the cursor's.
#pragma once

#include "kv/shard_room.hpp"

namespace shm::kv {
namespace detail {

/// Bits of the hash, the lowest first; and back.
constexpr std::uint64_t on_line(std::uint64_t hash) {
  auto bits = static_cast<std::uint32_t>(hash);
  bits = (bits >> 1 & 0x55555555U) | (bits & 0x55555555U) << 1;
  bits = (bits >> 2 & 0x33333333U) | (bits & 0x33333333U) << 2;
  bits = (bits >> 4 & 0x0f0f0f0fU) | (bits & 0x0f0f0f0fU) << 4;
  return __builtin_bswap32(bits) >> (32 - kSegmentBits);
}

}  // namespace detail

// A cursor.  One of 0 is the first.
template <class Memory>
struct Shard<Memory>::Place {
  static constexpr std::uint64_t kLine = std::uint64_t{1} << kSegmentBits;

  explicit Place(std::uint64_t cursor)
      : at(cursor % kLine),
        number(static_cast<unsigned>(cursor >> kNumberAt) % kNumbers),
        home((cursor >> kHomeAt) % kMostGroupsOfSegment),
        begun(std::min<unsigned>((cursor >> kBegunAt) % 32, kSegmentBits + 1)),
        floor(static_cast<unsigned>(cursor >> kFloorAt) % kNumbers),
        ended(cursor >> 63 != 0) {}
  std::uint64_t cursor() const {
    return std::uint64_t{ended} << 63 | std::uint64_t{floor} << kFloorAt | std::uint64_t{begun} << kBegunAt |
           home << kHomeAt | std::uint64_t{number} << kNumberAt | at;
  }

  std::uint64_t part() const { return kLine >> (begun - 1); }  // how long
  std::uint64_t start() const { return at & ~(part() - 1); }
  // Some part, if it has none: no cursor that was given is like that.
  void begin(unsigned level) {
    if (begun == 0) begun = 1 + level;
  }
  // By number.
  void go_behind_number(unsigned last, std::uint64_t homes) {
    if (last + 1 == kNumbers) return go_to_next_home(homes);
    floor = last + 1;
  }
  // By place.
  void go_behind(std::uint64_t last_at, unsigned last, std::uint64_t homes) {
    at = last_at;
    number = last + 1;
    if (number == kNumbers) go_to_place(last_at + 1, homes);
  }
  // The first in what is left of the part from there on; the next home, if nothing is.
  void go_to_place(std::uint64_t next, std::uint64_t homes) {
    const std::uint64_t end = start() + part();
    if (next >= end) return go_to_next_home(homes);
    at = next;
    number = 0;
  }
  // The next of so many in the segment, or the first in the next part.
  void go_to_next_home(std::uint64_t homes) {
    begin(kSegmentBits);
    at = start();
    number = floor = 0;
    if (++home < homes) return;
    const std::uint64_t next = at + part();
    at = next % kLine;
    ended = next == kLine;
    home = begun = 0;
  }

  static constexpr unsigned kNumberAt = kSegmentBits, kHomeAt = kNumberAt + 8, kBegunAt = kHomeAt + 8,
                            kFloorAt = kBegunAt + 5;

  std::uint64_t at;    // on the line: elements before that have come
  unsigned number;     // those there with lower ones, too
  std::uint64_t home;  // in its segment
  unsigned begun;      // one more than the level of the segment when it was begun; 0: it is not
  unsigned floor;      // elements with lower numbers have come, wherever they are
  bool ended;
};

// Where the elements of a cursor's home are.
template <class Memory>
struct Shard<Memory>::Cover {
  std::uint64_t home;  // in the segment
  std::uint64_t segment, segments;
  bool may_be_elsewhere;  // elements may lie in it that belong to another one: that is being split, or was
  bool by_place;          // and by number where places are the same; else by number alone
};

// The least element that does not come before these.
template <class Memory>
struct Shard<Memory>::Least {
  unsigned floor;
  std::uint64_t from_at;  // by_place
  unsigned from_number;   // likewise
  bool found;
  unsigned number;
  std::uint64_t at;  // if its place was looked at
  std::uint64_t home, group;

  bool is_after(unsigned its_number, std::uint64_t its_at) const {
    return its_at != from_at ? its_at > from_at : its_number >= from_number;
  }
  bool is_before(unsigned its_number, std::uint64_t its_at) const {
    return its_at != at ? its_at < at : its_number < number;
  }
};

// kBusy: what was read makes no sense, as it is being changed.
template <class Memory>
Code Shard<Memory>::read(const Head<Memory>& head, std::uint64_t group, unsigned slot,
                         Element& element) const {
  Bytes bytes;
  if (!bytes_of(head, group, slot, bytes)) return kBusy;
  element.key_bytes = bytes.key_bytes;
  element.value_bytes = bytes.value_bytes;
  const bool key_fits = bytes.key_bytes <= element.key_room;
  const bool value_fits = element.value == nullptr || bytes.value_bytes <= element.value_room;
  if (key_fits) memory_.read(bytes.key_at, element.key, bytes.key_bytes);
  if (value_fits && element.value != nullptr) memory_.read(bytes.value_at, element.value, bytes.value_bytes);
  return key_fits && value_fits ? SHMEMX_KV_OK : SHMEMX_KV_TOO_LARGE;
}

// Where on the line the element of a slot is; nothing: its segment is another one.
template <class Memory>
std::optional<std::uint64_t> Shard<Memory>::position_at(const Head<Memory>& head, std::uint64_t group,
                                                        unsigned slot, std::uint64_t segment,
                                                        std::uint64_t segments, std::byte* key) const {
  const std::uint64_t at = layout_.slot_at(group, slot);
  std::uint64_t hash;
  if (layout_.inlined) {
    const std::uint64_t key_bytes = head.lengths(slot) % 256U;
    if (key_bytes > layout_.key_bytes) return std::nullopt;  // it is being changed
    memory_.read(at, key, key_bytes);
    hash = kv::hash_of(layout_.hash, key, key_bytes);
  } else {
    hash = memory_.template load<std::uint64_t>(at);
  }
  if (ShardLayout::segment_of(hash, segments) != segment) return std::nullopt;
  return detail::on_line(hash);
}

// It is looked for in all groups of the home; one that comes home meanwhile is looked for once more.  False:
// look again, as the home has changed.
template <class Memory>
bool Shard<Memory>::find_least(const Cover& cover, Least& least) const {
  const std::uint64_t home = cover.segment * layout_.segment_groups + cover.home;
  const auto look_at = [&](std::uint64_t group, auto also) {
    const Least before = least;
    look_whole(group, kUnlimited, [&](const Head<Memory>& head, unsigned&) {
      alignas(8) std::byte key[256];
      least = before;
      also(head);
      const Bytes16 all = numbers(group);
      for_each_of_home(head, home, group, [&](unsigned slot) {
        const unsigned number = all[slot];
        if (number < least.floor || (!cover.by_place && least.found && number >= least.number)) return;
        std::uint64_t at = 0;
        if (cover.may_be_elsewhere) {
          const auto place = position_at(head, group, slot, cover.segment, cover.segments, key);
          if (!place) return;
          at = *place;
        }
        if (cover.by_place && (!least.is_after(number, at) || (least.found && !least.is_before(number, at))))
          return;
        least.found = true;
        least.number = number;
        least.at = at;
        least.home = home;
        least.group = group;
      });
    });
  };
  std::uint64_t away;
  std::uint16_t returns;
  look_at(home, [&](const Head<Memory>& head) {
    away = head.away();
    returns = head.returns();
  });
  for_each_alternate(home, away, [&](std::uint64_t group) { look_at(group, [](const Head<Memory>&) {}); });
  return away == 0 || head(home).returns() == returns;
}

// And reads it.  kBusy: look again.
template <class Memory>
Code Shard<Memory>::look_for_least(const Cover& cover, Least& least, Element& element) const {
  if (!find_least(cover, least)) return kBusy;
  if (!least.found) return SHMEMX_KV_NOT_FOUND;
  Code status = kBusy;
  look_whole(least.group, kUnlimited, [&](const Head<Memory>& head, unsigned& looks) {
    status = kBusy;
    const Bytes16 all = numbers(least.group);
    int found = -1;
    for_each_of_home(head, least.home, least.group, [&](unsigned slot) {
      if (all[slot] == least.number) found = static_cast<int>(slot);
    });
    if (found < 0) return;
    alignas(8) std::byte key[256];
    const auto slot = static_cast<unsigned>(found);
    if (cover.may_be_elsewhere) {
      const auto place = position_at(head, least.group, slot, cover.segment, cover.segments, key);
      if (!place || *place != least.at) return;
    }
    status = read(head, least.group, slot, element);
    if (status == SHMEMX_KV_OK && element.value != nullptr) looks = after_copy(looks, element.value_bytes);
  });
  return status;
}

// Of a shard with one segment.
template <class Memory>
Code Shard<Memory>::next_of_home(std::uint64_t& cursor, Element& element) const {
  const Cover cover{home_of_cursor(cursor), 0, 1, false, false};
  for (;;) {
    Least least{.floor = static_cast<unsigned>(cursor % kNumbers)};
    const Code status = look_for_least(cover, least, element);
    if (status == kBusy) continue;
    if (status == SHMEMX_KV_OK) cursor = cursor_at(cover.home) + least.number + 1;
    return status;
  }
}

// Looks at one segment.  NOT_FOUND: it has no more of the home; the place is then behind it.
template <class Memory>
Code Shard<Memory>::next_of_place(Place& place, Element& element) const {
  const std::uint64_t homes = layout_.segment_groups;
  for (;;) {
    const std::uint64_t all = segments();
    // Before `splitting` is 0 again `segments` has changed, and all elements are where they belong.
    const bool is_splitting = memory_.template load<std::uint64_t>(offsetof(ShardHeader, splitting)) != 0;
    const std::uint64_t segment = ShardLayout::segment_of(detail::on_line(place.at), all);
    const unsigned level = ShardLayout::level_of(segment, all);
    place.begin(level);
    // What it was begun with has been split since, so there is more of it.
    const bool by_place = level + 1 > place.begun;
    const Cover cover{place.home, segment, all, by_place || is_splitting, by_place};
    Least least{.floor = place.floor, .from_at = place.at, .from_number = place.number};
    const Code status = look_for_least(cover, least, element);
    if (status == kBusy || segments() != all) continue;
    if (status == SHMEMX_KV_OK) {
      by_place ? place.go_behind(least.at, least.number, homes) : place.go_behind_number(least.number, homes);
    } else if (status == SHMEMX_KV_NOT_FOUND) {
      const std::uint64_t length = Place::kLine >> level;
      place.go_to_place((place.at & ~(length - 1)) + length, homes);
    }
    return status;
  }
}

template <class Memory>
bool Shard<Memory>::is_at_end(std::uint64_t cursor) const {
  return layout_.has_segments() ? Place(cursor).ended : home_of_cursor(cursor) >= layout_.groups;
}

template <class Memory>
Code Shard<Memory>::next_here(std::uint64_t& cursor, Element& element) const {
  if (!layout_.has_segments()) {
    const Code status = next_of_home(cursor, element);
    if (status == SHMEMX_KV_NOT_FOUND) cursor = cursor_at(home_of_cursor(cursor) + 1);
    return status;
  }
  Place place(cursor);
  Code status = SHMEMX_KV_NOT_FOUND;
  if (place.home < layout_.segment_groups)
    status = next_of_place(place, element);
  else
    place.go_to_next_home(layout_.segment_groups);  // no cursor that was given is like that
  if (status != SHMEMX_KV_TOO_LARGE) cursor = place.cursor();
  return status;
}

template <class Memory>
Code Shard<Memory>::next(std::uint64_t& cursor, Element& element) const {
  Code status = SHMEMX_KV_NOT_FOUND;
  std::uint64_t now = cursor;
  while (status == SHMEMX_KV_NOT_FOUND && !is_at_end(now)) status = next_here(now, element);
  if (status != SHMEMX_KV_TOO_LARGE) cursor = now;
  return status;
}

}  // namespace shm::kv
