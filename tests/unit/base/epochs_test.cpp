// SPDX-License-Identifier: BSD-3-Clause
// Waits that end though others go on.
#include "base/epochs.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <thread>
#include <vector>

#include "base/mutex.hpp"

namespace shm {
namespace {

TEST(Epochs, WithNothingUnderWayAWaitIsOverAndStaysSo) {
  Epochs epochs;
  Epochs::Wait wait;
  EXPECT_TRUE(epochs.drained(wait));
  epochs.begin();
  EXPECT_FALSE(epochs.idle());
  EXPECT_TRUE(epochs.drained(wait));
}

TEST(Epochs, WhatBeginsLaterIsNotWaitedFor) {
  Epochs epochs;
  for (int round = 0; round < 5; ++round) {
    SCOPED_TRACE(round);
    Epochs::Wait wait;
    const unsigned earlier = epochs.begin();
    EXPECT_FALSE(epochs.drained(wait));
    const unsigned later = epochs.begin();
    EXPECT_FALSE(epochs.drained(wait));
    epochs.end(earlier);
    EXPECT_EQ(epochs.count(), 1u);
    EXPECT_TRUE(epochs.drained(wait));
    epochs.end(later);
    EXPECT_TRUE(epochs.idle());
  }
}

// What was under way before the last wait, and what has begun since, are on both sides when the next one
// begins.
TEST(Epochs, AWaitWaitsForBothSides) {
  Epochs epochs;
  const unsigned first = epochs.begin();
  Epochs::Wait others;
  EXPECT_FALSE(epochs.drained(others));
  const unsigned second = epochs.begin();
  ASSERT_NE(first, second);
  Epochs::Wait wait;
  EXPECT_FALSE(epochs.drained(wait));
  epochs.end(second);
  EXPECT_FALSE(epochs.drained(wait));
  epochs.begin();
  epochs.end(first);
  EXPECT_TRUE(epochs.drained(wait));
}

// A thread that looks rarely may never see a side empty, as other waits begin epochs there.
TEST(Epochs, AWaitThatOthersOvertakeEnds) {
  Epochs epochs;
  unsigned oldest = epochs.begin();
  Epochs::Wait wait;
  EXPECT_FALSE(epochs.drained(wait));
  for (int i = 0; i < 2; ++i) {
    const unsigned newer = epochs.begin();
    epochs.end(oldest);
    Epochs::Wait other;
    EXPECT_FALSE(epochs.drained(other));  // begins the next epoch
    oldest = newer;
  }
  epochs.begin();
  EXPECT_EQ(epochs.count(), 2u);
  EXPECT_TRUE(epochs.drained(wait));
}

// Threads that begin, have another thread end, and wait; some of them never wait, and always have something
// under way.
TEST(Epochs, EachOfManyThreadsWaitsForItsOwn) {
  constexpr int kWaiters = 3, kStreams = 2, kRounds = 300;
  struct Begun {
    unsigned side;
    std::atomic<bool>* ended;
  };
  Epochs epochs;
  Mutex mutex;
  std::deque<Begun> queue;
  std::atomic<int> waiting{kWaiters};
  std::atomic<int> running{kWaiters + kStreams};
  const auto begin = [&](std::atomic<bool>* ended) {
    const Begun begun{epochs.begin(), ended};
    const LockGuard guard(mutex);
    queue.push_back(begun);
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < kWaiters; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kRounds; ++i) {
        std::atomic<bool> ended{false};
        begin(&ended);
        for (Epochs::Wait wait; !epochs.drained(wait);) std::this_thread::yield();
        EXPECT_TRUE(ended.load());
        while (!ended.load()) std::this_thread::yield();
      }
      --waiting;
      --running;
    });
  }
  for (int t = 0; t < kStreams; ++t) {
    threads.emplace_back([&] {
      static std::atomic<bool> unused;
      while (waiting.load() != 0) {
        begin(&unused);
        std::this_thread::yield();
      }
      --running;
    });
  }
  // Ends all but the last one, so the streams are never idle.
  while (running.load() != 0) {
    Begun next{};
    {
      const LockGuard guard(mutex);
      if (queue.size() < 2) continue;
      next = queue.front();
      queue.pop_front();
    }
    next.ended->store(true);
    epochs.end(next.side);
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace shm
