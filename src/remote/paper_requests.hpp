// SPDX-License-Identifier: BSD-3-Clause
// Faults on their way through the paper's protocols (paper_pages.hpp): requests, and their queues.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/mutex.hpp"
#include "base/spin.hpp"
#include "pages/futex.hpp"
#include "pages/page_word.hpp"
#include "pages/swap_stages.hpp"

namespace shm::remote {

using pages::SwapPoint;

/// A page that a thread waits for.  Lies on that thread's stack.
struct SwapRequest {
  explicit SwapRequest(pages::PageNumber number) : page(number) { note(SwapPoint::fault); }
  void note(SwapPoint point) { times.note(point); }
  void wait() {
    while (done.load(std::memory_order_acquire) == 0) pages::futex_wait(done, 0);
  }
  /// It is not used any more by who calls this.
  void finish() {
    done.store(1, std::memory_order_release);
    pages::futex_wake(done);  // may wake somebody else by now, for nothing
  }

  const pages::PageNumber page;
  pages::SwapTimes times;
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
