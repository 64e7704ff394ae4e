// SPDX-License-Identifier: BSD-3-Clause
// What PEs of different nodes send each other for parcels, and what is wrong with such a message before
// anything of it is used.
//
//   message   ParcelKey | bytes of the parcel        kData: the next ones of it
//                       | Ready                      kReady: where the receiver wants a long one
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "transports/net.hpp"

namespace shm {

enum ParcelKind : std::uint64_t { kData, kReady };

struct ParcelKey {
  std::uint64_t phase;
  std::uint64_t rest;  // slot, kind, step, sender: 12 + 2 + 26 + 24 bits
  bool operator==(const ParcelKey&) const = default;
};

inline int slot_of(const ParcelKey& key) { return static_cast<int>(key.rest >> 52); }
inline ParcelKind kind_of(const ParcelKey& key) { return static_cast<ParcelKind>(key.rest >> 50 & 3); }
inline int sender_of(const ParcelKey& key) { return static_cast<int>(key.rest & 0xffffff); }

/// Where the receiver wants a long parcel, and where it looks how much of it is there.  A mark has a bit for
/// each piece: whatever bytes of a put of it are visible first, its lowest ones are pieces that are there.
struct Ready {
  std::uint64_t direct;  // 1: by puts, to `at`; 0: by messages
  RemoteAddress at, mark;
};

/// Each function returns how "PE 3 sent a parcel ..." goes on, or null.  Pure.

/// Of a message of n bytes from PE `from`.  `slots`: how many there are.
inline const char* wrong_with_parcel(const std::byte* message, std::size_t n, int from, int slots) {
  if (n <= sizeof(ParcelKey)) return "that is cut off";
  ParcelKey key;
  std::memcpy(&key, message, sizeof key);
  if (sender_of(key) != from) return "in the name of another PE";
  if (slot_of(key) >= slots || kind_of(key) > kReady) return "of an unknown kind";
  return nullptr;
}

/// Of `n` bytes more of a parcel, of which `before` are there.  `room`: bytes that are expected, or may come
/// before they are.
inline const char* wrong_with_more(std::size_t before, std::size_t n, std::size_t room) {
  return before > room || n > room - before ? "that is longer than what is expected" : nullptr;
}

/// Where a long parcel of n bytes is wanted: `heap` and `statics` have so many bytes from their origin, and
/// the marks lie in the heap's segment from `marks` on, so many.
struct ReadyLimits {
  std::uint64_t heap, statics;
  std::uint64_t marks, mark_count;
};
inline const char* wrong_with_ready(const Ready& ready, std::size_t n, const ReadyLimits& limits) {
  if (ready.direct > 1) return "of an unknown kind";
  if (ready.direct == 0) return nullptr;
  const bool in_heap = ready.at.segment == SegmentId::heap;
  if (!in_heap && ready.at.segment != SegmentId::statics) return "for memory that is not symmetric";
  const std::uint64_t size = in_heap ? limits.heap : limits.statics;
  if (n > size || ready.at.offset > size - n) return "for memory that is not symmetric";
  const std::uint64_t mark = ready.mark.offset - limits.marks;
  const bool is_mark = ready.mark.segment == SegmentId::heap && mark % sizeof(std::uint64_t) == 0 &&
                       mark / sizeof(std::uint64_t) < limits.mark_count;
  return is_mark ? nullptr : "with a mark that is none";
}

}  // namespace shm
