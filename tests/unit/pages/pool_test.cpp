// SPDX-License-Identifier: BSD-3-Clause
#include "pages/pool.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <barrier>
#include <deque>
#include <thread>
#include <vector>

#include "pool_fixture.hpp"

namespace shm::pages {
namespace {

using enum PageState;
using Clock = std::chrono::steady_clock;

constexpr PageState kStates[] = {invalid, shared, owned, exclusive, modified};

constexpr FrameNumber kFrame = 7;

TEST(PageWord, BeginsAsNothing) {
  PageWord word{};
  EXPECT_EQ(word.state(), invalid);
  EXPECT_FALSE(word.latched());
  EXPECT_EQ(word.latch(Access::read), kNoFrame);
  EXPECT_EQ(word.latch(Access::write), kNoFrame);
  EXPECT_FALSE(word.latched()) << "a latch that was not given counts";
}

TEST(PageWord, GivesLatchesAsTheStatePermits) {
  for (const PageState state : kStates) {
    SCOPED_TRACE(static_cast<int>(state));
    PageWord word{};
    word.open(state, kFrame);
    const bool readable = state != invalid;
    EXPECT_EQ(word.latch(Access::read), readable ? kFrame : kNoFrame);
    EXPECT_EQ(word.latched(), readable);
    EXPECT_EQ(word.state(), state) << "a read changes nothing";
    if (readable) word.unlatch();
    EXPECT_FALSE(word.latched());
    const bool writable = state == exclusive || state == modified;
    EXPECT_EQ(word.latch(Access::write), writable ? kFrame : kNoFrame);
    EXPECT_EQ(word.latched(), writable);
    EXPECT_EQ(word.state(), writable ? modified : state);
    if (writable) word.unlatch();
    EXPECT_EQ(word.state(), writable ? modified : state) << "what is written stays so";
    EXPECT_EQ(word.frame(), kFrame);
  }
}

TEST(PageWord, GivesNoLatchesWhileItIsClosed) {
  for (const PageState state : kStates) {
    SCOPED_TRACE(static_cast<int>(state));
    PageWord word{};
    word.open(state, kFrame);
    EXPECT_TRUE(word.close());
    EXPECT_EQ(word.latch(Access::read), kNoFrame);
    EXPECT_EQ(word.latch(Access::write), kNoFrame);
    EXPECT_FALSE(word.latched());
    EXPECT_EQ(word.state(), state) << "a closed page is told from a dirty one by its state";
    EXPECT_EQ(word.frame(), kFrame);
    word.reopen();
    EXPECT_EQ(word.state(), state);
    EXPECT_EQ(word.latch(Access::read), state == invalid ? kNoFrame : kFrame);
  }
}

TEST(PageWord, KeepsItsLatchesWhileItIsClosed) {
  PageWord word{};
  word.open(exclusive, kFrame);
  EXPECT_EQ(word.latch(Access::read), kFrame);
  EXPECT_EQ(word.latch(Access::write), kFrame);
  EXPECT_FALSE(word.close());
  EXPECT_FALSE(word.close()) << "again";
  word.unlatch();
  EXPECT_FALSE(word.close()) << "one is left";
  EXPECT_TRUE(word.latched());
  word.reopen();
  EXPECT_EQ(word.latch(Access::read), kFrame);
  word.unlatch();
  EXPECT_FALSE(word.close());
  word.unlatch();
  EXPECT_FALSE(word.latched());
  EXPECT_TRUE(word.close()) << "all latches are gone";
  EXPECT_EQ(word.state(), modified);
  EXPECT_EQ(word.frame(), kFrame);
}

TEST(PageWord, ForgetsAllWhenItIsCleared) {
  PageWord word{};
  word.open(modified, kFrame);
  EXPECT_TRUE(word.close());
  word.clear();
  EXPECT_EQ(word.state(), invalid);
  EXPECT_EQ(word.latch(Access::read), kNoFrame);
  word.open(exclusive, 3);
  EXPECT_EQ(word.state(), exclusive);
  EXPECT_EQ(word.latch(Access::read), 3U) << "it is not closed any more";
}

TEST(PageWord, OpensWithLatchesForThoseWhoWait) {
  PageWord word{};
  word.open(exclusive, 5, 3);
  for (int left = 3; left > 0; --left) {
    EXPECT_FALSE(word.close());
    word.reopen();
    word.unlatch();
  }
  EXPECT_TRUE(word.close());
}

TEST(PageWord, HoldsAnyFrameAndManyLatches) {
  PageWord word{};
  word.open(exclusive, kNoFrame - 1);
  constexpr int kMany = 100000;
  for (int i = 0; i < kMany; ++i) ASSERT_EQ(word.latch(Access::write), kNoFrame - 1);
  EXPECT_EQ(word.state(), modified);
  for (int i = 0; i < kMany; ++i) {
    ASSERT_TRUE(word.latched());
    word.unlatch();
  }
  EXPECT_FALSE(word.latched());
  EXPECT_EQ(word.frame(), kNoFrame - 1);
}

// Threads copy to and from pages while another takes them from their frames and brings them back elsewhere,
// as a pager does.  A frame that is not a page's is poisoned; a page that is not dirty is not saved.
class Eviction {
 public:
  static constexpr unsigned kThreads = 3, kPages = 4, kFrames = 6;
  static constexpr int kLatches = 20000;  // of each thread

