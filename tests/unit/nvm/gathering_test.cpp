// SPDX-License-Identifier: BSD-3-Clause
// Which operations share a message, when it leaves, and that those to a PE leave in their order.
#include "nvm/coherence/gathering.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstring>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "base/stats.hpp"

namespace shm::nvm {
namespace {

constexpr std::size_t kPes = 3;
constexpr std::uint32_t kPut = 8;  // bytes of a put here
constexpr std::size_t kFull = kMaxMessage / (sizeof(Operation) + kPut);

Operation put_of(std::uint64_t token, std::uint32_t n = kPut) {
  Operation operation{};
  operation.token = token;
  operation.n = n;
  operation.kind = Operation::Kind::put;
  return operation;
}

// What left: the tokens of each message.
class Recorder final : public Outlet {
 public:
  struct Sent {
    int pe;
    std::vector<std::uint64_t> tokens;
  };
  void send_operations(int pe, const std::byte* message, std::size_t n) override {
    EXPECT_LE(n, kMaxMessage);
    Sent sent{pe, {}};
    for (std::size_t at = 0; at < n;) {
      Operation operation;
      std::memcpy(&operation, message + at, sizeof operation);
      std::uint64_t data = 0;
      std::memcpy(&data, message + at + sizeof operation, std::min<std::size_t>(operation.n, sizeof data));
      EXPECT_EQ(data, operation.token) << "of a put";
      sent.tokens.push_back(operation.token);
      at += record_bytes(operation);
    }
    {
      const std::scoped_lock guard(mutex_);
      sent_.push_back(std::move(sent));
    }
    if (while_sending) while_sending();
  }
  void hold() override { ++holds; }

  std::vector<Sent> sent() const {
    const std::scoped_lock guard(mutex_);
    return sent_;
  }
  std::vector<std::size_t> sizes() const {
    std::vector<std::size_t> sizes;
    for (const Sent& one : sent()) sizes.push_back(one.tokens.size());
    return sizes;
  }
  std::vector<std::uint64_t> tokens_to(int pe) const {
    std::vector<std::uint64_t> tokens;
    for (const Sent& one : sent()) {
      if (one.pe == pe) tokens.insert(tokens.end(), one.tokens.begin(), one.tokens.end());
    }
    return tokens;
  }
  std::function<void()> while_sending;
  std::atomic<int> holds{0};

