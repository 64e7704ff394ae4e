// SPDX-License-Identifier: BSD-3-Clause
// The receiving end: executes the records of a packet in this PE's memory.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "batch/packet.hpp"

namespace shm::batch {

/// Thread safety: add_segment() before the first packet; apply() from the thread that runs handlers.
class Target {
 public:
  void add_segment(SegmentId id, void* base, std::size_t size) {
    segments_[static_cast<std::size_t>(id)] = {static_cast<std::byte*>(base), size};
  }

  /// Executes all records in order, with the CPU atomics of base/atomic_op, and returns the reply.  An
  /// aligned word of up to 8 bytes is stored at once, so that wait_until may watch it, and after all that
  /// precedes it in the packet.  Ends the job if the packet makes no sense.
  std::vector<std::byte> apply(int from_pe, const std::byte* packet, std::size_t n) const;

 private:
  struct Segment {
    std::byte* base = nullptr;
    std::size_t size = 0;
  };
  std::byte* reach(int from_pe, const RecordHead& head, std::size_t n) const;

  std::array<Segment, kSegments> segments_{};
};

}  // namespace shm::batch
