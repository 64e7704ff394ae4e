// SPDX-License-Identifier: BSD-3-Clause
#include "nvm/pool.hpp"

#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <ctime>

#include "base/mutex.hpp"
#include "heap/node_memory.hpp"

namespace shm::nvm {
namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kHuge = std::size_t{2} << 20;
constexpr std::size_t kLaidOut = std::size_t{32} << 20;
constexpr int kPollsBeforeSleep = 200;

// Not private: PEs are processes.
void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t value, long microseconds) {
  const timespec limit{microseconds / 1'000'000, microseconds % 1'000'000 * 1000};
  syscall(SYS_futex, &word, FUTEX_WAIT, value, microseconds < 0 ? nullptr : &limit, nullptr, 0);
}
void futex_wake(std::atomic<std::uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE, 1 << 30, nullptr, nullptr, 0);
}

}  // namespace

std::size_t PoolShape::parts_at() const { return round_up(sizeof(PoolHead), kLine); }
std::size_t PoolShape::frame_table_at() const {
  return round_up(parts_at() + sizeof(PePart) * static_cast<std::size_t>(node_size), kLine);
}
std::size_t PoolShape::words_at() const { return round_up(frame_table_at() + sizeof(Frame) * frames, kLine); }
std::size_t PoolShape::frames_at() const {
  return round_up(words_at() + sizeof(PageWord) * segment_pages * static_cast<std::size_t>(job_size), kHuge);
}
std::size_t PoolShape::bytes() const { return round_up(frames_at() + frames * page_bytes, kHuge); }

void Inbox::post(Request& request, RequestId id) {
  request.next = requests_.load(std::memory_order_relaxed);
  // Release: who takes the request sees what it asks for.  All are taken at once, so none comes back in
  // between.
  while (!requests_.compare_exchange_weak(request.next, id, std::memory_order_release,
                                          std::memory_order_relaxed)) {
  }
  ring();
}

bool Inbox::post_note(const Note& note) {
  std::uint64_t at = tail_.load(std::memory_order_relaxed);
  for (;;) {
    Cell& cell = cells_[at % kNotes];
    const std::uint64_t turn = cell.turn.load(std::memory_order_acquire);
    if (turn != at / kNotes * 2) {
      if (turn < at / kNotes * 2) return false;  // not emptied yet
      at = tail_.load(std::memory_order_relaxed);
    } else if (tail_.compare_exchange_weak(at, at + 1, std::memory_order_relaxed)) {
      cell.note = note;
      cell.turn.store(turn + 1, std::memory_order_release);
      break;
    }
  }
  ring();
  return true;
}

bool Inbox::take_note(Note& note) {
  Cell& cell = cells_[head_ % kNotes];
  if (cell.turn.load(std::memory_order_acquire) != head_ / kNotes * 2 + 1) return false;
  note = cell.note;
  cell.turn.store((head_ / kNotes + 1) * 2, std::memory_order_release);
  ++head_;
  return true;
}

bool Inbox::empty() const {
  return requests_.load(std::memory_order_acquire) == 0 &&
         cells_[head_ % kNotes].turn.load(std::memory_order_acquire) != head_ / kNotes * 2 + 1;
}

void Inbox::ring() {
  bell_.fetch_add(1, std::memory_order_seq_cst);  // before the look: pairs with sleep()
  if (asleep_.load(std::memory_order_seq_cst) != 0) futex_wake(bell_);
}

std::uint32_t Inbox::listen() {
  asleep_.store(1, std::memory_order_seq_cst);
  return bell_.load(std::memory_order_seq_cst);
}

void Inbox::sleep(std::uint32_t mark, long microseconds) { futex_wait(bell_, mark, microseconds); }

void Pool::prepare() const {
  FrameQueue& free = head().free;
  const LockGuard guard(head().lock);
  head().lru = head().fifo = {kNoFrame, kNoFrame, 0};
  const auto frames = static_cast<FrameNumber>(shape_.frames);
  free = {0, frames - 1, frames};
  for (FrameNumber n = 0; n < frames; ++n) {
    frame(n).prev = n == 0 ? kNoFrame : n - 1;
    frame(n).next = n + 1 == frames ? kNoFrame : n + 1;
  }
}

// Devices move few large pieces of memory faster than many of 4 KiB.  This advice works whatever the system's
// setting for shared memory is, where there is something already; Linux has it since 6.1.  It waits for all
// cores, however much it is for, so it is given for some dozen megabytes at a time.
void Pool::lay_out(FrameNumber n) const {
#ifndef MADV_COLLAPSE
  constexpr int MADV_COLLAPSE = 25;
#endif
  const std::size_t first = n * shape_.page_bytes, group = std::max(kLaidOut, shape_.page_bytes);
  if (first % group >= shape_.page_bytes) return;
  const std::size_t end = std::min(first + group, shape_.frames * shape_.page_bytes);
  for (std::size_t at = first; at < end; at += kHuge)
    madvise(bytes(n) + (at - first), kHuge / 512, MADV_POPULATE_WRITE);
  madvise(bytes(n), round_up(end - first, kHuge), MADV_COLLAPSE);
}

Ticket::Ticket(const Pool& pool, int place) : pool_(pool), part_(pool.part(place)), place_(place) {
  std::uint64_t used = part_.used.load(std::memory_order_relaxed);
  for (;;) {
    slot_ = static_cast<unsigned>(std::countr_one(used));
    if (slot_ >= PePart::kSlots) {
      sched_yield();
      used = part_.used.load(std::memory_order_relaxed);
    } else if (part_.used.compare_exchange_weak(used, used | std::uint64_t{1} << slot_,
                                                std::memory_order_acquire)) {
      return;
    }
  }
}

Ticket::~Ticket() {
  request().state.store(Request::kFree, std::memory_order_relaxed);
  part_.used.fetch_and(~(std::uint64_t{1} << slot_), std::memory_order_release);
}

void Ticket::post(int to) const {
  request().state.store(Request::kPosted, std::memory_order_relaxed);
  pool_.part(to).inbox.post(request(), request_id(place_, slot_));
}

bool Ticket::poll() const {
  for (int polls = 0; polls < kPollsBeforeSleep && !done(); ++polls) sched_yield();
  return done();
}

void Ticket::wait() const {
  poll();
  while (!done()) futex_wait(request().state, Request::kPosted, -1);
}

void complete(Request& request) {
  request.state.store(Request::kDone, std::memory_order_release);
  futex_wake(request.state);
}

}  // namespace shm::nvm
