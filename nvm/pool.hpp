// SPDX-License-Identifier: BSD-3-Clause
// What the PEs of a node share about the NVM heap: the frames, the word of each page, the inboxes of the
// pagers.
//
// All of it lies in memory that every PE of the node maps, at the same offsets, and begins as zeros.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/spin.hpp"
#include "nvm/frame_order.hpp"

namespace shm::nvm {

/// Number of a page in the job: the PE in whose segment it lies, times the pages of a segment, plus its
/// place.
using PageNumber = std::uint64_t;
using FrameNumber = std::uint32_t;
inline constexpr FrameNumber kNoFrame = ~FrameNumber{0};

/// What a node has of a page: MOESI.
enum class PageState : std::uint8_t { invalid, shared, owned, exclusive, modified };
enum class Access : std::uint8_t { read, write };

/// Whether a node that has the page in `state` may read, or write, without asking anybody.
constexpr bool permits(PageState state, Access access) {
  if (access == Access::read) return state != PageState::invalid;
  return state == PageState::exclusive || state == PageState::modified;
}

/// The state of a page on a node, its frame, and how many threads are copying to or from it.
/// Thread safety: pin() and unpin() by any thread of any PE of the node, signal handlers included; the rest
/// by the page's pager.
class PageWord {
 public:
  /// Takes a pin, if the state permits the access; a write makes the page modified.  Returns the frame, which
  /// stays where it is until unpin(), or kNoFrame.
  FrameNumber pin(Access access) {
    std::uint64_t seen = word_.load(std::memory_order_acquire);
    for (;;) {
      if ((seen & kClosed) != 0 || !permits(state_of(seen), access)) return kNoFrame;
      std::uint64_t next = seen + kPin;
      if (access == Access::write) next = (next & ~kStateMask) | bits(PageState::modified);
      if (word_.compare_exchange_weak(seen, next, std::memory_order_acq_rel, std::memory_order_acquire)) {
        frame_taken();
        return frame_of(seen);
      }
    }
  }
  /// Release: what was copied in is seen by whoever closes or pins the page next.
  void unpin() {
    frame_left();
    word_.fetch_sub(kPin, std::memory_order_release);
  }

  PageState state() const { return state_of(word_.load(std::memory_order_acquire)); }
  FrameNumber frame() const { return frame_of(word_.load(std::memory_order_relaxed)); }
  bool pinned() const { return pins_of(word_.load(std::memory_order_acquire)) != 0; }

  /// The page is in `frame`, filled, with `pins` pins taken for those who wait for it.
  void open(PageState state, FrameNumber frame, unsigned pins = 0) {
    word_.store(bits(state) | kPin * pins | std::uint64_t{frame} << kFrameShift, std::memory_order_release);
  }
  /// Another state; the pins stay.  REQUIRES: both states are valid.
  void become(PageState state) {
    std::uint64_t seen = word_.load(std::memory_order_relaxed);
    // An exclusive page that has just been written to is modified, and stays so.
    while (!(state == PageState::exclusive && state_of(seen) == PageState::modified) &&
           !word_.compare_exchange_weak(seen, (seen & ~kStateMask) | bits(state), std::memory_order_release,
                                        std::memory_order_relaxed)) {
    }
  }
  /// No new pins.  Returns whether there are none: then nobody copies any more.
  bool close() { return pins_of(word_.fetch_or(kClosed, std::memory_order_acq_rel)) == 0; }
  void reopen() { word_.fetch_and(~kClosed, std::memory_order_release); }
  /// REQUIRES: closed, no pins.
  void clear() { word_.store(0, std::memory_order_release); }
  /// While the page is not here: which departure its last one was, of all of the node; 0: it never was here,
  /// or that is forgotten.
  void remember(std::uint32_t departure) {
    std::uint64_t absent = 0;
    word_.compare_exchange_strong(absent, std::uint64_t{departure} << kFrameShift, std::memory_order_relaxed);
  }
  std::uint32_t departure() const {
    const std::uint64_t word = word_.load(std::memory_order_relaxed);
    return state_of(word) == PageState::invalid ? static_cast<std::uint32_t>(word >> kFrameShift) : 0;
  }

