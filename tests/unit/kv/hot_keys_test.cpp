// SPDX-License-Identifier: BSD-3-Clause
// Counts of the most frequent keys, in bounded memory.
#include "kv/hot_keys.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace shm::kv {
namespace {

Key key_of(const std::string& text) {
  return {std::hash<std::string>()(text), text.data(), static_cast<std::uint32_t>(text.size())};
}
std::string text_of(const HotKeys::Counted& counted) {
  return {reinterpret_cast<const char*>(counted.key.data()), counted.key.size()};
}

TEST(HotKeysTest, AllAreCountedThatHaveAPlace) {
  HotKeys keys;
  keys.begin(1);
  for (int i = 0; i < 64; ++i)
    for (int n = 0; n <= i; ++n) keys.see(KvOp::put, key_of(std::to_string(i)));
  const auto most = keys.most(3);
  ASSERT_EQ(most.size(), 3U);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(text_of(most[i]), std::to_string(63 - i));
    EXPECT_EQ(most[i].count, 64U - i);
  }
  EXPECT_EQ(keys.most(1000).size(), HotKeys::kKept);
}

// Space-Saving: counted are all calls, and a key with more than one of 64 is there, counted at least as often
// as it was seen.
TEST(HotKeysTest, AFrequentKeyIsNotLostAmongManyOthers) {
  HotKeys keys;
  keys.begin(1);
  std::uint64_t calls = 0;
  for (int i = 0; i < 10000; ++i, ++calls) {
    keys.see(KvOp::get, key_of(std::to_string(i)));
    if (i % 20 == 0) keys.see(KvOp::get, key_of("hot")), ++calls;
  }
  const auto most = keys.most(1);
  EXPECT_EQ(text_of(most[0]), "hot");
  EXPECT_GE(most[0].count, 500U);
  std::uint64_t counted = 0;
  for (const auto& each : keys.most(1000)) counted += each.count;
  EXPECT_EQ(counted, calls);
}

// Calls whose order repeats in step with the sample.
TEST(HotKeysTest, ASampleIsEvenWhateverTheOrder) {
  for (const int period : {2, 3, 8, 16, 64}) {
    HotKeys keys;
    keys.begin(16);
    constexpr int kCalls = 64000;
    for (int i = 0; i < kCalls; ++i) keys.see(KvOp::put, key_of(i % period == 0 ? "a" : "b"));
    double a = 0, all = 0;
    for (const auto& each : keys.most(2)) {
      all += static_cast<double>(each.count);
      if (text_of(each) == "a") a = static_cast<double>(each.count);
    }
    EXPECT_NEAR(all / kCalls, 1, 0.01);
    EXPECT_NEAR(a / kCalls * period, 1, 0.1) << period;
  }
}

TEST(HotKeysTest, WhatHasNoKeyIsNotCounted) {
  HotKeys keys;
  keys.begin(1);
  keys.see(KvOp::scan, key_of("a"));
  keys.see(KvOp::count, key_of("a"));
  keys.see(KvOp::reserve, key_of("a"));
  EXPECT_EQ(keys.most(64).size(), 0U);
  keys.see(KvOp::remove, key_of("a"));
  keys.begin(1);
  EXPECT_EQ(keys.most(64).size(), 0U);
}

}  // namespace
}  // namespace shm::kv
