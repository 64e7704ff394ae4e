// SPDX-License-Identifier: BSD-3-Clause
// What sender and receiver agree on about a ring of short messages (inbox.hpp).  Plain data: not thread safe.
#pragma once

#include <cstddef>
#include <cstdint>

namespace shm::ofi {

/// What a receiver has told a sender.  Grows only, from zeros, until the sender gives the ring back.  A write
/// of it may be stored in parts, low bytes first, so a value read in between is at most what was written.
struct Grant {
  std::uint64_t ring = 0;     // 1 + its number; 0: none.  Below 256
  std::uint64_t cleared = 0;  // RingCursor::passed() up to which it is cleared
};

/// A position in a ring.  Sender and receiver walk it with the same steps: an entry starts below kBytes, may
/// end beyond it, and the next one then starts at 0.
class RingCursor {
 public:
  static constexpr std::size_t kBytes = 16384;
  static constexpr std::size_t kLargestEntry = 1024;

  std::size_t offset() const { return offset_; }
  std::uint64_t passed() const { return passed_; }  // bytes of all entries so far
  void advance(std::size_t entry) {
    offset_ += entry;
    if (offset_ >= kBytes) offset_ = 0;
    passed_ += entry;
  }
  /// Whether an entry fits behind what is not cleared yet (invariant 1; it implies that it ends before the
  /// oldest).
  bool has_room(std::size_t entry, std::uint64_t cleared) const { return passed_ - cleared + entry < kBytes; }

 private:
  std::size_t offset_ = 0;
  std::uint64_t passed_ = 0;
};

}  // namespace shm::ofi
