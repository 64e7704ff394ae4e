// SPDX-License-Identifier: BSD-3-Clause
// A split between two accesses of something else, and something else between two accesses of a split: at each
// place where a thread can be overtaken.
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "shard_fixture.hpp"
#include "stepped.hpp"

namespace shm::kv {
namespace {

constexpr unsigned kGrowthSoon = 5;  // looks
constexpr std::uint64_t kGroupsEach = 4;

// Segments of so few groups, that a split has few steps, and elements are away from home.
ShardLayout small_segments(std::uint64_t value_bytes) {
  ShardLayout layout = make_layout({16, value_bytes, 10, 1, false}, {std::uint64_t{1} << 20, false});
  layout.segment_groups = kGroupsEach;
  layout.most_segments = 8;
  layout.groups = layout.most_segments * kGroupsEach;
  for (std::uint32_t i = 0; i < kAlternates; ++i) layout.strides[i] = 1 + i % 3;
  return layout;
}

class ShardGrowthStepsTest : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  /// So many segments of so many elements each, about.
  void begin(std::uint64_t segments, std::uint64_t each = 47) {
    table = std::make_unique<OneShard>(small_segments(GetParam()));
    keys.clear();
    while (table->shard.segments() < segments) ASSERT_EQ(table->shard.grow(kUnlimited), SHMEMX_KV_OK);
    for (std::uint64_t i = 0; keys.size() < each * segments; ++i) {
      if (table->shard.elements() >= table->layout.enough_elements(segments)) break;
      const std::string key = "key " + std::to_string(i);
      if (table->put(key, value_of(key)) == SHMEMX_KV_OK) keys.push_back(key);
    }
    ASSERT_EQ(table->shard.segments(), segments);
  }
  static std::string value_of(const std::string& key) { return key + "!"; }

  template <class F>
  Code in_steps(F f, const std::function<void(int)>& between) const {
    int n = 0;
    const std::function<void()> step = [&] { between(n++); };
    return f(Shard<Stepped>(Stepped(table->memory.get(), step), table->layout));
  }
  std::string get(const auto& shard, const std::string& key, unsigned patience) const {
    std::string room(table->layout.value_bytes, '\0');
    std::uint64_t n = 0;
    const Code status = shard.get(table->key(key), room.data(), room.size(), n, patience);
    if (status == kBusy) return "?";
    return status == SHMEMX_KV_OK ? room.substr(0, n) : "";
  }
  Code execute(const auto& shard, KvOp op, const std::string& key, const std::string& value,
               unsigned patience = kUnlimited) const {
    ValueRoom result;
    return shard.execute({.op = op, .key = table->key(key), .value = value.data(), .n = value.size()}, result,
                         patience);
  }
  std::multiset<std::string> all(const auto& shard) const {
    std::multiset<std::string> found;
    char key[16];
    Element element{key, sizeof key, 0, nullptr, 0, 0};
    for (std::uint64_t cursor = 0; shard.next(cursor, element) == SHMEMX_KV_OK;)
      found.insert(std::string(key, element.key_bytes));
    return found;
  }
  void expect_sound(const std::set<std::string>& expected) const {
    for (std::uint64_t i = 0; i < table->shard.segments() * kGroupsEach; ++i)
      EXPECT_EQ(table->group(i).home, 0U);
    EXPECT_FALSE(table->is_locked());
    const auto there = all(table->shard);
    EXPECT_EQ(there.size(), expected.size());
    EXPECT_EQ(std::set<std::string>(there.begin(), there.end()), expected);
    EXPECT_EQ(table->shard.elements(), expected.size());
    for (const std::string& key : expected) EXPECT_NE(get(table->shard, key, kUnlimited), "") << key;
  }

