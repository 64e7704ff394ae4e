// SPDX-License-Identifier: BSD-3-Clause
#include "record.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <thread>
#include <vector>

#include "timeline.hpp"

namespace observe {
namespace {

// Of one process: the size of the rings is that of the first test.
constexpr std::size_t kKept = 64;

class Records : public testing::Test {
 protected:
  Records() {
    prepare_records(kKept, 4);
    clear_records();
    mode = kEvents | kPairs;
  }
  ~Records() override { mode = kNothing; }
};

void make_events(std::uint64_t n, int pe = 1) {
  for (std::uint64_t i = 1; i <= n; ++i) record({i, i + 1}, 0, 8, pe, SHMEM_CTX_DEFAULT);
}

std::uint64_t all_kept() {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < lanes(); ++i) sum += lane(i).kept;
  return sum;
}

TEST_F(Records, TheOldestGoFirst) {
  make_events(kKept + 10);
  const Author author;
  const Timeline timeline(author);
  EXPECT_EQ(timeline.events(), kKept);
  EXPECT_EQ(timeline.dropped(), 10U);
  for (std::size_t i = 0; i < lanes(); ++i) {
    const Lane here = lane(i);
    if (here.kept == 0) continue;
    EXPECT_EQ(event_of(here, 0).begin, 11U);
    EXPECT_EQ(event_of(here, kKept - 1).begin, kKept + 10);
  }
}

TEST_F(Records, EachPeIsCounted) {
  make_events(3, 1);
  make_events(2, 3);
  make_events(2, 4);   // none of the job
  make_events(2, -1);  // nobody
  EXPECT_EQ(talk_to(0).operations, 0U);
  EXPECT_EQ(talk_to(1).operations, 3U);
  EXPECT_EQ(talk_to(3).bytes, 16U);
}

TEST_F(Records, AThreadTakesTheRingOfOneThatHasEnded) {
  for (int i = 0; i < 200; ++i) std::thread([] { make_events(1); }).join();
  EXPECT_LE(lanes(), 2U);
  EXPECT_EQ(lost_events(), 0U);
}

TEST_F(Records, MoreThreadsThanRingsLoseEventsAndSaySo) {
  constexpr std::ptrdiff_t kThreads = kLanes + 10;
  std::latch all(kThreads);
  std::vector<std::thread> threads;
  for (std::ptrdiff_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&all] {
      make_events(2);
      all.arrive_and_wait();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(all_kept() + lost_events(), 2U * kThreads);
  EXPECT_GE(lost_events(), 20U);
}

TEST_F(Records, APartIsReadWhileOthersWrite) {
  std::atomic<bool> done{false};
  std::thread writer([&done] {
    while (!done) make_events(100);
  });
  for (int i = 0; i < 50; ++i) {
    const Author author;
    Timeline timeline(author);
    std::string text;
    while (timeline.append(text, text.size() + 16384)) {
    }
    EXPECT_FALSE(text.empty());
  }
  done = true;
  writer.join();
}

TEST(Timeline, WhatOnlyReadsHasNoArrow) {
  for (const char* name :
       {"shmem_long_g", "shmem_getmem", "shmem_ctx_int_get_nbi", "shmem_long_atomic_fetch",
        "shmem_long_atomic_fetch_nbi", "shmemx_kv_contains", "shmem_long_iget", "shmem_ibget8"})
    EXPECT_FALSE(has_arrow(name)) << name;
  for (const char* name :
       {"shmem_long_p", "shmem_putmem_signal", "shmem_long_atomic_fetch_add", "shmem_signal_set",
        "shmem_long_atomic_swap_nbi", "shmemx_kv_put", "shmem_int_finc"})
    EXPECT_TRUE(has_arrow(name)) << name;
}

}  // namespace
}  // namespace observe
