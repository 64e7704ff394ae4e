// SPDX-License-Identifier: BSD-3-Clause
// Which page leaves when a frame is needed: the two queues of vGASNet, for the whole node.
//
//   new, or used again --> LRU --last, others have a copy--------------------------------> victim
//                           |                                                                ^
//                           +--last, nobody else has it --> FIFO --last, and FIFO > 1/2 pool-+
//                           ^                                 |
//                           +------------ used -------------- +
//
// A use sets a mark on the frame and costs no lock: a page that is marked when it comes to the end of a queue
// goes to the front of the LRU instead (second chance).
#pragma once

#include "nvm/pool.hpp"

namespace shm::nvm {

/// Thread safety: any pager of the node.
class Policy {
 public:
  explicit Policy(const Pool& pool) : pool_(pool) {}

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
  /// A victim that cannot leave goes back to the LRU.
  void spare(FrameNumber frame);

 private:
  enum : std::uint8_t { kOut, kLru, kFifo };
  FrameQueue& queue(std::uint8_t which) const { return which == kLru ? pool_.head().lru : pool_.head().fifo; }
  FrameNumber pop_free();
  void push(std::uint8_t which, FrameNumber frame);
  void unlink(FrameNumber frame);
  bool sole(FrameNumber frame) const;

  Pool pool_;
};

}  // namespace shm::nvm
