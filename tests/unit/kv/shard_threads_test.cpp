// SPDX-License-Identifier: BSD-3-Clause
// Many threads on one shard: what PEs of a node do to each other's shards.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "shard_fixture.hpp"

namespace shm::kv {
namespace {

class ShardThreadsTest : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  static constexpr int kThreads = 4;
  template <class Work>
  void run(Work work) {
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) threads.emplace_back(work, i);
    for (std::thread& thread : threads) thread.join();
  }
  OneShard table{make_layout(16, GetParam(), 200, 1, false)};
};
INSTANTIATE_TEST_SUITE_P(All, ShardThreadsTest, ::testing::Values(32, 600));

// A value that is torn shows: all its characters are the same.
TEST_P(ShardThreadsTest, ReadersSeeWholeValues) {
  std::atomic<bool> stop{false};
  table.put("k", std::string(8, 'a'));
  std::thread writer([&] {
    for (int i = 0; i < 30000; ++i)
      table.put("k", std::string(1 + static_cast<std::size_t>(i) * 7 % GetParam(),
                                 static_cast<char>('a' + i % 26)));
    stop = true;
  });
  std::string value;
  while (!stop) {
    ASSERT_EQ(table.get("k", value), SHMEMX_KV_OK);
    ASSERT_EQ(value.find_first_not_of(value[0]), std::string::npos);
  }
  writer.join();
}

TEST_P(ShardThreadsTest, NoAdditionIsLost) {
  run([&](int) {
    std::uint64_t old;
    for (int i = 0; i < 5000; ++i) table.add(KvOp::upsert, std::to_string(i % 3), 1, old);
  });
  std::uint64_t total = 0, old = 0;
  for (int i = 0; i < 3; ++i) table.add(KvOp::accumulate, std::to_string(i), 0, old), total += old;
  EXPECT_EQ(total, 5000u * kThreads);
}

// Each successful insert is followed by exactly one successful removal, and the table ends empty.
TEST_P(ShardThreadsTest, OneInsertsAndOneRemoves) {
  std::array<std::atomic<int>, 20> present{};
  std::atomic<int> wrong{0};
  run([&](int thread) {
    std::mt19937_64 dice(static_cast<std::uint64_t>(thread) + test_seed());
    for (int i = 0; i < 10000; ++i) {
      const std::size_t k = dice() % present.size();
      const std::string key = std::to_string(k);
      if (dice() % 2 == 0) {
        if (table.insert(key, key) == SHMEMX_KV_OK) ++present[k];
      } else if (table.remove(key) == SHMEMX_KV_OK) {
        --present[k];
      }
      std::string value;
      if (table.get(key, value) == SHMEMX_KV_OK && value != key) ++wrong;
    }
  });
  EXPECT_EQ(wrong, 0);
  std::uint64_t there = 0;
  for (std::size_t k = 0; k < present.size(); ++k) {
    EXPECT_TRUE(present[k] == 0 || present[k] == 1) << present[k];
    EXPECT_EQ(table.remove(std::to_string(k)), present[k] == 1 ? SHMEMX_KV_OK : SHMEMX_KV_NOT_FOUND);
    there += static_cast<std::uint64_t>(present[k]);
  }
  EXPECT_EQ(table.shard.elements(), 0u) << there;
  EXPECT_EQ(table.shard.block_bytes_used(), 0u);
}

// All keys on one way, which is crowded: they pass each other, and get in each other's way for slots.
TEST_P(ShardThreadsTest, CollidingKeysAreAllKept) {
  table.hash = [](const void*, std::size_t) { return std::uint64_t{77} << 32; };
  run([&](int thread) {
    for (int round = 0; round < 30; ++round) {
      for (int i = 0; i < 20; ++i)
        ASSERT_EQ(table.insert(std::to_string(thread * 100 + i), "x"), SHMEMX_KV_OK);
      std::string value;
      for (int i = 0; i < 20; ++i)
        ASSERT_EQ(table.get(std::to_string(thread * 100 + i), value), SHMEMX_KV_OK);
      for (int i = 0; i < 20; ++i) ASSERT_EQ(table.remove(std::to_string(thread * 100 + i)), SHMEMX_KV_OK);
    }
  });
  EXPECT_EQ(table.shard.elements(), 0u);
  for (std::uint64_t group = 0; group < table.layout.groups; ++group) {
    SlotGroup state;
    std::memcpy(&state, table.memory.get() + table.layout.group_at(group), sizeof state);
    EXPECT_EQ(state.passed, 0u);
    EXPECT_EQ(state.home, 0u);
  }
}

}  // namespace
}  // namespace shm::kv
