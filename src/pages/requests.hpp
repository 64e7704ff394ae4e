// SPDX-License-Identifier: BSD-3-Clause
// How threads of a node ask its pagers for pages, through memory that all its PEs share.
//
//   Ticket -> slot of the thread's PE -> RequestQueue of a pager -> complete() wakes the thread, if it sleeps
//   hint   ---------------------------> RequestQueue, and nobody waits
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "pages/page_word.hpp"

namespace shm::pages {

class Pool;

/// What a thread asks a pager for, and waits for.
struct alignas(64) PageRequest {
  enum class Kind : std::uint8_t {
    latch,  // the page, latched for the requester
    fill,   // as latch, to write all of the page; or, if it is not here, its frame, and the page is closed to
            // all others until the requester has filled that and said so (What::filled)
    map,    // the page in the address space of its PE
    pin,    // as map, and the page stays until the program unpins it; not latched
    own,    // the page, with the right to write, by its pager itself; kinds up to this one are for one page
    range,  // what `command` says, of the pages [page, last)
    rest,   // no more evictions; answered when nothing of the pager's is under way
  };
  // kAwaited: the thread sleeps, or is about to; above it which slots are meant (requests.cpp).
  enum State : std::uint32_t { kFree, kPosted, kDone, kAwaited };

  std::atomic<std::uint32_t> state;
  std::uint32_t next;  // in a RequestQueue: RequestId
  Kind kind;
  Access access;
  std::uint8_t command;             // of `range`: one of those that this kind of pager knows
  FrameNumber frame;                // the answer to `latch`, `fill` and `pin`
  bool unfilled;                    // the answer to `fill`: it is to be filled, and is not latched
  std::atomic<std::uint32_t> bell;  // a futex, rung for who sleeps until this request or others are done
  PageNumber page, last;
  void* object;          // that the command is about, in the process of the pager
  std::uint64_t number;  // that the command is about
  bool failed;           // the answer to a command; the pager has said why
  PageRange ahead;       // of `map`: what is to be brought behind the page
};

/// Which slot of which PE, plus one; 0: none.
using RequestId = std::uint32_t;
constexpr RequestId request_id(int node_rank, unsigned slot) {
  return (static_cast<unsigned>(node_rank) << 8 | slot) + 1;
}
constexpr int node_rank_of(RequestId id) { return static_cast<int>((id - 1) >> 8); }
constexpr unsigned slot_of(RequestId id) { return (id - 1) & 0xff; }

/// What a pager has been asked for: requests of any thread of the node, and hints.
class RequestQueue {
 public:
  static constexpr std::size_t kHints = 8192;

  /// Hands a request over, and wakes the pager, unless the caller goes on to make its rounds.
  /// Async-signal-safe: a thread that is interrupted at any point of it holds up nobody, not even its own
  /// handler.
  void post(PageRequest& request, RequestId id, bool wakes = true);
  /// By who makes a round of the pager: takes all, the newest first, linked by PageRequest::next; 0: none.
  RequestId take_requests() { return requests_.exchange(0, std::memory_order_acquire); }

  /// What a pager is told of a page, without waiting for it.
  enum class What : std::uint8_t {
    evict,   // by another pager: it is to leave
    used,    // by any thread: it was brought ahead of its use, and is used now
    bring,   // by any thread: it will be used, and `count` - 1 pages behind it, each `step` further
    begin,   // by any thread: it will be used, and then those behind it
    filled,  // by who was told to fill it
  };
  struct Hint {
    PageNumber page;
    What what;
    std::int16_t step = 1;
    std::uint32_t count = 1;
  };
  /// Returns false if there is no room.
  bool post_hint(const Hint& hint);
  /// By who makes a round of the pager: the next one.  Returns false if there is none.
  bool take_hint(Hint& hint);

  /// Whether a request has been posted that is not taken yet.  Any thread.
  bool requested() const { return requests_.load(std::memory_order_acquire) != 0; }
  /// Nor a hint.  By who makes a round.
  bool empty() const;
  /// By the pager's thread, which sleeps so:  mark = listen(); if (nothing to do) sleep(mark, limit); hear();
  /// It wakes when somebody has rung since listen(), or after `microseconds` (negative: no limit).
  std::uint32_t listen();
  void sleep(std::uint32_t mark, long microseconds);
  void hear() { asleep_.store(0, std::memory_order_relaxed); }
  /// Wakes the pager.
  void ring();

  /// Where the pager sleeps on a descriptor instead, an eventfd, as it waits for other things too: between
  /// listen() and hear() threads of its process write to it, and those of other processes wake who is in
  /// sleep() (a thread of the pager's own, which may sleep at any time).  Returns false if there are too many
  /// pagers in this process: then all do the latter.
  bool set_doorbell(int eventfd);
  void remove_doorbell();
  /// Wakes who is in sleep(), whatever the pager does.
  void wake_sleeper();
  std::uint32_t rings() const { return bell_.load(std::memory_order_seq_cst); }

 private:
  // A bounded queue with one reader (Vyukov's).
  struct HintCell {
    std::atomic<std::uint64_t> turn;  // times that it was filled and emptied
    Hint hint;
  };
  alignas(64) std::atomic<RequestId> requests_;
  alignas(64) std::atomic<std::uint64_t> tail_;
  alignas(64) std::uint64_t head_;
  std::atomic<std::uint32_t> bell_, asleep_;
  HintCell cells_[kHints];
};

/// What a PE has in the pool's memory: slots for its threads' requests, and the queue of its pager.
struct PeRequests {
  static constexpr unsigned kSlots = 64;  // threads of a PE that wait
  std::atomic<std::uint64_t> used;        // a bit for each slot
  PageRequest slots[kSlots];
  RequestQueue queue;
};

/// A slot of a PE, held while a thread waits.  Async-signal-safe.
class Ticket {
 public:
  /// What to do where all slots are taken.  Who has tickets already must not wait for one more.
  enum class IfNone : std::uint8_t { wait, give_up };
  Ticket(const Pool& pool, int node_rank, IfNone if_none = IfNone::wait);
  ~Ticket();
  Ticket(const Ticket&) = delete;
  Ticket& operator=(const Ticket&) = delete;

  /// Whether there is one: REQUIRED of all that follow.
  bool valid() const { return slot_ < PeRequests::kSlots; }
  PageRequest& request() const { return mine_.slots[slot_]; }
  /// Hands the request to the pager at `to`; see RequestQueue.
  void post(int to, bool wakes = true) const;
  bool done() const { return request().state.load(std::memory_order_acquire) == PageRequest::kDone; }
  /// Polls for a little; returns whether it is done.
  bool poll() const;
  /// Polls for a little, then sleeps until done.
  void wait() const;

  /// Sleeps until one of them is done, or so long.  REQUIRES: tickets of this thread, and of one PE.
  static void sleep(std::span<const Ticket* const> tickets, long microseconds);

 private:
  bool is_awaited_at(unsigned slot) const;
  void is_awaited_no_more() const;

  const Pool& pool_;
  PeRequests& mine_;
  int node_rank_;
  unsigned slot_;
};

/// By a pager: the answer is there.  A system call only if somebody sleeps.
void complete(PageRequest& request);

}  // namespace shm::pages