  Eviction() {
    for (auto& frame : frames_) poison(frame);
    for (unsigned page = 0; page < kPages; ++page) load(page, page);
    for (unsigned frame = kPages; frame < kFrames; ++frame) free_.push_back(frame);
  }

  void run() {
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < kThreads; ++t) threads.emplace_back([this, t] { use(t); });
    await("threads", [&] { return started_.load() == kThreads; });
    const auto limit = Clock::now() + std::chrono::seconds(2);
    for (unsigned page = 0; ended_.load() < kThreads; ++page) {
      evict(page % kPages);
      if (Clock::now() > limit) stop_.store(true);
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_FALSE(broken_.load()) << "a latched frame was taken away";
    EXPECT_GT(evictions_, 0);
    for (unsigned page = 0; page < kPages; ++page) {
      EXPECT_FALSE(words_[page].latched()) << page;
      for (unsigned t = 0; t < kThreads; ++t)
        EXPECT_EQ(frames_[words_[page].frame()].counts[t], counts_[t][page]) << page;
    }
  }

 private:
  struct Content {
    volatile std::uint64_t tag;  // of the page
    volatile std::uint64_t counts[kThreads];
  };
  static constexpr std::uint64_t kPoison = 0xdead;

  static void poison(Content& frame) {
    frame.tag = kPoison;
    for (auto& count : frame.counts) count = kPoison;
  }

  void load(unsigned page, FrameNumber frame) {
    frames_[frame].tag = page;
    for (unsigned t = 0; t < kThreads; ++t) frames_[frame].counts[t] = saved_[page][t];
    words_[page].open(exclusive, frame);
  }

  void evict(unsigned page) {
    PageWord& word = words_[page];
    if (!word.close()) return void(word.reopen());
    const FrameNumber frame = word.frame();
    if (word.state() == modified) {
      for (unsigned t = 0; t < kThreads; ++t) saved_[page][t] = frames_[frame].counts[t];
    }
    poison(frames_[frame]);
    word.clear();
    free_.push_back(frame);
    load(page, free_.front());
    free_.pop_front();
    ++evictions_;
  }

  // What thread t does: only it writes counts[t] of a page.
  void use(unsigned t) {
    std::minstd_rand random(t + 1);
    started_.fetch_add(1);
    for (int latches = 0; latches < kLatches && !stop_.load(std::memory_order_relaxed); ++latches) {
      const auto page = static_cast<unsigned>(random() / 16 % kPages);
      const bool writes = random() / 16 % 4 == 0;
      const FrameNumber frame = words_[page].latch(writes ? Access::write : Access::read);
      if (frame == kNoFrame) {
        sched_yield();
        continue;
      }
      for (int looks = 0; looks < 20; ++looks) {
        if (frames_[frame].tag != page || frames_[frame].counts[t] != counts_[t][page]) broken_.store(true);
      }
      if (writes) frames_[frame].counts[t] = ++counts_[t][page];
      words_[page].unlatch();
      if (random() / 16 % 8 == 0) sched_yield();
    }
    ended_.fetch_add(1);
  }

