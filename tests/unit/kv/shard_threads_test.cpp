// SPDX-License-Identifier: BSD-3-Clause
// Many threads on one shard: what PEs of a node do to each other's shards.
#include <gtest/gtest.h>

#include <atomic>
#include <set>
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

// Keys of three homes next to each other's alternates, as many as have room: they take each other's places,
// and move out of each other's way.
TEST_P(ShardThreadsTest, CrowdedKeysAreAllKept) {
  OneShard crowded{make_layout(16, GetParam(), 30, 1, false)};  // of four groups
  const std::uint64_t each = crowded.layout.most_elements() / kThreads;
  run([&](int thread) {
    std::string value;
    for (int round = 0; round < 200; ++round) {
      for (std::uint64_t i = 0; i < each; ++i)
        ASSERT_EQ(crowded.insert(std::to_string(thread) + " " + std::to_string(i), "x"), SHMEMX_KV_OK);
      for (std::uint64_t i = 0; i < each; ++i)
        ASSERT_EQ(crowded.get(std::to_string(thread) + " " + std::to_string(i), value), SHMEMX_KV_OK);
      for (std::uint64_t i = 0; i < each; ++i)
        ASSERT_EQ(crowded.remove(std::to_string(thread) + " " + std::to_string(i)), SHMEMX_KV_OK);
    }
  });
  EXPECT_EQ(crowded.shard.elements(), 0u);
  for (std::uint64_t group = 0; group < crowded.layout.groups; ++group) {
    SlotGroup state;
    std::memcpy(&state, crowded.memory.get() + crowded.layout.group_at(group), sizeof state);
    EXPECT_EQ(state.away, 0u);
    EXPECT_EQ(state.guests, 0u);
    EXPECT_EQ(state.home, 0u);
  }
}

// Elements that are there all the time are found at each instant, and come once in each iteration, while
// others that come and go make them move.
TEST_P(ShardThreadsTest, WhoStaysIsFoundWhileItIsMoved) {
  OneShard crowded{make_layout(16, GetParam(), 60, 1, false)};
  const std::uint64_t most = crowded.layout.most_elements(), staying = most / 2;
  for (std::uint64_t i = 0; i < staying; ++i) crowded.put("stays " + std::to_string(i), "s");
  std::atomic<int> at_work{2};
  std::atomic<std::uint64_t> moves{0};
  run([&](int thread) {
    std::mt19937_64 dice(static_cast<std::uint64_t>(thread) + test_seed());
    if (thread < 2) {
      for (int i = 0; i < 30000; ++i) {
        // Of which three of four are there: as many as have room, so that homes are full.
        const std::string key = std::to_string(thread) + " " + std::to_string(dice() % (most / 3));
        dice() % 4 != 0 ? crowded.put(key, "x") : crowded.remove(key);
      }
      --at_work;
      return;
    }
    while (at_work != 0) {
      std::string value;
      for (std::uint64_t i = 0; i < staying; ++i)
        ASSERT_EQ(crowded.get("stays " + std::to_string(i), value), SHMEMX_KV_OK) << i;
      ASSERT_EQ(crowded.get("never " + std::to_string(dice() % 1000), value), SHMEMX_KV_NOT_FOUND);
      std::multiset<std::string> seen;
      char key[16];
      Element element{key, sizeof key, 0, nullptr, 0, 0};
      for (std::uint64_t cursor = 0; crowded.shard.next(cursor, element) == SHMEMX_KV_OK;)
        if (key[0] == 's') seen.insert(std::string(key, element.key_bytes));
      ASSERT_EQ(seen.size(), staying);
      ASSERT_EQ(std::set<std::string>(seen.begin(), seen.end()).size(), staying);
    }
  });
  for (std::uint64_t group = 0; group < crowded.layout.groups; ++group) {
    SlotGroup state;
    std::memcpy(&state, crowded.memory.get() + crowded.layout.group_at(group), sizeof state);
    moves += state.returns;
  }
  EXPECT_GT(moves, 0U) << "else nothing has been tested";
}

}  // namespace
}  // namespace shm::kv
