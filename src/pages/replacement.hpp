// SPDX-License-Identifier: BSD-3-Clause
// Which page leaves when a frame is needed, for the whole node.
//
// A copy that other nodes have too leaves first: they can give it back.  One that no other node has is kept
// for them, in a queue of its own:
//
//   LRU, FIFO --last, others have a copy-----------------------------------> victim
//       |                                                                      ^
//       +-------last, nobody else has it --> kept --last, and kept > its share-+
//
// vgasnet: the two queues of vGASNet.  All pages enter the LRU; the share of `kept` is half the pool.
//
// two_queues: resists scans (Johnson and Shasha, "2Q").  What is used once passes through a FIFO of 1/8 of
// the pool, so pages in long use stay; what comes back soon after it has left goes to the LRU.  A page's word
// remembers when it left.
//
//   new ----------------------------> FIFO, of which the last goes as above while FIFO > 1/8 pool
//   new, and left not long ago -----> LRU
//   new, while the pool fills ------> LRU
//
// The share of `kept` is what it brings.  It begins with nothing; each copy that another node takes of a page
// that was here alone adds eight frames, and each page that comes back soon after it has left takes one away.
// So a node whose pages nobody else uses behaves as if there were no such queue.
//
// trial (LocalPages): uses of a page that is mapped are not seen.  So one that should leave, but would have
// to be written, is unmapped and goes to the end of this queue, which is 1/8 of the pool.  One that is used
// meanwhile goes to the LRU; the last one leaves.
//
// standby: pages that have left the queues, unmapped, clean and still filled, the first of which to come is
// the first to go (LocalPages).  One that is used again goes to the LRU.
//
// A use sets a mark on the frame and costs no lock: a page that is marked when it comes to the end of LRU or
// `kept` goes to the front of the LRU instead (second chance).  A page that has been brought ahead of its use
// passes through the FIFO once more.
#pragma once

#include <iterator>
#include <string_view>

#include "pages/pool.hpp"

namespace shm::pages {

enum class ReplacementKind : std::uint8_t {
#define POLICY(NAME, WORD, FIFO, KEPT) NAME,
#include "pages/policies.def"
#undef POLICY
};

/// A row of policies.def.
struct ReplacementPolicy {
  enum Kept : std::uint8_t { half, earned };
  std::string_view word;
  bool fifo;
  Kept kept;
};
inline constexpr ReplacementPolicy kPolicies[] = {
#define POLICY(NAME, WORD, FIFO, KEPT) {WORD, FIFO, ReplacementPolicy::KEPT},
#include "pages/policies.def"
#undef POLICY
};

/// The first one if there is no such word: the reader of the variable has refused others.
constexpr ReplacementKind policy_called(std::string_view word) {
  for (std::uint8_t i = 0; i < std::size(kPolicies); ++i)
    if (kPolicies[i].word == word) return ReplacementKind{i};
  return ReplacementKind{0};
}

/// Thread safety: any pager of the node, or any thread that takes no signals.
class Replacement {
 public:
  /// `kind` is the same for all pagers of the node.
  Replacement(const Pool& pool, ReplacementKind kind)
      : pool_(pool), policy_(kPolicies[static_cast<std::size_t>(kind)]) {}

  /// A free frame, or kNoFrame.
  FrameNumber take_free();
  void give_free(FrameNumber frame);
  /// How many are free, about.
  std::size_t free_frames() const;

  /// `frame` has got `page`.
  void enter(FrameNumber frame, PageNumber page);
  /// No other node has its page any more.
  void mark_last_copy(FrameNumber frame) {
    pool_.frame(frame).last_copy.store(true, std::memory_order_relaxed);
  }
  /// Another node is about to get a copy of its page.
  void share(FrameNumber frame);
  /// Its page is gone: REQUIRES entered.  The frame is the caller's.
  void leave(FrameNumber frame);

  /// Takes a page that is to be evicted out of the queues; kNoFrame if there is none.
  FrameNumber victim();
  /// A victim that cannot leave goes back to the LRU, if it still has that page.
  void spare(FrameNumber frame, PageNumber page);

  /// A victim that is about to be unmapped, so that a use shows, is a victim again when it has passed through
  /// the queue, if it still has that page.
  void put_on_trial(FrameNumber frame, PageNumber page);
  /// How many may pass through it at a time.
  std::size_t trial_share() const { return pool_.shape().frames / 8; }

  /// The page is about to be used: it leaves after all others.  Nothing happens if the frame has another
  /// page, or that one is leaving.
  void refresh(FrameNumber frame, PageNumber page);

  /// A victim that is unmapped and clean waits for its frame to be needed, if it still has that page.
  void stand_by(FrameNumber frame, PageNumber page);
  /// Takes the oldest of those out of their queue; kNoFrame if there is none.
  FrameNumber take_standby();
  /// One of those, or one that is on trial, has been used again.  Returns false, and nothing happens, if it
  /// is neither, or has another page.
  bool recall(FrameNumber frame, PageNumber page);
  /// How many are free or stand by, about.
  std::size_t frames_at_hand() const;

 private:
  enum Queue : std::uint8_t { kOut, kLru, kFifo, kKept, kTrial, kStandby };
  FrameQueue& queue(std::uint8_t which) const REQUIRES(pool_.head().lock);
  void push(std::uint8_t which, FrameNumber frame) REQUIRES(pool_.head().lock);
  void unlink(FrameNumber frame) REQUIRES(pool_.head().lock);
  bool sole(FrameNumber frame) const;
  bool fills() const REQUIRES(pool_.head().lock);
  bool left_lately(PageNumber page) const REQUIRES(pool_.head().lock);
  Queue queue_to_shorten() const REQUIRES(pool_.head().lock);
  std::size_t fifo_share() const { return pool_.shape().frames / 8; }
  std::size_t kept_share() const REQUIRES(pool_.head().lock) {
    return policy_.kept == ReplacementPolicy::half ? pool_.shape().frames / 2 : pool_.head().kept_share;
  }

  Pool pool_;
  const ReplacementPolicy& policy_;
};

}  // namespace shm::pages