  std::unique_ptr<OneShard> table;
  std::vector<std::string> keys;
};
INSTANTIATE_TEST_SUITE_P(All, ShardGrowthStepsTest, ::testing::Values(24, 600));

TEST_P(ShardGrowthStepsTest, AllAreThereAtEachInstantOfASplit) {
  for (const std::uint64_t segments : {1, 2, 3, 4, 7}) {
    begin(segments);
    int told = 0, looked = 0;
    const auto between = [&](int step) {
      for (std::size_t i = static_cast<std::size_t>(step) % 5; i < keys.size(); i += 5) {
        const std::string seen = get(table->shard, keys[i], kGrowthSoon);
        told += seen != "?" ? 1 : 0;
        ASSERT_TRUE(seen == "?" || seen == value_of(keys[i])) << keys[i] << " is '" << seen << "'";
      }
      const std::string absent = get(table->shard, "never " + std::to_string(step), kGrowthSoon);
      ASSERT_TRUE(absent == "" || absent == "?") << absent;
      if (table->is_locked() || step % 7 != 0) return;
      ++looked;
      const auto seen = all(table->shard);
      ASSERT_EQ(seen.size(), keys.size()) << "step " << step;
      ASSERT_EQ(std::set<std::string>(seen.begin(), seen.end()).size(), keys.size());
    };
    ASSERT_EQ(in_steps([](const auto& shard) { return shard.grow(kUnlimited); }, between), SHMEMX_KV_OK);
    if (HasFailure()) FAIL() << segments;
    ASSERT_EQ(table->shard.segments(), segments + 1);
    EXPECT_GT(told, looked);
    EXPECT_GT(looked, 10);
    expect_sound({keys.begin(), keys.end()});
  }
}

// Wherever a reader is overtaken by one split, or by two of the same segment.
TEST_P(ShardGrowthStepsTest, WhoMovesMeanwhileIsFound) {
  for (const int splits : {1, 3}) {
    for (std::size_t k = 0; k < 24; ++k) {
      bool goes_on = true;
      for (int n = 0; goes_on; ++n) {
        begin(1);
        goes_on = false;
        const auto between = [&](int step) {
          if (step != n) return;
          goes_on = true;
          for (int i = 0; i < splits; ++i) ASSERT_EQ(table->shard.grow(kUnlimited), SHMEMX_KV_OK);
          // Of another element in its place nothing is seen.
          for (int i = 0; i < 20; ++i) table->put("more " + std::to_string(i), "x");
        };
        std::string seen, absent;
        in_steps([&](const auto& shard) { return seen = get(shard, keys[k], kUnlimited), 0; }, between);
        ASSERT_EQ(seen, value_of(keys[k])) << "step " << n;
        in_steps([&](const auto& shard) { return absent = get(shard, "never", kUnlimited), 0; }, [](int) {});
        ASSERT_EQ(absent, "");
      }
    }
  }
}

// Wherever one who changes is overtaken by a split, where no lock forbids it.
TEST_P(ShardGrowthStepsTest, WhoChangesIsNotDisturbed) {
  const auto change = [&](KvOp op, bool is_there) {
    int splits = 0;
    for (std::size_t k = 0; k < 6; ++k) {
      bool goes_on = true;
      for (int n = 0; goes_on; ++n) {
        begin(1, 40);
        const std::string key = is_there ? keys[k] : "new " + std::to_string(k);
        std::set<std::string> expected(keys.begin(), keys.end());
        goes_on = false;
        const auto between = [&](int step) {
          // Who changes something there has the lock of the home that the key has now.
          for (std::uint64_t i = 0; i < table->layout.groups; ++i) {
            if (table->group(i).version % 2 == 0) continue;
            ASSERT_EQ(table->group(table->shard.home_of(table->key(key))).home, 1U)
                << "step " << step << " of " << n;
          }
          if (step != n) return;
          goes_on = true;
          if (!table->is_locked() && table->shard.grow(kGrowthSoon) == SHMEMX_KV_OK) ++splits;
        };
        const Code status =
            in_steps([&](const auto& shard) { return execute(shard, op, key, value_of(key)); }, between);
        ASSERT_EQ(status, SHMEMX_KV_OK) << "step " << n;
        op == KvOp::remove ? (void)expected.erase(key) : (void)expected.insert(key);
        expect_sound(expected);
        ASSERT_EQ(get(table->shard, key, kUnlimited), op == KvOp::remove ? "" : value_of(key));
        if (HasFailure()) FAIL() << "step " << n << " of " << static_cast<int>(op);
      }
    }
    EXPECT_GT(splits, 6);
  };
  change(KvOp::put, true);
  change(KvOp::put, false);
  change(KvOp::insert, false);
  change(KvOp::remove, true);
}

// One who changes something in the midst of a split does it, or is told to come again: and who comes with
// little patience is not kept.
TEST_P(ShardGrowthStepsTest, ASplitIsNotDisturbed) {
  for (const KvOp op : {KvOp::put, KvOp::insert, KvOp::remove}) {
    bool goes_on = true;
    int done = 0, busy = 0;
    for (int n = 0; goes_on; ++n) {
      begin(1, 40);
      std::set<std::string> expected(keys.begin(), keys.end()), changed;
      goes_on = false;
      const auto between = [&](int step) {
        if (step != n) return;
        goes_on = true;
        for (int i = 0; i < 3 && !table->is_locked(); ++i) {
          const std::string key =
              op == KvOp::insert ? "new " + std::to_string(i) : keys[static_cast<std::size_t>(i)];
          const Code status = execute(table->shard, op, key, key + "?", kGrowthSoon);
          ASSERT_TRUE(status == SHMEMX_KV_OK || status == kBusy) << status;
          ++(status == SHMEMX_KV_OK ? done : busy);
          if (status != SHMEMX_KV_OK) continue;
          // Whichever copy it was, no other is left.
          const std::string seen = get(table->shard, key, kGrowthSoon);
          changed.insert(key);
          ASSERT_TRUE(seen == (op == KvOp::remove ? "" : key + "?") || seen == "?") << seen;
          op == KvOp::remove ? (void)expected.erase(key) : (void)expected.insert(key);
        }
      };
      ASSERT_EQ(in_steps([](const auto& shard) { return shard.grow(kUnlimited); }, between), SHMEMX_KV_OK);
      expect_sound(expected);
      for (const std::string& key : changed)
        ASSERT_EQ(get(table->shard, key, kUnlimited), op == KvOp::remove ? "" : key + "?") << "step " << n;
      if (HasFailure()) FAIL() << "step " << n << " of " << static_cast<int>(op);
    }
    EXPECT_GT(busy, 0);
    EXPECT_GT(done, 0);
  }
}

// Elements come once, wherever the iteration is when segments are split, and whichever are.
TEST_P(ShardGrowthStepsTest, IterationMeetsAllOnce) {
  for (const std::uint64_t segments : {1, 2, 3}) {
    bool goes_on = true;
    for (int n = 0; goes_on; n += 3) {
      begin(segments, 20);
      goes_on = false;
      const auto between = [&](int step) {
        if (step != n && step != n + 200) return;
        goes_on = true;
        if (table->shard.segments() < 8) {
          ASSERT_EQ(table->shard.grow(kUnlimited), SHMEMX_KV_OK);
        }
      };
      std::multiset<std::string> seen;
      in_steps([&](const auto& shard) { return seen = all(shard), 0; }, between);
      ASSERT_EQ(seen.size(), keys.size()) << "step " << n << ", " << segments << " segments";
      ASSERT_EQ(std::set<std::string>(seen.begin(), seen.end()).size(), keys.size()) << "step " << n;
    }
  }
}

// A reader stopped between two elements, for as many splits as there may be, with others that come meanwhile.
TEST_P(ShardGrowthStepsTest, IterationMeetsAllOnceHoweverMuchIsSplitMeanwhile) {
  for (std::size_t stop = 0; stop < 60; ++stop) {
    begin(1, 40);
    char key[16];
    Element element{key, sizeof key, 0, nullptr, 0, 0};
    std::set<std::string> seen;
    std::size_t n = 0;
    for (std::uint64_t cursor = 0; table->shard.next(cursor, element) == SHMEMX_KV_OK; ++n) {
      const std::string found(key, element.key_bytes);
      ASSERT_TRUE(seen.insert(found).second) << found << " twice, stop " << stop;
      if (n % 10 == stop % 10 && n >= stop / 10)
        for (int i = 0; i < 2; ++i) table->shard.grow(kUnlimited);
      if (n == stop)
        for (int i = 0; i < 30; ++i) table->put("new " + std::to_string(i), "x");
    }
    for (const std::string& each : keys) ASSERT_TRUE(seen.contains(each)) << each << ", stop " << stop;
  }
}

// No step of growing is longer than those before, however many elements there are; and each insertion has one
// of them to do at most.
TEST(ShardGrowthPauseTest, NoOperationDoesMoreThanOneSplit) {
  OneShard one{make_layout({16, 16, 100, 1, false}, {std::uint64_t{24} << 20, false})};
  std::uint64_t accesses = 0, most_early = 0, most = 0, splits = 0;
  const std::function<void()> step = [&] { ++accesses; };
  const Shard<Stepped> shard(Stepped(one.memory.get(), step), one.layout);
  for (std::uint64_t i = 0; i < 200000; ++i) {
    const std::string key = std::to_string(i);
    const std::uint64_t segments = one.shard.segments();
    accesses = 0;
    ValueRoom result;
    ASSERT_EQ(shard.execute({.op = KvOp::put, .key = one.key(key), .value = "x", .n = 1}, result, kUnlimited),
              SHMEMX_KV_OK);
    const std::uint64_t made = one.shard.segments() - segments;
    ASSERT_LE(made, 1U) << i;
    splits += made;
    (i < 5000 ? most_early : most) = std::max(i < 5000 ? most_early : most, accesses);
  }
  EXPECT_GT(splits, 100U);
  EXPECT_LE(most, most_early * 5 / 4);
  EXPECT_LE(most, 2 * one.layout.segment_groups * (one.layout.group_bytes / 8 + 20)) << "read, and written";
}

}  // namespace
}  // namespace shm::kv
