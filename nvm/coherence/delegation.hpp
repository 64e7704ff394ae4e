// SPDX-License-Identifier: BSD-3-Clause
// When a page that is elsewhere should come here for work that its owner could do as well: work of several
// steps, such as an operation on a table of shmemx_kv.
//
// At first when the requests that were sent to the owner have cost about as much as bringing the page would
// have.  A page that had to leave again before so much work was done with it here is in use elsewhere: the
// next time it takes twice as many requests.  So who alone works with a page soon has it, and those who work
// with it in turn leave it where it is.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "nvm/coherence/migration.hpp"
#include "nvm/pages.hpp"
#include "pages/page_word.hpp"

namespace shm::nvm {

/// Thread safety: any thread; threads that meet in a row may lose a count.
class DelegationPolicy {
 public:
  /// Another piece of work with a page that is not here.  Returns whether the page should come: then the
  /// caller brings it, and says so.
  bool should_bring(PageNumber page, std::size_t page_bytes) {
    const auto least = static_cast<std::uint32_t>(page_bytes / kMessageCost + 1);
    Row& row = row_for(page);
    if (row.page.load(std::memory_order_relaxed) != page) {
      row.page.store(page, std::memory_order_relaxed);
      row.limit.store(least, std::memory_order_relaxed);
      row.enter(Place::elsewhere);
    }
    std::uint32_t limit = row.limit.load(std::memory_order_relaxed);
    const Place place = row.place.load(std::memory_order_relaxed);
    if (place == Place::coming) return false;
    if (place == Place::here) {  // it was, and has left
      const bool paid = row.works.load(std::memory_order_relaxed) >= limit;
      limit = paid ? least : std::min(2 * limit, kMostTimes * least);
      row.limit.store(limit, std::memory_order_relaxed);
      row.enter(Place::elsewhere);
    }
    if (bump(row.works) < limit) return false;
    row.enter(Place::coming);
    return true;
  }
  /// It has come.
  void note_arrival(PageNumber page) {
    Row& row = row_for(page);
    if (row.page.load(std::memory_order_relaxed) == page) row.enter(Place::here);
  }

  /// A piece of work with a page that is here, for whatever reason.
  void note_use(PageNumber page) {
    Row& row = row_for(page);
    if (row.page.load(std::memory_order_relaxed) == page &&
        row.place.load(std::memory_order_relaxed) == Place::here)
      bump(row.works);
  }

 private:
  static constexpr std::uint32_t kMostTimes = 16;
  static constexpr unsigned kRowBits = 12;

  static std::uint32_t bump(std::atomic<std::uint32_t>& works) {
    const std::uint32_t now = works.load(std::memory_order_relaxed) + 1;
    works.store(now, std::memory_order_relaxed);
    return now;
  }

  enum class Place : std::uint8_t { elsewhere, coming, here };
  struct Row {
    std::atomic<PageNumber> page{~PageNumber{0}};
    std::atomic<std::uint32_t> works{0};         // pieces of work since the page came, or since it left
    std::atomic<std::uint32_t> limit{0};         // as many bring the page, and pay for it
    std::atomic<Place> place{Place::elsewhere};  // here: it has been brought, and nobody has missed it since
    void enter(Place now) {
      works.store(0, std::memory_order_relaxed);
      place.store(now, std::memory_order_relaxed);
    }
  };
  Row& row_for(PageNumber page) { return rows_[row_of(page, kRowBits)]; }

  std::array<Row, std::size_t{1} << kRowBits> rows_;
};

}  // namespace shm::nvm