 private:
  static constexpr std::uint64_t kStateMask = 7, kClosed = 8, kPin = 16;
  static constexpr unsigned kPinBits = 20, kFrameShift = 32;
  static constexpr std::uint64_t bits(PageState state) { return static_cast<std::uint64_t>(state); }
  static constexpr PageState state_of(std::uint64_t word) {
    return static_cast<PageState>(word & kStateMask);
  }
  static constexpr std::uint64_t pins_of(std::uint64_t word) {
    return word / kPin & ((std::uint64_t{1} << kPinBits) - 1);
  }
  static constexpr FrameNumber frame_of(std::uint64_t word) {
    return static_cast<FrameNumber>(word >> kFrameShift);
  }

  std::atomic<std::uint64_t> word_;
};
static_assert(sizeof(PageWord) == 8);

/// What a thread asks a pager for, and waits for.
struct alignas(64) Request {
  enum class Kind : std::uint8_t {
    pin,      // the page, with a pin for the requester
    map,      // the page in the address space of its PE
    hold,     // both
    own,      // the page, with the right to write, at this node: other nodes lose it
    room,     // for the pages [page, last) on the device
    drop,     // the pages [page, last) lose their contents, and the object that lies there
    attach,   // the pages [page, last) are a named object's from now on: `object`
    persist,  // what lies at `page` becomes durable as epoch `epoch`
    settle,   // the epoch before it may be forgotten
    rest,     // no more evictions; answered when nothing of the pager's is under way
  };
  enum State : std::uint32_t { kFree, kPosted, kDone };

  std::atomic<std::uint32_t> state;  // a futex
  std::uint32_t next;                // in an inbox: RequestId
  Kind kind;
  Access access;
  FrameNumber frame;  // the answer to `pin` and `hold`
  PageNumber page, last;
  class Store* object;  // in the process of the pager, which then owns it
  std::uint64_t epoch;
  bool failed;  // the answer to `room`; the pager has said why
};

/// Which slot of which PE, plus one; 0: none.
using RequestId = std::uint32_t;
constexpr RequestId request_id(int place, unsigned slot) {
  return (static_cast<unsigned>(place) << 8 | slot) + 1;
}
constexpr int place_of(RequestId id) { return static_cast<int>((id - 1) >> 8); }
constexpr unsigned slot_of(RequestId id) { return (id - 1) & 0xff; }

/// What a pager has been asked for: requests of any thread of the node, and notes.
class Inbox {
 public:
  static constexpr std::size_t kNotes = 8192;

  /// Hands a request over, and wakes the pager.  Async-signal-safe: a thread that is interrupted at any point
  /// of it holds up nobody, not even its own handler.
  void post(Request& request, RequestId id);
  /// By the pager: takes all, the newest first, linked by Request::next; 0: none.
  RequestId take_requests() { return requests_.exchange(0, std::memory_order_acquire); }

  /// What a pager is told of a page, without waiting for it.
  enum class What : std::uint8_t {
    evict,  // by another pager: it is to leave
    used,   // by any thread: it was brought ahead of its use, and is used now
    bring,  // by any thread: it will be used
  };
  struct Note {
    PageNumber page;
    What what;
  };
  /// Returns false if there is no room.
  bool post_note(const Note& note);
  /// By the pager: the next one.  Returns false if there is none.
  bool take_note(Note& note);

  bool empty() const;
  /// By the pager, which sleeps so:  mark = listen(); if (nothing to do) sleep(mark, limit); hear();
  /// It wakes when somebody has rung since listen(), or after `microseconds` (negative: no limit).
  std::uint32_t listen();
  void sleep(std::uint32_t mark, long microseconds);
  void hear() { asleep_.store(0, std::memory_order_relaxed); }
  /// Wakes the pager.
  void ring();

