// SPDX-License-Identifier: BSD-3-Clause
// Where the pages of LocalPages are kept while no frame has them, as an interface: pages that are moved,
// whole or in part, straight between a frame and that place.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>

#include "base/wait_report.hpp"
#include "pages/page_word.hpp"
#include "transports/net.hpp"

namespace shm::pages {

/// One page, or part of it, on its way between memory and where pages are kept: pieces that end in any order.
/// May be used again once it is done; lives until then.
/// Thread safety: one thread begins it; any may ask whether it is done.
class PageTransfer {
 public:
  static constexpr unsigned kMostPieces = 16;

  /// By the backing, before it posts the first of `pieces`.
  void begin(unsigned pieces) {
    for (unsigned i = 0; i < pieces; ++i) pieces_[i].reset();
    count_.store(pieces, std::memory_order_release);
  }
  Completion& piece(unsigned i) { return pieces_[i]; }
  /// What has been moved is seen by who gets true.
  bool done() const {
    const unsigned count = count_.load(std::memory_order_acquire);
    return std::all_of(pieces_.begin(), pieces_.begin() + count,
                       [](const Completion& piece) { return piece.done(); });
  }

 private:
  std::array<Completion, kMostPieces> pieces_;
  std::atomic<unsigned> count_{0};
};

/// Thread safety: any thread, also in a signal handler that has all signals blocked, so that it is not
/// interrupted by itself.  Nothing blocks; posting may poll while there is no room.  What cannot be moved
/// ends the job.
class Backing {
 public:
  virtual ~Backing() = default;

  /// Fetches n bytes at `within` of `page`.  REQUIRES: they have been written, in whatever parts.
  virtual void read(PageNumber page, std::size_t within, std::byte* into, std::size_t n, PageTransfer&) = 0;
  /// Stores them.  REQUIRES: no transfer of that page is under way, unless both read.
  virtual void write(PageNumber page, std::size_t within, const std::byte* from, std::size_t n,
                     PageTransfer&) = 0;

  /// Makes progress once; returns whether anything happened.  False at once if another thread polls.
  virtual bool poll() = 0;
  /// Called now and then by who waits for a transfer that was posted at `since`: may end the job, naming who
  /// is silent.  `watch`: of that thread's wait.
  virtual void waits(const PageTransfer&, std::chrono::steady_clock::time_point /*since*/, WaitWatch&) {}
};

}  // namespace shm::pages
