// SPDX-License-Identifier: BSD-3-Clause
// The pool: frames of memory that hold a node's pages, with the words of the pages and the requests of the
// PEs.
//
// All of it lies in memory that every PE of the node maps, at the same offsets, and begins as zeros.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/spin.hpp"
#include "pages/page_word.hpp"
#include "pages/requests.hpp"

namespace shm::pages {

/// Of a frame; links and queue are Replacement's.
struct Frame {
  std::atomic<std::uint64_t> page;                             // number plus one; 0: none has entered
  std::atomic<std::uint8_t> touched;                           // since Replacement has looked
  std::atomic<std::uint32_t> pinned_to_read, pinned_to_write;  // times that programs have pinned the page
  std::atomic<std::uint32_t>& pins(Access access) {
    return access == Access::read ? pinned_to_read : pinned_to_write;
  }
  std::atomic<std::int32_t> operated_by;  // for which node its page was operated on last (kOperated)
  std::atomic<bool> last_copy;            // no other node has the page, as far as its home has told
  std::atomic<std::uint64_t> mapping;     // of its page in the process of its PE: Mappings'
  bool leaving;                           // its page has asked to
  std::uint8_t queue;
  FrameNumber prev, next;
};

/// How a frame has been used (Frame::touched).
inline constexpr std::uint8_t kTouched = 1;   // by a thread of the node
inline constexpr std::uint8_t kAhead = 2;     // not yet: its page was brought ahead of its use
inline constexpr std::uint8_t kOperated = 3;  // for other nodes

/// Head of a queue of frames: linked by `next` and `prev`.
struct FrameQueue {
  FrameNumber first, last, size;
};

struct PoolHead {
  SpinLock lock;                              // of the queues of frames; who takes it takes no signals
  std::atomic<std::uint32_t> frame_waiters;   // pages that wait for a frame
  std::atomic<std::uint32_t> expected;        // frames that wait for a page that its home has been asked for
  std::atomic<std::uint32_t> pinned;          // frames that programs have pinned
  std::atomic<std::uint32_t> leaving;         // frames whose page has asked to leave
  std::atomic<std::uint32_t> groups_claimed;  // the first ones, which are being laid out, or have been
  std::uint32_t departures GUARDED_BY(lock);  // pages that have left
  std::uint32_t spared GUARDED_BY(lock);      // victims that could not leave, since the last that did
  std::uint32_t kept_share GUARDED_BY(lock);  // frames that `kept` may have
  FrameQueue free GUARDED_BY(lock), lru GUARDED_BY(lock), fifo GUARDED_BY(lock), kept GUARDED_BY(lock),
      trial GUARDED_BY(lock), standby GUARDED_BY(lock);
};

/// Sizes; the same on all PEs of the node.
struct PoolShape {
  std::size_t page_bytes;  // a power of two
  std::size_t frames;
  std::uint64_t segment_pages;  // of each PE
  int job_size;
  int node_size;

  std::size_t requests_at() const;
  std::size_t frame_table_at() const;
  std::size_t words_at() const;
  std::size_t frames_at() const;
  /// All of it.
  std::size_t bytes() const;
};

/// Where all this is mapped in this process.  A view: copies are of the same pool.
class Pool {
 public:
  Pool(std::byte* base, const PoolShape& shape)
      : base_(base),
        table_(reinterpret_cast<Frame*>(base + shape.frame_table_at())),
        words_(reinterpret_cast<PageWord*>(base + shape.words_at())),
        frames_(base + shape.frames_at()),
        page_shift_(static_cast<unsigned>(std::countr_zero(shape.page_bytes))),
        shape_(shape) {}

  const PoolShape& shape() const { return shape_; }
  PoolHead& head() const { return *reinterpret_cast<PoolHead*>(base_); }
  PeRequests& requests_of(int node_rank) const {
    return reinterpret_cast<PeRequests*>(base_ + shape_.requests_at())[static_cast<std::size_t>(node_rank)];
  }
  Frame& frame(FrameNumber n) const { return table_[n]; }
  PageWord& word(PageNumber page) const { return words_[page]; }
  std::byte* bytes(FrameNumber n) const { return frames_ + (std::size_t{n} << page_shift_); }
  /// Where the frame begins, from the start of the pool.
  std::size_t offset(FrameNumber n) const { return static_cast<std::size_t>(bytes(n) - base_); }
  FrameNumber frame_at(std::size_t offset) const {
    return static_cast<FrameNumber>((offset - shape_.frames_at()) >> page_shift_);
  }

  PageNumber number(int pe, std::uint64_t offset) const {
    return static_cast<std::uint64_t>(pe) * shape_.segment_pages + (offset >> page_shift_);
  }
  /// Where in its page what lies at `offset` of a segment is.
  std::size_t within(std::uint64_t offset) const {
    return static_cast<std::size_t>(offset) & (shape_.page_bytes - 1);
  }
  int pe_of(PageNumber page) const { return static_cast<int>(page / shape_.segment_pages); }
  std::uint64_t offset_of(PageNumber page) const { return page % shape_.segment_pages * shape_.page_bytes; }

  /// By the node's first PE, before any other uses the pool: all frames are free.
  void prepare() const;

  /// Offset and bytes of the frames.
  std::size_t frames_bytes() const { return shape_.frames << page_shift_; }

  // Frames lie on huge pages, if the system has some: they are laid out in groups, from the first one on.

  std::uint32_t groups() const;
  /// The group that is to be laid out next where `taken` is in use, so that the one behind it is ready, too;
  /// nothing: all that are needed have been claimed.  Whoever gets one lays it out.
  std::optional<std::uint32_t> claim_group(FrameNumber taken) const;
  /// Takes the system milliseconds.  What is in the frames stays, and they may be in use meanwhile.
  void lay_out(std::uint32_t group) const;

 private:
  std::size_t group_bytes() const;

  // What every operation needs is worked out once.
  std::byte* base_;
  Frame* table_;
  PageWord* words_;
  std::byte* frames_;
  unsigned page_shift_;
  PoolShape shape_;
};

}  // namespace shm::pages