 private:
  // A bounded queue with one reader (Vyukov's).
  struct Cell {
    std::atomic<std::uint64_t> turn;  // times that it was filled and emptied
    Note note;
  };
  alignas(64) std::atomic<RequestId> requests_;
  alignas(64) std::atomic<std::uint64_t> tail_;
  alignas(64) std::uint64_t head_;
  std::atomic<std::uint32_t> bell_, asleep_;
  Cell cells_[kNotes];
};

/// A PE's part.
struct PePart {
  static constexpr unsigned kSlots = 64;  // threads of a PE that wait
  std::atomic<std::uint64_t> used;        // a bit for each slot
  Request slots[kSlots];
  Inbox inbox;
};

/// Of a frame; links and queue are the policy's.
struct Frame {
  std::atomic<std::uint64_t> page;                         // number plus one; 0: free
  std::atomic<std::uint8_t> touched;                       // since the policy has looked; one of k...
  std::atomic<std::uint32_t> held_to_read, held_to_write;  // times that programs have pinned the page
  std::atomic<std::uint32_t>& holds(Access access) {
    return access == Access::read ? held_to_read : held_to_write;
  }
  bool leaving;  // its page has asked to
  std::uint8_t queue;
  bool used;  // at any time; who takes the frame owns it
  FrameNumber prev, next;
};

/// By a thread of the node; not at all, but brought ahead of its use; by an operation of another node.
inline constexpr std::uint8_t kTouched = 1, kAhead = 2, kOperated = 3;

/// Head of a queue of frames: linked by `next` and `prev`.
struct FrameQueue {
  FrameNumber first, last, size;
};

struct PoolHead {
  SpinLock lock;                              // of the policy's queues; only pagers take it
  std::atomic<std::uint32_t> starving;        // pages that wait for a frame
  std::atomic<std::uint32_t> expected;        // frames that wait for a page that its home has been asked for
  std::atomic<std::uint32_t> held;            // frames that programs have pinned
  std::atomic<std::uint32_t> leaving;         // frames whose page has asked to leave
  std::uint32_t departures GUARDED_BY(lock);  // pages that have left
  std::uint32_t spared GUARDED_BY(lock);      // victims that could not leave, since the last that did
  FrameQueue free GUARDED_BY(lock), lru GUARDED_BY(lock), fifo GUARDED_BY(lock);
};

/// Sizes; the same on all PEs of the job.
struct PoolShape {
  std::size_t page_bytes;  // a power of two
  std::size_t frames;
  std::uint64_t segment_pages;  // of each PE
  int job_size;
  int node_size;

  std::size_t parts_at() const;
  std::size_t frame_table_at() const;
  std::size_t words_at() const;
  std::size_t frames_at() const;
  /// All of it.
  std::size_t bytes() const;
};

/// Where all this is mapped in this process.
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
  PePart& part(int place) const {
    return reinterpret_cast<PePart*>(base_ + shape_.parts_at())[static_cast<std::size_t>(place)];
  }
  Frame& frame(FrameNumber n) const { return table_[n]; }
  PageWord& word(PageNumber page) const { return words_[page]; }
  std::byte* bytes(FrameNumber n) const { return frames_ + (std::size_t{n} << page_shift_); }
  /// Where the frame begins, from the start of the pool.
  std::size_t offset(FrameNumber n) const { return static_cast<std::size_t>(bytes(n) - base_); }

  PageNumber number(int pe, std::uint64_t offset) const {
    return static_cast<std::uint64_t>(pe) * shape_.segment_pages + (offset >> page_shift_);
  }
  int pe_of(PageNumber page) const { return static_cast<int>(page / shape_.segment_pages); }
  std::uint64_t offset_of(PageNumber page) const { return page % shape_.segment_pages * shape_.page_bytes; }

  /// By the node's first PE, before any other uses the pool: all frames are free.
  void prepare() const;

  /// Puts huge pages below a frame that was never used, and those behind it, if the system has some.  What
  /// is in them stays.
  void lay_out(FrameNumber n) const;

 private:
  // What every operation needs is worked out once.
  std::byte* base_;
  Frame* table_;
  PageWord* words_;
  std::byte* frames_;
  unsigned page_shift_;
  PoolShape shape_;
};

/// A slot of a PE, held while a thread waits.  Async-signal-safe.
class Ticket {
 public:
  /// Waits for a slot to get free where all are taken.
  Ticket(const Pool& pool, int place);
  ~Ticket();
  Ticket(const Ticket&) = delete;
  Ticket& operator=(const Ticket&) = delete;

  Request& request() const { return part_.slots[slot_]; }
  /// Hands the request to the pager at `to`.
  void post(int to) const;
  bool done() const { return request().state.load(std::memory_order_acquire) == Request::kDone; }
  /// Polls for a little; returns whether it is done.
  bool poll() const;
  /// Polls for a little, then sleeps until done.
  void wait() const;

 private:
  const Pool& pool_;
  PePart& part_;
  int place_;
  unsigned slot_;
};

/// By a pager: the answer is there.
void complete(Request& request);

}  // namespace shm::nvm
