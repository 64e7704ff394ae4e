// SPDX-License-Identifier: BSD-3-Clause
// When a page that is elsewhere should come here: when the small operations that were sent after it have cost
// about as much as bringing it would have.  Not while other nodes use it too, unless this one does nothing
// else: who puts a byte now and then had better leave it where it is, who puts one after the other gains by
// every moment that the page is here.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "nvm/pages.hpp"
#include "pages/pool.hpp"

namespace shm::nvm {

/// The row of a page in a table of 2^bits: pages at the same place of several segments, which lie at
/// multiples of large powers of two, have different ones.
constexpr std::size_t row_of(PageNumber page, unsigned bits) {
  return page * 0x9e3779b97f4a7c15U >> (64 - bits);
}

/// What a message costs beside its bytes, in bytes of a page that travels: 20 us beside 1 GB/s.
inline constexpr std::uint32_t kMessageCost = 16384;
/// The same of an operation that shares a message with others: half a microsecond.
inline constexpr std::uint32_t kRecordCost = 512;

/// Of one thread: whether its program does other things than operations on pages that are elsewhere.  It does
/// if it takes long from the end of one to the next.  What an operation takes is no part of that, nor what is
/// waited for it: where PEs share a core, an answer says nothing of when the thread runs again.
class ProgramPace {
 public:
  using Clock = std::chrono::steady_clock;

  /// The next operation begins.  Returns whether there was a pause before it.
  bool begins(Clock::time_point now = Clock::now()) {
    const bool rested = now - last_end_ > kPause;
    last_end_ = now;
    completed_ = false;
    in_quiet_ = false;
    return rested;
  }
  /// A call returns that may have sent some, or, `completed`, has waited for all.
  void ends(bool completed) {
    if (!completed_) ends(completed, Clock::now());
  }
  void ends(bool completed, Clock::time_point now) {
    last_end_ = now;
    completed_ = completed;
  }
  /// A quiet that waits for all, and its return, which may be later: what it waits for beside operations on
  /// pages is no pause either.
  void quiet_begins() { in_quiet_ = in_quiet_ || !completed_; }
  void quiet_ends(Clock::time_point now = Clock::now()) {
    if (in_quiet_) ends(true, now);
    in_quiet_ = false;
  }

 private:
  static constexpr auto kPause = std::chrono::microseconds(5);
  Clock::time_point last_end_;
  bool completed_ = true;
  bool in_quiet_ = false;  // which had something to wait for
};

/// Thread safety: any thread; threads that meet in a row may lose a charge.
class MigrationPolicy {
 public:
  static constexpr unsigned kRowBits = 9;

  /// Charges an operation of n bytes on a page that is not here.  `rested`: the program did other things
  /// before it.  Returns whether the page should come.
  bool charge_operation(PageNumber page, std::size_t n, std::size_t page_bytes, bool rested,
                        std::uint32_t cost = kMessageCost) {
    Row& row = rows_[row_of(page, kRowBits)];
    if (row.page.load(std::memory_order_relaxed) != page) {
      row.page.store(page, std::memory_order_relaxed);
      row.charge.store(0, std::memory_order_relaxed);
      row.contended.store(false, std::memory_order_relaxed);
    }
    const bool leave_it = rested && row.contended.load(std::memory_order_relaxed);
    const std::uint32_t before = leave_it ? 0 : row.charge.load(std::memory_order_relaxed);
    const std::uint32_t charge = before + static_cast<std::uint32_t>(n) + cost;
    const bool pays = charge >= page_bytes + kMessageCost;
    row.charge.store(pays ? 0 : charge, std::memory_order_relaxed);
    return pays;
  }

  /// The last operation has been applied, and others use the page too, or not.
  void learn(PageNumber page, bool contended) {
    Row& row = rows_[row_of(page, kRowBits)];
    if (row.page.load(std::memory_order_relaxed) == page)
      row.contended.store(contended, std::memory_order_relaxed);
  }

 private:
  struct Row {
    std::atomic<PageNumber> page;
    std::atomic<std::uint32_t> charge;
    std::atomic<bool> contended;  // as the last answer said
  };
  std::array<Row, std::size_t{1} << kRowBits> rows_{};
};

}  // namespace shm::nvm