 private:
  mutable std::mutex mutex_;
  std::vector<Sent> sent_;
};

struct GatheringTest : ::testing::Test {
  void put(std::uint64_t token, int pe = 1) {
    gathering.add(pe, put_of(token), reinterpret_cast<const std::byte*>(&token));
  }
  void put_many(std::uint64_t first, std::uint64_t n) {
    for (std::uint64_t i = 0; i < n; ++i) put(first + i);
  }
  using Sizes = std::vector<std::size_t>;
  Recorder out;
  Gathering gathering{out, kPes};
};

TEST_F(GatheringTest, OneThatIsAloneLeavesAtOnce) {
  put(1);
  EXPECT_EQ(out.sizes(), Sizes{1});
  EXPECT_TRUE(gathering.is_under_way(1));
  EXPECT_FALSE(gathering.is_under_way(2));
  put(2, 2);
  EXPECT_EQ(out.sizes(), (Sizes{1, 1})) << "nothing is under way there";
  EXPECT_FALSE(gathering.holds());
  EXPECT_EQ(out.holds, 0);
  gathering.answered(1, 1);
  EXPECT_FALSE(gathering.is_under_way(1));
  put(3);
  EXPECT_EQ(out.sizes(), (Sizes{1, 1, 1}));
}

TEST_F(GatheringTest, EachLeavesByItselfWhereNoneIsToShare) {
  Gathering single{out, kPes, false};
  for (std::uint64_t token = 1; token <= 5; ++token)
    single.add(1, put_of(token), reinterpret_cast<const std::byte*>(&token));
  EXPECT_EQ(out.sizes(), (Sizes{1, 1, 1, 1, 1}));
  EXPECT_FALSE(single.is_under_way(1)) << "nothing to share";
  EXPECT_FALSE(single.holds());
}

TEST_F(GatheringTest, OthersLeaveTogetherWithTheAnswer) {
  put_many(1, 6);
  EXPECT_EQ(out.sizes(), Sizes{1});
  EXPECT_TRUE(gathering.holds());
  EXPECT_EQ(out.holds, 1);
  gathering.answered(1, 1);
  EXPECT_EQ(out.sizes(), (Sizes{1, 5}));
  EXPECT_FALSE(gathering.holds());
  put(7);
  gathering.answered(1, 3);
  EXPECT_EQ(out.sizes(), (Sizes{1, 5})) << "two are under way";
  gathering.answered(1, 2);
  EXPECT_EQ(out.sizes(), (Sizes{1, 5, 1}));
}

TEST_F(GatheringTest, AFullOneLeavesWithoutAnAnswer) {
  constexpr std::uint64_t kPuts = 1000;
  put_many(0, kPuts);
  gathering.flush();
  const std::size_t full = (kPuts - 1) / kFull, rest = (kPuts - 1) % kFull;
  Sizes expected(1 + full, kFull);
  expected[0] = 1;
  expected.push_back(rest);
  EXPECT_EQ(out.sizes(), expected);
  const std::vector<std::uint64_t> tokens = out.tokens_to(1);
  for (std::size_t i = 0; i < tokens.size(); ++i) EXPECT_EQ(tokens[i], i);
  EXPECT_EQ(tokens.size(), kPuts);
}

TEST_F(GatheringTest, TheLongestFit) {
  const std::vector<std::byte> data(kLargestOperation, std::byte{0});
  for (int i = 0; i < 5; ++i) gathering.add(1, put_of(0, kLargestOperation), data.data());
  gathering.flush();
  EXPECT_EQ(out.sizes(), (Sizes{1, 2, 2}));
}

TEST_F(GatheringTest, WhoWaitsSendsWhatIsHeldForAll) {
  for (const int pe : {0, 1, 2}) {
    put(1, pe);
    put(2, pe);
  }
  EXPECT_EQ(out.sizes(), (Sizes{1, 1, 1}));
  gathering.flush();
  EXPECT_EQ(out.sizes(), (Sizes{1, 1, 1, 1, 1, 1}));
  gathering.flush();
  EXPECT_EQ(out.sent().size(), 6U);
}

// Held from one to two periods of the alarm.
TEST_F(GatheringTest, WhatIsOldLeaves) {
  put_many(1, 2);
  EXPECT_TRUE(gathering.tick());
  put(1, 2);
  put(2, 2);
  EXPECT_EQ(out.sizes(), (Sizes{1, 1}));
  EXPECT_TRUE(gathering.tick()) << "that for PE 2";
  EXPECT_EQ(out.sizes(), (Sizes{1, 1, 1}));
  EXPECT_FALSE(gathering.tick());
  EXPECT_EQ(out.sizes(), (Sizes{1, 1, 1, 1}));
  EXPECT_EQ(out.holds, 2);
}

TEST_F(GatheringTest, SaysWhyMessagesLeft) {
  using Counts = std::array<std::uint64_t, 5>;
  const auto left = [] {
    const StatValues stats = take_stats();
    const auto of = [&](Stat stat) { return stats[static_cast<std::size_t>(stat)]; };
    return Counts{of(Stat::page_packets), of(Stat::page_full_packets), of(Stat::page_wanted_packets),
                  of(Stat::page_answered_packets), of(Stat::page_old_packets)};
  };
  take_stats();
  put(1);
  put(2);
  EXPECT_EQ(left(), (Counts{1, 0, 0, 0, 0})) << "one that is alone has no reason";
  gathering.flush();
  gathering.flush();
  EXPECT_EQ(left(), (Counts{1, 0, 1, 0, 0}));
  put(3);
  gathering.answered(1, 2);
  EXPECT_EQ(left(), (Counts{1, 0, 0, 1, 0}));
  put(4);
  gathering.tick();
  gathering.tick();
  EXPECT_EQ(left(), (Counts{1, 0, 0, 0, 1}));
  put_many(5, kFull);
  EXPECT_EQ(left(), (Counts{1, 1, 0, 0, 0})) << "without room for the shortest";
  const std::vector<std::byte> data(kLargestOperation, std::byte{0});
  for (int i = 0; i < 4; ++i) gathering.add(1, put_of(0, kLargestOperation / 2), data.data());
  EXPECT_EQ(left(), (Counts{1, 1, 0, 0, 0})) << "without room for the next";
  Gathering single{out, kPes, false};
  for (int i = 0; i < 2; ++i) single.add(1, put_of(0), data.data());
  EXPECT_EQ(left(), (Counts{2, 0, 0, 0, 0})) << "none is to share";
}

// The handlers that sending runs send nothing themselves while it lasts: what they close leaves behind it.
TEST_F(GatheringTest, AnAnswerWhileItIsSentSendsTheNext) {
  bool once = false;
  out.while_sending = [&] {
    if (std::exchange(once, true)) return;
    put_many(2, 3);
    gathering.answered(1, 1);
    EXPECT_EQ(out.sizes(), Sizes{1}) << "one message after the other";
  };
  put(1);
  EXPECT_EQ(out.sizes(), (Sizes{1, 3}));
  EXPECT_FALSE(gathering.holds());
}

// Threads add, answers come, some flush: each token leaves once, those of a thread in order.
TEST_F(GatheringTest, Threads) {
  constexpr std::uint64_t kThreads = 3, kEach = 20000;
  std::atomic<bool> done{false};
  std::thread answers([&] {
    std::size_t seen = 0;
    while (!done || seen != kThreads * kEach) {
      const std::vector<std::size_t> sizes = out.sizes();
      std::size_t all = 0;
      for (const std::size_t size : sizes) all += size;
      if (all != seen) gathering.answered(1, static_cast<std::uint32_t>(all - seen));
      seen = all;
      if (done) gathering.flush();
      std::this_thread::yield();
    }
  });
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (std::uint64_t i = 0; i < kEach; ++i) {
        put(t << 32 | i);
        if (i % 1000 == 999) gathering.flush();
        if (i % 777 == 0) gathering.tick();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  done = true;
  answers.join();
  std::vector<std::uint64_t> next(kThreads);
  for (const std::uint64_t token : out.tokens_to(1)) {
    EXPECT_EQ(token & 0xffffffff, next[token >> 32]);
    ++next[token >> 32];
  }
  for (const std::uint64_t n : next) EXPECT_EQ(n, kEach);
  EXPECT_FALSE(gathering.is_under_way(1));
  EXPECT_FALSE(gathering.holds());
}

}  // namespace
}  // namespace shm::nvm
