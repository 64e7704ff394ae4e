// SPDX-License-Identifier: BSD-3-Clause
#include "pages/local_waits.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <random>
#include <thread>
#include <vector>

#include "pages/local_slots.hpp"
#include "pool_fixture.hpp"

namespace shm::pages {
namespace {

// Brings about what one of the threads waits for, now and then.
class Bringer final : public LocalWaits::Poller {
 public:
  static constexpr std::size_t kWaiting = 80;  // more than may sleep
  explicit Bringer(std::uint64_t seed) : dice_(seed) {}

  bool poll(WaitWatch&) override {
    EXPECT_EQ(inside_.fetch_add(1), 0) << "two threads poll";
    std::atomic<bool>& wanted = wanted_by[dice_() % kWaiting];
    const bool brings = dice_() % 3 == 0 && wanted.exchange(false);
    if (brings) waits.wake(&wanted);
    inside_.fetch_sub(1);
    return brings;
  }
  void want(std::size_t i) {
    wanted_by[i] = true;
    const auto brought = [this, i] { return !wanted_by[i]; };
    waits.wait_until(&wanted_by[i], Asked(brought));
  }

  std::array<std::atomic<bool>, kWaiting> wanted_by{};
  LocalWaits waits{static_cast<Poller&>(*this)};

 private:
  std::atomic<int> inside_{0};
  std::mt19937_64 dice_;
};

TEST(LocalWaits, OneThreadPollsAndNobodySleepsForEver) {
  Bringer bringer(seed_of_run());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < Bringer::kWaiting; ++i) {
    threads.emplace_back([&bringer, i] {
      for (int n = 0; n < 50; ++n) bringer.want(i);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Nothing comes for a while: a server that has stopped, say.
class Nothing final : public LocalWaits::Poller {
 public:
  bool poll(WaitWatch&) override {
    ++polls;
    return false;
  }
  int polls = 0;
};

TEST(LocalWaits, WhoPollsInALongWaitSleepsBetweenPolls) {
  Nothing nothing;
  LocalWaits waits(nothing);
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
  const auto over = [end] { return std::chrono::steady_clock::now() > end; };
  waits.wait_until(&nothing, Asked(over));
  EXPECT_LT(nothing.polls, 20'000) << "in 200 ms; who only yields polls ten times as often";
}

TEST(LocalWaits, WhatIsReadyIsAskedForNoMore) {
  Bringer bringer(1);
  int asked = 0;
  const auto third = [&asked] { return ++asked == 3; };
  bringer.waits.wait_until(&asked, Asked(third));
  EXPECT_EQ(asked, 3);
  bringer.waits.pause();
}

TEST(LocalSlots, AreGivenInOrder) {
  LocalSlots slots(2);
  EXPECT_FALSE(slots.acquire());
  EXPECT_FALSE(slots.acquire());
  std::atomic<int> entered{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 5; ++i) {
    std::atomic<pid_t> id{0};
    threads.emplace_back([&slots, &entered, &id, i] {
      id = gettid();
      EXPECT_TRUE(slots.acquire()) << "it had to wait";
      EXPECT_EQ(entered, i);
      ++entered;
    });
    await("the thread to sleep", [&] { return id != 0 && sleeps(id); });
  }
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(entered, i);
    slots.release();
    await("the next one", [&] { return entered == i + 1; });
  }
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < 2; ++i) slots.release();
  EXPECT_FALSE(slots.acquire());
}

TEST(LocalSlots, NoMoreThanThereAre) {
  LocalSlots slots(3);
  std::atomic<int> inside{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 12; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) {
        slots.acquire();
        EXPECT_LE(inside.fetch_add(1), 2);
        inside.fetch_sub(1);
        slots.release();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace shm::pages
