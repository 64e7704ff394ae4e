// SPDX-License-Identifier: BSD-3-Clause
// Where pages are kept in the tests of LocalPages: in memory of the test, which takes its time.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "pages/backing.hpp"
#include "pages/copy.hpp"

namespace shm::pages {

/// Moves a piece of what was posted at a poll, any piece, or none.
class MemoryBacking final : public Backing {
 public:
  MemoryBacking(std::size_t page_bytes, std::size_t pages, std::uint64_t seed)
      : page_bytes_(page_bytes),
        bytes_(page_bytes * pages),
        written_(page_bytes * pages / kGrain),
        dice_(seed) {
    posted_.reserve(kMostPosted);
  }

  void read(PageNumber page, std::size_t within, std::byte* into, std::size_t n, Completion& done) override {
    post(page, within, into, nullptr, n, done);
  }
  void write(PageNumber page, std::size_t within, const std::byte* from, std::size_t n,
             Completion& done) override {
    post(page, within, nullptr, from, n, done);
  }
  bool poll() override {
    EXPECT_NE(std::this_thread::get_id(), refuses.load()) << "uses the network";
    const std::unique_lock guard(polling_, std::try_to_lock);
    if (!guard) return false;
    ++polls;
    if (holds) return false;
    return move_one();
  }
  void waits(std::chrono::steady_clock::time_point since, WaitWatch&) override {
    EXPECT_LE(since, std::chrono::steady_clock::now());
    ++looks;
  }

  std::size_t under_way() {
    const std::scoped_lock guard(mutex_);
    return posted_.size();
  }
  std::uint64_t word(PageNumber page, std::size_t i = 0) const {
    std::uint64_t value;
    std::memcpy(&value, &bytes_[page * page_bytes_ + i * sizeof value], sizeof value);
    return value;
  }

  std::atomic<bool> holds{false};                           // moves nothing
  std::atomic<std::thread::id> refuses{std::thread::id()};  // must not post, or poll
  std::atomic<unsigned> most_reads{0};                      // that were under way at a time
  std::atomic<std::uint64_t> reads{0}, writes{0}, polls{0}, looks{0};
  unsigned idle = 2;  // of so many polls one moves something

 private:
  static constexpr std::size_t kGrain = 8;
  static constexpr std::size_t kMostPosted = 256;  // without new memory, as it is called in signal handlers
  struct Piece {
    PageNumber page;
    std::size_t at, n;
    std::byte* into;
    const std::byte* from;
    Completion* done;
  };

  // Differs from call to call; no more is needed.
  unsigned next_dice() { return static_cast<unsigned>(posts_.fetch_add(1) * 2654435761U >> 7); }

  void post(PageNumber page, std::size_t within, std::byte* into, const std::byte* from, std::size_t n,
            Completion& done) {
    EXPECT_NE(std::this_thread::get_id(), refuses.load()) << "uses the network";
    // There may be no room.
    for (unsigned polls = next_dice() % 4; polls > 1; --polls) static_cast<void>(poll());
    const std::scoped_lock guard(mutex_);
    ASSERT_LE(within + n, page_bytes_);
    ++(into != nullptr ? reads : writes);
    for (const Piece& other : posted_) {
      if (other.page == page && !(into != nullptr && other.into != nullptr))
        ADD_FAILURE() << "page " << page << " is moved twice at the same time";
    }
    const unsigned pieces = 1 + dice_() % 3;
    ASSERT_LE(posted_.size() + pieces, kMostPosted);
    std::size_t at = 0;
    for (unsigned i = 0; i < pieces; ++i) {
      const std::size_t end = i + 1 == pieces ? n : std::min(n, at + n / pieces / kGrain * kGrain);
      posted_.push_back({page, page * page_bytes_ + within + at, end - at,
                         into == nullptr ? nullptr : into + at, from == nullptr ? nullptr : from + at,
                         &done});
      at = end;
    }
    unsigned reading = 0;
    PageNumber last = ~PageNumber{0};
    for (const Piece& each : posted_) {
      if (each.into != nullptr && each.page != last) ++reading, last = each.page;
    }
    most_reads = std::max(most_reads.load(), reading);
  }

  bool move_one() {
    const std::scoped_lock guard(mutex_);
    if (posted_.empty() || dice_() % idle != 0) return false;
    const auto chosen = posted_.begin() + static_cast<std::ptrdiff_t>(dice_() % posted_.size());
    const Piece piece = *chosen;
    posted_.erase(chosen);
    if (piece.n != 0 && piece.into != nullptr) {
      EXPECT_TRUE(std::all_of(written_.begin() + static_cast<std::ptrdiff_t>(piece.at / kGrain),
                              written_.begin() + static_cast<std::ptrdiff_t>((piece.at + piece.n) / kGrain),
                              [](bool written) { return written; }))
          << "page " << piece.page << " is read, and was never written";
      copy_in(piece.into, &bytes_[piece.at], piece.n);
    } else if (piece.n != 0) {
      copy_out(&bytes_[piece.at], piece.from, piece.n);
      std::fill_n(written_.begin() + static_cast<std::ptrdiff_t>(piece.at / kGrain), piece.n / kGrain, true);
    }
    if (std::ranges::find(posted_, piece.done, &Piece::done) == posted_.end()) piece.done->set_done();
    return true;
  }

  const std::size_t page_bytes_;
  std::mutex mutex_, polling_;
  std::vector<Piece> posted_;
  std::vector<std::byte> bytes_;
  std::vector<bool> written_;  // by words
  std::mt19937_64 dice_;
  std::atomic<std::uint32_t> posts_{0};
};

}  // namespace shm::pages
