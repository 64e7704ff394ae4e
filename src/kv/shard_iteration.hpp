// SPDX-License-Identifier: BSD-3-Clause
// All elements of a shard, one after the other, while others come, go and move, and segments are split.
//
// They come by segment, home and number.  A segment is where bits of the hash, the lowest first, are on a
// line of kSegmentBits: so when it is split, what becomes of it lies on the same part of that line.  A cursor
// keeps which part that was when the segment was begun, and of each home takes the elements of all segments
// that are there now, by number, and by their own places on the line: these are the same all the time, and no
// two elements that were there when the segment was begun have both in common.
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
        number(static_cast<unsigned>(cursor >> kSegmentBits) % kNumbers),
        home((cursor >> (kSegmentBits + 8)) % kMostGroupsOfSegment),
        begun(std::min<unsigned>(cursor >> (kSegmentBits + 16), kSegmentBits + 1)),
        ended(cursor >> 63 != 0) {}
  std::uint64_t cursor() const {
    const std::uint64_t begun_at = std::uint64_t{begun} << (kSegmentBits + 16);
    const std::uint64_t end = std::uint64_t{ended} << 63;
    return end | begun_at | home << (kSegmentBits + 8) | std::uint64_t{number} << kSegmentBits | at;
  }

  std::uint64_t part() const { return kLine >> (begun - 1); }  // how long
  std::uint64_t start() const { return at & ~(part() - 1); }
  void go_to_number(unsigned next) {
    number = next;
    at = start();
  }
  // The next of so many in the segment, or the first in the next part.
  void go_to_next_home(std::uint64_t homes) {
    if (begun == 0) begun = kSegmentBits + 1;  // no cursor that was given is like that
    go_to_number(0);
    if (++home < homes) return;
    const std::uint64_t next = at + part();
    at = next % kLine;
    ended = next == kLine;
    home = begun = 0;
  }

  std::uint64_t at;    // on the line: elements before that have come, of this number
  unsigned number;     // elements with lower ones have come
  std::uint64_t home;  // in its segment
  unsigned begun;      // one more than the level of the segment when it was begun; 0: it is not
  bool ended;
};

// Where the elements of a cursor's home are: in segments first, first + step and so on.
template <class Memory>
struct Shard<Memory>::Cover {
  std::uint64_t home;  // in each of them
  std::uint64_t first, step, segments;
  bool by_place;  // an element may be in two of them, or where it does not belong
};

// The least element that does not come before this.
template <class Memory>
struct Shard<Memory>::Least {
  unsigned from_number;
  std::uint64_t from_at;
  bool found;
  unsigned number;
  std::uint64_t at;  // if by_place
  std::uint64_t home, group;
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

// Of the home in this segment, and less than the one that is found.  It is looked for in all groups of the
// home; one that comes home meanwhile is looked for once more.  False: look again, as the home has changed.
template <class Memory>
bool Shard<Memory>::find_least(const Cover& cover, std::uint64_t segment, Least& least) const {
  const std::uint64_t home = segment * layout_.segment_groups + cover.home;
  const auto look_at = [&](std::uint64_t group, auto also) {
    const Least before = least;
    look_whole(group, kUnlimited, [&](const Head<Memory>& head, unsigned&) {
      alignas(8) std::byte key[256];
      least = before;
      also(head);
      const Bytes16 all = numbers(group);
      for_each_of_home(head, home, group, [&](unsigned slot) {
        const unsigned number = all[slot];
        if (number < least.from_number || (least.found && number > least.number)) return;
        std::uint64_t at = 0;
        if (cover.by_place) {
          const auto place = position_at(head, group, slot, segment, cover.segments, key);
          if (!place) return;
          at = *place;
          if (number == least.from_number && at < least.from_at) return;
        }
        if (least.found && number == least.number && at >= least.at) return;
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
  for (std::uint64_t segment = cover.first; segment < cover.segments; segment += cover.step)
    if (!find_least(cover, segment, least)) return kBusy;
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
    if (cover.by_place) {
      const std::uint64_t segment = least.home / layout_.segment_groups;
      const auto place = position_at(head, least.group, slot, segment, cover.segments, key);
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
  const Cover cover{home_of_cursor(cursor), 0, 1, 1, false};
  for (;;) {
    Least least{.from_number = static_cast<unsigned>(cursor % kNumbers)};
    const Code status = look_for_least(cover, least, element);
    if (status == kBusy) continue;
    if (status == SHMEMX_KV_OK) cursor = cursor_at(cover.home) + least.number + 1;
    return status;
  }
}

template <class Memory>
Code Shard<Memory>::next_of_place(Place& place, Element& element) const {
  for (;;) {
    const std::uint64_t all = segments();
    // Before `splitting` is 0 again `segments` has changed, and all elements are where they belong.
    const bool is_splitting = memory_.template load<std::uint64_t>(offsetof(ShardHeader, splitting)) != 0;
    if (place.begun == 0) {
      const std::uint64_t segment = ShardLayout::segment_of(detail::on_line(place.at), all);
      place.begun = 1 + ShardLayout::level_of(segment, all);
    }
    const std::uint64_t step = std::uint64_t{1} << (place.begun - 1);
    const std::uint64_t first = detail::on_line(place.start()) % step;
    const bool are_more = first + step < all;
    const Cover cover{place.home, first, step, all, are_more || is_splitting || place.at != place.start()};
    Least least{.from_number = place.number, .from_at = place.at};
    const Code status = look_for_least(cover, least, element);
    if (status == kBusy || segments() != all) continue;
    if (status != SHMEMX_KV_OK) return status;
    // In one segment no other has its number.
    const std::uint64_t next = least.at + 1;
    if (are_more && (next & (place.part() - 1)) != 0) {
      place.number = least.number;
      place.at = next;
    } else if (least.number + 1 < kNumbers) {
      place.go_to_number(least.number + 1);
    } else {
      place.go_to_next_home(layout_.segment_groups);
    }
    return status;
  }
}

template <class Memory>
bool Shard<Memory>::is_at_end(std::uint64_t cursor) const {
  return layout_.has_segments() ? Place(cursor).ended : home_of_cursor(cursor) >= layout_.groups;
}

template <class Memory>
std::uint64_t Shard<Memory>::homes_at(std::uint64_t cursor) const {
  const Place place(cursor);
  if (!layout_.has_segments() || place.begun == 0) return 1;
  const std::uint64_t step = std::uint64_t{1} << (place.begun - 1);
  return segments() / step + 1;
}

template <class Memory>
Code Shard<Memory>::next_here(std::uint64_t& cursor, Element& element) const {
  if (!layout_.has_segments()) {
    const Code status = next_of_home(cursor, element);
    if (status == SHMEMX_KV_NOT_FOUND) cursor = cursor_at(home_of_cursor(cursor) + 1);
    return status;
  }
  Place place(cursor);
  const bool is_home = place.home < layout_.segment_groups;
  const Code status = is_home ? next_of_place(place, element) : SHMEMX_KV_NOT_FOUND;
  if (status == SHMEMX_KV_NOT_FOUND) place.go_to_next_home(layout_.segment_groups);
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
