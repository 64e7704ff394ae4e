// SPDX-License-Identifier: BSD-3-Clause
// Faults on their way through the paper's protocols (paper_pages.hpp): requests, their queues, and when each
// of them has come how far.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "base/mutex.hpp"
#include "base/spin.hpp"
#include "pages/futex.hpp"
#include "pages/page_word.hpp"

namespace shm::remote {

/// The points in time that the paper measures, its A1 to A6.
enum class SwapPoint : std::uint8_t {
  fault,
  taken,     // by the com-thread, from the internal queue
  received,  // R77: is about to be
  applied,   // begins to be: the request is taken from the external queue.  R3, R77: is `received`
  resumed,   // the user threads are
  complete,  // the thread that has faulted goes on
};
inline constexpr std::size_t kSwapPoints = 6;

/// How long swaps have taken from each point to the next.  Thread safety: any thread.
class SwapStages {
 public:
  using Clock = std::chrono::steady_clock;
  using Times = std::array<Clock::time_point, kSwapPoints>;
  static constexpr std::size_t kStages = kSwapPoints - 1;

  void add(const Times& times) {
    for (std::size_t i = 0; i < kStages; ++i)
      sums_[i].fetch_add((times[i + 1] - times[i]).count(), std::memory_order_relaxed);
    swaps_.fetch_add(1, std::memory_order_release);
  }
  std::uint64_t swaps() const { return swaps_.load(std::memory_order_acquire); }
  /// Of the stage that begins with that point: microseconds.  0 if there was no swap.
  double mean(std::size_t stage) const {
    const Clock::duration sum(sums_[stage].load(std::memory_order_relaxed));
    const auto swaps = static_cast<double>(swaps_.load(std::memory_order_acquire));
    return swaps == 0 ? 0 : std::chrono::duration<double, std::micro>(sum).count() / swaps;
  }

 private:
  std::array<std::atomic<Clock::rep>, kStages> sums_{};
  std::atomic<std::uint64_t> swaps_{0};
};

/// A page that a thread waits for.  Lies on that thread's stack.
struct SwapRequest {
  explicit SwapRequest(pages::PageNumber number) : page(number) { note(SwapPoint::fault); }
  void note(SwapPoint point) { times[static_cast<std::size_t>(point)] = SwapStages::Clock::now(); }
  SwapStages::Clock::time_point taken_at() const { return times[static_cast<std::size_t>(SwapPoint::taken)]; }
  void wait() {
    while (done.load(std::memory_order_acquire) == 0) pages::futex_wait(done, 0);
  }
  /// It is not used any more by who calls this.
  void finish() {
    done.store(1, std::memory_order_release);
    pages::futex_wake(done);  // may wake somebody else by now, for nothing
  }

  const pages::PageNumber page;
  SwapStages::Times times;
  std::size_t buffer = 0;  // R58: that it has been received in
  std::atomic<std::uint32_t> done{0};
  SwapRequest* next = nullptr;  // in the queue that it is in
};

/// First in, first out.  Thread safety: any thread that takes no signals.  Async-signal-safe.
class SwapQueue {
 public:
  void push(SwapRequest& request) {
    const LockGuard guard(lock_);
    request.next = nullptr;
    SwapRequest** end = &first_;
    while (*end != nullptr) end = &(*end)->next;
    *end = &request;
  }
  /// Null if there is none.
  SwapRequest* pop() {
    const LockGuard guard(lock_);
    return first_ == nullptr ? nullptr : unlink(&first_);
  }
  /// The one for that page, or null.
  SwapRequest* take(pages::PageNumber page) {
    const LockGuard guard(lock_);
    SwapRequest** link = &first_;
    while (*link != nullptr && (*link)->page != page) link = &(*link)->next;
    return *link == nullptr ? nullptr : unlink(link);
  }
  /// That pop() would return.
  const SwapRequest* first() {
    const LockGuard guard(lock_);
    return first_;
  }

 private:
  static SwapRequest* unlink(SwapRequest** link) {
    SwapRequest* request = *link;
    *link = request->next;
    return request;
  }

  SpinLock lock_;
  SwapRequest* first_ = nullptr;  // there are no more than threads
};

/// What a thread sleeps on that has nothing to do.
class SwapBell {
 public:
  std::uint32_t rings() const { return rings_.load(std::memory_order_acquire); }
  void ring() {
    rings_.fetch_add(1, std::memory_order_release);
    pages::futex_wake(rings_);
  }
  /// Until it has rung since rings() was `heard`.  May return early.
  void wait(std::uint32_t heard) { pages::futex_wait(rings_, heard); }

 private:
  std::atomic<std::uint32_t> rings_{0};
};

}  // namespace shm::remote
