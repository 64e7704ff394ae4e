// SPDX-License-Identifier: BSD-3-Clause
// How many groups an operation looks at: whatever the table's history, and as full as it gets.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "kv/shard_operations.hpp"
#include "shard_fixture.hpp"

namespace shm::kv {
namespace {

/// As Mapped; notes which groups are touched.
class Counting {
 public:
  static constexpr bool kWordsAreQuick = true;

  Counting(std::byte* shard, const ShardLayout& layout, std::vector<std::uint64_t>& groups)
      : memory_(shard), layout_(&layout), groups_(&groups) {}

  template <class T>
  T load(std::uint64_t at) const {
    return note(at), memory_.load<T>(at);
  }
  template <class T>
  void store(std::uint64_t at, T word) const {
    note(at), memory_.store(at, word);
  }
  template <class T>
  T add(std::uint64_t at, T more) const {
    return note(at), memory_.add(at, more);
  }
  template <class T>
  bool compare_swap(std::uint64_t at, T expected, T desired) const {
    return note(at), memory_.compare_swap(at, expected, desired);
  }
  void prefetch(std::uint64_t) const {}
  void expect(std::uint64_t, bool) const {}
  void read(std::uint64_t at, void* to, std::size_t n) const { note(at), memory_.read(at, to, n); }
  void write(std::uint64_t at, const void* from, std::size_t n) const {
    note(at), memory_.write(at, from, n);
  }
  bool is(std::uint64_t at, const void* bytes, std::size_t n) const {
    return note(at), memory_.is(at, bytes, n);
  }
  void look_again(unsigned) const {}

 private:
  void note(std::uint64_t at) const {
    if (at < layout_->groups_at || at >= layout_->end_of(layout_->most_segments)) return;
    const std::uint64_t group = (at - layout_->groups_at) / layout_->group_bytes;
    if (std::ranges::find(*groups_, group) == groups_->end()) groups_->push_back(group);
  }

  Mapped memory_;
  const ShardLayout* layout_;
  std::vector<std::uint64_t>* groups_;
};

struct Reach {
  double mean = 0;
  std::size_t most = 0;
};

class ShardReachTest : public ::testing::Test {
 protected:
  /// Groups that the operation touches on the key `number`.
  std::size_t touch(KvOp op, std::uint64_t number, Code expected) {
    groups_.clear();
    KvRequest request{.op = op,
                      .key = {hash_of(nullptr, &number, sizeof number), &number, sizeof number},
                      .value = &number,
                      .n = sizeof number};
    ValueRoom result;
    EXPECT_EQ(shard_.execute(request, result, kUnlimited), expected) << number;
    return groups_.size();
  }
  Reach reach(KvOp op, std::uint64_t first, std::uint64_t end, Code expected) {
    Reach reach;
    for (std::uint64_t number = first; number < end; ++number) {
      const std::size_t groups = touch(op, number, expected);
      reach.mean += static_cast<double>(groups);
      reach.most = std::max(reach.most, groups);
    }
    reach.mean /= static_cast<double>(end - first);
    return reach;
  }
  Reach reach_of_absent() { return reach(KvOp::contains, kAbsent, kAbsent + 20000, SHMEMX_KV_NOT_FOUND); }
  std::uint64_t slots() const { return table_.layout.groups * kSlots; }

