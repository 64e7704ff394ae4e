// SPDX-License-Identifier: BSD-3-Clause
// Which page leaves when a frame is needed, for the whole node.
//
// vgasnet: the two queues of vGASNet.
//
//   new, or used again --> LRU --last, others have a copy--------------------------------> victim
//                           |                                                                ^
//                           +--last, nobody else has it --> FIFO --last, and FIFO > 1/2 pool-+
//                           ^                                 |
//                           +------------ used -------------- +
//
// two_queues: resists scans (Johnson and Shasha, "2Q").  What is used once passes through a FIFO of 1/8 of
// the pool and is a victim at its end, so pages in long use stay; what comes back soon after it has left goes
// to the LRU.  A page's word remembers when it left.
//
//   new ----------------------------> FIFO --last, and FIFO > 1/8 pool--> victim
//   new, and left not long ago -----> LRU --last--> victim
//   new, while the pool fills -------> ^  +--used--> LRU
//
// A use sets a mark on the frame and costs no lock: a page that is marked when it comes to the end of a queue
// (of two_queues: of the LRU) goes to the front of the LRU instead (second chance).  A page that has been
// brought ahead of its use passes through the FIFO once more.
#pragma once

#include "pages/pool.hpp"

namespace shm::pages {

enum class ReplacementKind : std::uint8_t { vgasnet, two_queues };

/// Thread safety: any pager of the node.
class Replacement {
 public:
  /// `kind` is the same for all pagers of the node.
  Replacement(const Pool& pool, ReplacementKind kind) : pool_(pool), kind_(kind) {}

  /// A free frame, or kNoFrame.
  FrameNumber take_free();
  void give_free(FrameNumber frame);
  /// How many are free, about.
  std::size_t free_frames() const;

  /// `frame` has got `page`.
  void enter(FrameNumber frame, PageNumber page);
  /// Its page is gone: REQUIRES entered.  The frame is the caller's.
  void leave(FrameNumber frame);

  /// Takes a page that is to be evicted out of the queues; kNoFrame if there is none.
  FrameNumber victim();
  /// A victim that cannot leave goes back to the LRU, if it still has that page.
  void spare(FrameNumber frame, PageNumber page);

 private:
  enum : std::uint8_t { kOut, kLru, kFifo };
  FrameQueue& queue(std::uint8_t which) const REQUIRES(pool_.head().lock) {
    return which == kLru ? pool_.head().lru : pool_.head().fifo;
  }
  FrameNumber pop_free();
  void push(std::uint8_t which, FrameNumber frame) REQUIRES(pool_.head().lock);
  void unlink(FrameNumber frame) REQUIRES(pool_.head().lock);
  bool sole(FrameNumber frame) const;
  bool belongs_to_lru(PageNumber page) const REQUIRES(pool_.head().lock);
  // Above this size the FIFO's last page is a victim.
  std::size_t fifo_limit() const {
    return pool_.shape().frames / (kind_ == ReplacementKind::vgasnet ? 2 : 8);
  }

  Pool pool_;
  const ReplacementKind kind_;
};

}  // namespace shm::pages
