// SPDX-License-Identifier: BSD-3-Clause
// A shard that grows: nothing is lost, nothing comes twice, and no step is a long one.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <set>
#include <thread>
#include <vector>

#include "shard_fixture.hpp"
#include "stepped.hpp"

namespace shm::kv {
namespace {

ShardLayout growing(std::uint64_t value_bytes, std::uint64_t capacity, std::uint64_t bytes,
                    bool report_collisions = false) {
  return make_layout({16, value_bytes, capacity, 1, report_collisions}, {bytes, false});
}

/// Without changes beside: a group's counts are those of its elements, and each is where its hash says.
void check_whole(const OneShard& one) {
  const ShardLayout& layout = one.layout;
  const std::uint64_t segments = one.shard.segments(), groups = segments * layout.segment_groups;
  std::vector<SlotGroup> all(groups);
  std::vector<std::uint64_t> away(groups, 0);
  std::uint64_t elements = 0;
  for (std::uint64_t i = 0; i < groups; ++i)
    std::memcpy(&all[i], one.memory.get() + layout.group_at(i), sizeof all[i]);
  std::map<std::uint64_t, std::set<unsigned>> numbers;
  for (std::uint64_t i = 0; i < groups; ++i) {
    ASSERT_EQ(all[i].home, 0u);
    ASSERT_EQ(all[i].version % 2, 0u);
    for (unsigned slot = 0; slot < kSlots; ++slot) {
      const bool is_guest = (all[i].guests >> slot) % 2 != 0;
      if (all[i].tags[slot] == 0) {
        ASSERT_FALSE(is_guest);
        continue;
      }
      ++elements;
      const unsigned which = alternate_of(all[i].tags[slot]);
      const std::uint64_t home = is_guest ? layout.home_of_guest(i, which) : i;
      if (is_guest) away[home] += std::uint64_t{1} << (4 * which);
      ASSERT_TRUE(numbers[home].insert(all[i].numbers[slot]).second) << "two with one number";
      if (layout.inlined) {
        const std::byte* key = one.memory.get() + layout.slot_at(i, slot);
        const std::uint64_t hash = hash_of(layout.hash, key, all[i].lengths[slot] % 256);
        const std::uint64_t segment = ShardLayout::segment_of(hash, segments);
        ASSERT_EQ(home, segment * layout.segment_groups + layout.group_in_segment(hash));
      }
    }
  }
  for (std::uint64_t i = 0; i < groups; ++i) ASSERT_EQ(all[i].away, away[i]) << i;
  ASSERT_EQ(elements, one.shard.elements());
}

std::string name(std::uint64_t i) { return "key " + std::to_string(i); }

class ShardGrowthTest : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  ShardLayout layout(std::uint64_t bytes = std::uint64_t{32} << 20) const {
    return growing(GetParam(), 100, bytes);
  }
};
INSTANTIATE_TEST_SUITE_P(All, ShardGrowthTest, ::testing::Values(24, 300));

TEST_P(ShardGrowthTest, KeepsWhatItHas) {
  OneShard one{layout()};
  std::mt19937_64 dice(test_seed());
  std::map<std::string, std::string> model;
  std::uint64_t segments = one.shard.segments();
  ASSERT_EQ(segments, 1u);
  for (std::uint64_t i = 0; i < 30000; ++i) {
    const std::string key = name(dice() % 40000), value(1 + dice() % 24, static_cast<char>('a' + i % 26));
    if (dice() % 8 == 0) {
      ASSERT_EQ(one.remove(key), model.erase(key) != 0 ? SHMEMX_KV_OK : SHMEMX_KV_NOT_FOUND);
    } else {
      ASSERT_EQ(one.put(key, value), SHMEMX_KV_OK) << i;
      model[key] = value;
    }
    if (one.shard.segments() == segments) continue;
    segments = one.shard.segments();
    if (segments < 10) check_whole(one);
    for (const auto& [stored, expected] : model) {
      std::string found;
      ASSERT_EQ(one.get(stored, found), SHMEMX_KV_OK) << stored;
      ASSERT_EQ(found, expected);
    }
  }
  check_whole(one);
  EXPECT_GE(segments, 10u);
  for (std::uint64_t i = 40000; i < 41000; ++i) {
    std::string found;
    ASSERT_EQ(one.get(name(i), found), SHMEMX_KV_NOT_FOUND);
  }
}

// Whatever the memory: it is refused when less than a segment, or than one of the largest, is free.
TEST_P(ShardGrowthTest, IsFullWhenItsMemoryIs) {
  for (const std::uint64_t kib : {1, 16, 100, 256, 400, 1000, 3000}) {
    OneShard one{layout(kib << 10)};
    std::uint64_t n = 0;
    while (one.put(name(n), "x") == SHMEMX_KV_OK) ++n;
    check_whole(one);
    const std::uint64_t segment = one.layout.segment_groups * one.layout.group_bytes;
    const std::uint64_t left =
        one.layout.bytes - one.layout.end_of(one.shard.segments()) -
        (one.layout.inlined
             ? 0
             : one.layout.largest_block * (one.shard.block_bytes_used() / one.layout.largest_block));
    const bool all_slots =
        one.shard.segments() == one.layout.most_segments || left < segment + one.layout.largest_block;
    EXPECT_TRUE(all_slots) << kib << " KiB, " << n << " elements, " << left << " bytes left of "
                           << one.layout.bytes;
    EXPECT_GE(n * 2, one.layout.inlined ? one.shard.slots() : 0) << kib;
    std::string found;
    for (std::uint64_t i = 0; i < n; ++i) ASSERT_EQ(one.get(name(i), found), SHMEMX_KV_OK);
    for (std::uint64_t i = 0; i < n; ++i) ASSERT_EQ(one.remove(name(i)), SHMEMX_KV_OK);
    EXPECT_EQ(one.shard.elements(), 0u);
    EXPECT_EQ(one.shard.block_bytes_used(), 0u);
  }
}

TEST_P(ShardGrowthTest, IterationMeetsAllOnceWhileItGrows) {
  std::mt19937_64 dice(test_seed());
  for (const std::uint64_t before : {1000, 5000, 20000}) {
    for (const std::uint64_t more : {1, 3, 40}) {  // between two elements
      OneShard one{layout()};
      for (std::uint64_t i = 0; i < before; ++i) one.put("old " + std::to_string(i), "x");
      char key[16];
      Element element{key, sizeof key, 0, nullptr, 0, 0};
      std::set<std::string> old, young;
      std::uint64_t i = 0;
      for (std::uint64_t cursor = 0; one.shard.next(cursor, element) == SHMEMX_KV_OK;) {
        const std::string found(key, element.key_bytes);
        ASSERT_TRUE((found[0] == 'o' ? old : young).insert(found).second) << found << " twice";
        for (std::uint64_t n = 0; n < more && i < 25000; ++n) one.put("new " + std::to_string(++i), "y");
      }
      ASSERT_EQ(old.size(), before) << one.shard.segments();
    }
  }
}

// Elements that stay are found at each instant, and come once in each iteration; sums are those of all
// additions; while several threads insert and remove, and each of them may have to split.
TEST_P(ShardGrowthTest, ThreadsSeeOneTable) {
  constexpr int kWriters = 2, kReaders = 1;
  constexpr std::uint64_t kStaying = 800, kMore = 12000;
  OneShard one{layout()};
  const std::uint64_t seed = test_seed();
  for (std::uint64_t i = 0; i < kStaying; ++i) one.put("stays " + std::to_string(i), "s");
  std::atomic<int> at_work{kWriters};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kWriters; ++thread) {
    threads.emplace_back([&, thread] {
      std::mt19937_64 dice(seed + static_cast<std::uint64_t>(thread));
      for (std::uint64_t i = 0; i < kMore; ++i) {
        const std::string key = std::to_string(thread) + " " + std::to_string(i);
        std::uint64_t old;
        ASSERT_EQ(one.insert(key, key), SHMEMX_KV_OK);
        ASSERT_EQ(one.add(KvOp::upsert, "sum " + std::to_string(i % 50), 1, old), SHMEMX_KV_OK);
        std::string found;
        const std::string own = std::to_string(thread) + " " + std::to_string(dice() % (i + 1));
        const Code status = one.get(own, found);
        ASSERT_TRUE(status == SHMEMX_KV_NOT_FOUND || found == own) << own;
        if (i % 4 == 0) {
          ASSERT_EQ(one.remove(key), SHMEMX_KV_OK) << key;
          ASSERT_EQ(one.get(key, found), SHMEMX_KV_NOT_FOUND) << key;
        } else {
          ASSERT_EQ(one.get(key, found), SHMEMX_KV_OK) << key;
        }
      }
      --at_work;
    });
  }
  for (int thread = 0; thread < kReaders; ++thread) {
    threads.emplace_back([&] {
      while (at_work != 0) {
        std::string value;
        for (std::uint64_t i = 0; i < kStaying; ++i)
          ASSERT_EQ(one.get("stays " + std::to_string(i), value), SHMEMX_KV_OK) << i;
        std::multiset<std::string> seen;
        char key[16];
        Element element{key, sizeof key, 0, nullptr, 0, 0};
        for (std::uint64_t cursor = 0; one.shard.next(cursor, element) == SHMEMX_KV_OK;)
          if (key[1] == 't') seen.insert(std::string(key, element.key_bytes));
        ASSERT_EQ(seen.size(), kStaying);
        ASSERT_EQ(std::set<std::string>(seen.begin(), seen.end()).size(), kStaying);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::uint64_t sum = 0, old = 0;
  for (int i = 0; i < 50; ++i) one.add(KvOp::accumulate, "sum " + std::to_string(i), 0, old), sum += old;
  EXPECT_EQ(sum, kWriters * kMore);
  EXPECT_EQ(one.shard.elements(), kStaying + 50 + kWriters * kMore * 3 / 4);
  EXPECT_GT(one.shard.segments(), 8U);
  check_whole(one);
}

// Many keys of one hash do not make a table grow without end.
TEST(ShardGrowthHashTest, ManyKeysOfOneHashAreRefused) {
  ShardLayout layout = growing(24, 100, std::uint64_t{32} << 20);
  layout.hash = {[](const void*, std::size_t) { return std::uint64_t{7}; }, true};
  OneShard one{layout};
  one.hash = [](const void*, std::size_t) {
    return hash_of({[](const void*, std::size_t) { return std::uint64_t{7}; }, true}, nullptr, 0);
  };
  std::uint64_t n = 0;
  while (one.put(name(n), "x") == SHMEMX_KV_OK) ++n;
  EXPECT_EQ(n, 2 * kSlots);
  EXPECT_EQ(one.shard.segments(), 1U);
}

}  // namespace
}  // namespace shm::kv