  static constexpr std::uint64_t kAbsent = std::uint64_t{1} << 40;  // keys that nobody inserts
  OneShard table_{make_layout(8, 8, 30000, 1, false)};
  std::vector<std::uint64_t> groups_;
  const Shard<Counting> shard_{Counting(table_.memory.get(), table_.layout, groups_), table_.layout};
};

TEST_F(ShardReachTest, ATableThatWasFullOnceIsAsFastAsANewOne) {
  const std::uint64_t few = slots() / 10;
  reach(KvOp::insert, 0, few, SHMEMX_KV_OK);
  const Reach fresh = reach_of_absent();
  const std::uint64_t all = table_.layout.most_elements();
  reach(KvOp::insert, few, all, SHMEMX_KV_OK);
  reach(KvOp::remove, 0, all - few, SHMEMX_KV_OK);
  const Reach used = reach_of_absent();
  std::printf("an absent key: %.3f groups in a new table, %.3f in one that was full\n", fresh.mean,
              used.mean);
  EXPECT_LE(used.mean, 2 * fresh.mean);
  EXPECT_LE(used.most, 2U);
  EXPECT_LE(reach(KvOp::contains, all - few, all, SHMEMX_KV_OK).most, 2U);
}

TEST_F(ShardReachTest, AFullTableLooksAtTwoGroups) {
  const std::uint64_t full = slots() * 95 / 100;
  reach(KvOp::insert, 0, full * 9 / 10, SHMEMX_KV_OK);
  const Reach inserts = reach(KvOp::insert, full * 9 / 10, full, SHMEMX_KV_OK);
  const Reach present = reach(KvOp::contains, 0, full, SHMEMX_KV_OK), absent = reach_of_absent();
  std::printf(
      "at load 0.95: %.3f groups for a present key, %.3f for an absent one; inserts on the way %.2f, %zu\n",
      present.mean, absent.mean, inserts.mean, inserts.most);
  EXPECT_LE(present.most, 2U);
  EXPECT_LE(absent.most, 2U);
  EXPECT_LE(inserts.mean, 8);
  EXPECT_LE(reach(KvOp::update, 0, full, SHMEMX_KV_OK).most, 2U);
  // And what is refused costs less than what is accepted.
  reach(KvOp::insert, full, table_.layout.most_elements(), SHMEMX_KV_OK);
  EXPECT_LE(reach(KvOp::insert, kAbsent, kAbsent + 1000, SHMEMX_KV_FULL).most, 2U);
}

// A key is inserted and the oldest one removed, again and again.
TEST_F(ShardReachTest, ComingAndGoingLeavesNothingBehind) {
  const std::uint64_t size = slots() * 3 / 4;
  reach(KvOp::insert, 0, size, SHMEMX_KV_OK);
  const Reach before_absent = reach_of_absent(), before = reach(KvOp::contains, 0, size, SHMEMX_KV_OK);
  constexpr std::uint64_t kRounds = 1000000;
  for (std::uint64_t i = 0; i < kRounds; ++i) {
    touch(KvOp::remove, i, SHMEMX_KV_OK);
    touch(KvOp::insert, i + size, SHMEMX_KV_OK);
  }
  const Reach absent = reach_of_absent(),
              present = reach(KvOp::contains, kRounds, kRounds + size, SHMEMX_KV_OK);
  std::printf("after %d: present %.3f, was %.3f; absent %.3f, was %.3f\n", static_cast<int>(kRounds),
              present.mean, before.mean, absent.mean, before_absent.mean);
  EXPECT_LE(present.mean, 1.05 * before.mean);
  EXPECT_LE(absent.mean, 1.05 * before_absent.mean);
}

// So many elements as were asked for have room, whatever their hashes are by chance.
TEST(ShardCapacityTest, HasTheRoomThatWasAskedFor) {
  std::mt19937_64 dice(test_seed());
  for (std::uint64_t capacity = 1; capacity < 100000; capacity += 1 + capacity / 9) {
    OneShard table(make_layout(8, 8, capacity, 1, false));
    table.hash = [](const void* key, std::size_t n) { return hash_of(nullptr, key, n); };
    for (std::uint64_t i = 0; i < capacity; ++i) {
      const std::uint64_t key = dice();
      const std::string text(reinterpret_cast<const char*>(&key), sizeof key);
      ASSERT_EQ(table.put(text, "x"), SHMEMX_KV_OK) << i << " of " << capacity;
    }
    // And most of what there is: then it says that it is full, not before.
    while (table.put(std::to_string(dice() % 100000000), "x") == SHMEMX_KV_OK) {
    }
    ASSERT_EQ(table.shard.elements(), table.layout.most_elements()) << capacity;
  }
}

}  // namespace
}  // namespace shm::kv