  std::array<PageWord, kPages> words_{};
  std::array<Content, kFrames> frames_{};
  std::deque<FrameNumber> free_;
  std::uint64_t saved_[kPages][kThreads] = {};
  std::uint64_t counts_[kThreads][kPages] = {};  // what should be there
  int evictions_ = 0;
  std::atomic<unsigned> started_{0}, ended_{0};
  std::atomic<bool> stop_{false}, broken_{false};
};

TEST(PageWord, NoFrameIsTakenFromThoseWhoHaveItLatched) { Eviction().run(); }

TEST(Pool, ItsPartsDoNotOverlap) {
  const PoolShape shape{std::size_t{64} << 10, 37, 1001, 6, 3};
  EXPECT_GE(shape.requests_at(), sizeof(PoolHead));
  EXPECT_GE(shape.frame_table_at(), shape.requests_at() + 3 * sizeof(PeRequests));
  EXPECT_GE(shape.words_at(), shape.frame_table_at() + 37 * sizeof(Frame));
  EXPECT_GE(shape.frames_at(), shape.words_at() + std::size_t{6} * 1001 * sizeof(PageWord));
  EXPECT_EQ(shape.frames_at() % shape.page_bytes, 0U) << "O_DIRECT and mmap";
  EXPECT_GE(shape.bytes(), shape.frames_at() + 37 * shape.page_bytes);
}

TEST(Pool, NumbersPagesAcrossTheSegmentsOfTheJob) {
  const PoolShape shape{kPageBytes, 16, 64, 3, 1};
  const Pool pool(nullptr, shape);
  EXPECT_EQ(pool.number(0, 0), 0U);
  EXPECT_EQ(pool.number(0, 64 * kPageBytes - 1), 63U);
  EXPECT_EQ(pool.number(2, 5 * kPageBytes + 17), 2U * 64 + 5);
  EXPECT_EQ(pool.pe_of(2 * 64 + 5), 2);
  EXPECT_EQ(pool.offset_of(2 * 64 + 5), 5 * kPageBytes);
}

// Who takes a frame has its group laid out, and the one behind it: each group once, whoever asks.
TEST(Pool, ClaimsEachGroupOfFramesOnce) {
  constexpr std::size_t kPage = std::size_t{1} << 20,
                        kFrames = 100;  // three groups of 32 frames, and 4 frames
  const PoolShape shape{kPage, kFrames, 1, 1, 1};
  std::vector<std::byte> memory(shape.frames_at());  // no frame is touched
  const Pool pool(memory.data(), shape);
  ASSERT_EQ(pool.groups(), 4u);
  EXPECT_EQ(pool.claim_group(0), 0u);
  EXPECT_EQ(pool.claim_group(0), 1u);
  EXPECT_EQ(pool.claim_group(31), std::nullopt);
  EXPECT_EQ(pool.claim_group(32), 2u);
  EXPECT_EQ(pool.claim_group(63), std::nullopt);
  EXPECT_EQ(pool.claim_group(99), 3u);
  EXPECT_EQ(pool.claim_group(99), std::nullopt) << "there is none behind it";
}

TEST(Pool, ThreadsClaimDifferentGroups) {
  constexpr std::size_t kPage = std::size_t{32} << 20, kFrames = 20000;  // a group each
  const PoolShape shape{kPage, kFrames, 1, 1, 1};
  std::vector<std::byte> memory(shape.frames_at());
  const Pool pool(memory.data(), shape);
  constexpr int kThreads = 2, kRounds = 20;
  std::vector<std::atomic<int>> claims(kFrames);
  std::barrier round(kThreads, [&pool]() noexcept { pool.head().groups_claimed = 0; });
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kRounds; ++i) {
        round.arrive_and_wait();
        while (const auto group = pool.claim_group(kFrames - 1)) ++claims[*group];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::atomic<int>& times : claims) EXPECT_EQ(times, kRounds);
}

}  // namespace
}  // namespace shm::pages
