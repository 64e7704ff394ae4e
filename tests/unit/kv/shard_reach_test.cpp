// SPDX-License-Identifier: BSD-3-Clause
// How many groups an operation looks at: whatever the table's history, and as full as it gets.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "noting.hpp"
#include "shard_fixture.hpp"

namespace shm::kv {
namespace {

/// Which groups are touched.
struct NoteGroups {
  const ShardLayout* layout;
  std::vector<std::uint64_t>* groups;

  void operator()(std::uint64_t at, std::size_t) const {
    if (at < layout->groups_at || at >= layout->end_of(layout->most_segments)) return;
    const std::uint64_t group = (at - layout->groups_at) / layout->group_bytes;
    if (std::ranges::find(*groups, group) == groups->end()) groups->push_back(group);
  }
};

struct Reach {
  double mean = 0;
  std::size_t most = 0;
};

/// A table as programs have them: segments of 128 to 256 groups.
struct Kind {
  const char* name;
  std::uint64_t capacity;  // that it is made for
  std::uint64_t segments;  // that its memory is for
};
// Made for what it gets; grown from one segment by splits; the same where its memory ends when half of the
// segments of a round have been split.
constexpr Kind kKinds[] = {{"made", 30000, 16}, {"grown", 100, 32}, {"grown_halfway", 100, 24}};

ShardLayout layout_of(const Kind& kind) {
  const ShardShape shape{8, 8, kind.capacity, 1, false};
  std::uint64_t bytes = bytes_for(shape, true);
  for (;; bytes += 4096) {
    const ShardLayout layout = make_layout(shape, {bytes, false});
    if (layout.most_segments >= kind.segments) return layout;
  }
}

class ShardReachTest : public ::testing::TestWithParam<Kind> {
 protected:
  ShardReachTest() {
    EXPECT_GE(table_.layout.segment_groups, 128U);
    EXPECT_LE(table_.layout.segment_groups, kMostGroupsOfSegment);
    EXPECT_EQ(table_.layout.most_segments, GetParam().segments);
  }

  /// What becomes of the key `number`; groups_ has the groups that were touched.
  Code execute(KvOp op, std::uint64_t number) {
    groups_.clear();
    KvRequest request{.op = op,
                      .key = {hash_of(nullptr, &number, sizeof number), &number, sizeof number},
                      .value = &number,
                      .n = sizeof number};
    ValueRoom result;
    return shard_.execute(request, result, kUnlimited);
  }
  std::size_t touch(KvOp op, std::uint64_t number, Code expected) {
    EXPECT_EQ(execute(op, number), expected) << number;
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
  /// Inserts keys from `number` on until one is refused, whose number is returned.
  std::uint64_t fill(std::uint64_t number) {
    Code status;
    while ((status = execute(KvOp::insert, number)) == SHMEMX_KV_OK) ++number;
    EXPECT_EQ(status, SHMEMX_KV_FULL);
    EXPECT_EQ(shard_.segments(), GetParam().segments);
    return number;
  }
  /// When its memory is used up.
  std::uint64_t slots() const { return table_.layout.groups * kSlots; }
  void print(const char* what, const Reach& present, const Reach& absent) const {
    std::printf("%-13s %-42s present %.3f, absent %.3f\n", GetParam().name, what, present.mean, absent.mean);
  }

  static constexpr std::uint64_t kAbsent = std::uint64_t{1} << 40;  // keys that nobody inserts
  OneShard table_{layout_of(GetParam())};
  std::vector<std::uint64_t> groups_;
  const Shard<Noting<NoteGroups>> shard_{{table_.memory.get(), {&table_.layout, &groups_}}, table_.layout};
};
INSTANTIATE_TEST_SUITE_P(All, ShardReachTest, ::testing::ValuesIn(kKinds),
                         [](const auto& given) { return std::string(given.param.name); });

TEST_P(ShardReachTest, ATableThatWasFullOnceIsAsFastAsANewOne) {
  const std::uint64_t few = slots() / 10;
  reach(KvOp::insert, 0, few, SHMEMX_KV_OK);
  const Reach fresh = reach_of_absent();
  const std::uint64_t all = fill(few);
  reach(KvOp::remove, 0, all - few, SHMEMX_KV_OK);
  const Reach used = reach_of_absent(), present = reach(KvOp::contains, all - few, all, SHMEMX_KV_OK);
  print("was full, has its newest tenth", present, used);
  EXPECT_LE(used.mean, 2 * fresh.mean);
  EXPECT_LE(used.most, 2U);
  EXPECT_LE(present.most, 2U);
}

TEST_P(ShardReachTest, AFullTableLooksAtTwoGroups) {
  const std::uint64_t all = fill(0);
  const Reach present = reach(KvOp::contains, 0, all, SHMEMX_KV_OK), absent = reach_of_absent();
  char load[64];
  std::snprintf(load, sizeof load, "full: %.1f of 100 slots taken",
                100.0 * static_cast<double>(all) / static_cast<double>(slots()));
  print(load, present, absent);
  EXPECT_LE(present.most, 2U);
  EXPECT_LE(absent.most, 2U);
  EXPECT_LE(reach(KvOp::update, 0, all, SHMEMX_KV_OK).most, 2U);
}

// Beside splits, which are counted for themselves.
TEST_P(ShardReachTest, InsertsLookAtFewGroupsOnTheWayToFull) {
  double groups = 0;
  std::uint64_t inserts = 0, splits = 0, segments = shard_.segments();
  std::size_t most_of_split = 0;
  Code status;
  for (std::uint64_t number = 0; (status = execute(KvOp::insert, number)) == SHMEMX_KV_OK; ++number) {
    if (shard_.segments() != segments) {
      EXPECT_EQ(shard_.segments(), segments + 1) << number;
      segments = shard_.segments();
      most_of_split = std::max(most_of_split, groups_.size());
      ++splits;
    } else {
      groups += static_cast<double>(groups_.size());
      ++inserts;
    }
  }
  EXPECT_EQ(status, SHMEMX_KV_FULL);
  std::printf("%-13s %llu inserts: %.2f groups; %llu splits, the largest %zu\n", GetParam().name,
              static_cast<unsigned long long>(inserts), groups / static_cast<double>(inserts),
              static_cast<unsigned long long>(splits), most_of_split);
  EXPECT_LE(groups / static_cast<double>(inserts), 3);
  // Both segments, and where the key was looked for.
  EXPECT_LE(most_of_split, 2 * table_.layout.segment_groups + 2 * kAlternates);
}

// A key is inserted and the oldest one removed, again and again.
TEST_P(ShardReachTest, ComingAndGoingLeavesNothingBehind) {
  // Halfway two thirds are FULL: segments that have not been split are twice as full as the others.
  const bool is_whole_round = std::has_single_bit(GetParam().segments);
  const std::uint64_t size = is_whole_round ? slots() * 3 / 4 : slots() * 3 / 5;
  const char* const load = is_whole_round ? "3 of 4 slots taken" : "3 of 5 slots taken";
  reach(KvOp::insert, 0, size, SHMEMX_KV_OK);
  const Reach before_absent = reach_of_absent(), before = reach(KvOp::contains, 0, size, SHMEMX_KV_OK);
  print(load, before, before_absent);
  constexpr std::uint64_t kRounds = 1000000;
  for (std::uint64_t i = 0; i < kRounds; ++i) {
    touch(KvOp::remove, i, SHMEMX_KV_OK);
    touch(KvOp::insert, i + size, SHMEMX_KV_OK);
  }
  const Reach absent = reach_of_absent(),
              present = reach(KvOp::contains, kRounds, kRounds + size, SHMEMX_KV_OK);
  print("the same after 1,000,000 have come and gone", present, absent);
  EXPECT_LE(present.most, 2U);
  EXPECT_LE(absent.most, 2U);
  EXPECT_LE(present.mean, 1.05 * before.mean);
  EXPECT_LE(absent.mean, 1.05 * before_absent.mean);
}

// Room is looked for in the segment of the key, by a number of looks that is bounded as well (shard_room).
TEST_P(ShardReachTest, AnInsertThatIsRefusedLooksAtOneSegment) {
  const std::uint64_t all = fill(0);
  double groups = 0;
  std::size_t refused = 0, most = 0;
  for (std::uint64_t number = all; refused < 1000; ++number) {
    const Code status = execute(KvOp::insert, number);
    if (status == SHMEMX_KV_OK) continue;
    ASSERT_EQ(status, SHMEMX_KV_FULL) << number;
    ++refused;
    groups += static_cast<double>(groups_.size());
    most = std::max(most, groups_.size());
  }
  std::printf("%-13s a refused insert: %.1f groups, at most %zu of %llu\n", GetParam().name,
              groups / static_cast<double>(refused), most,
              static_cast<unsigned long long>(table_.layout.segment_groups));
  EXPECT_LE(most, table_.layout.segment_groups);
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

// The same of tables with segments, without memory to grow: some segment is full first, by chance.
TEST(ShardCapacityTest, SegmentsHaveTheRoomThatWasAskedFor) {
  std::mt19937_64 dice(test_seed());
  for (std::uint64_t capacity = 1; capacity < 100000; capacity += 1 + capacity / 4) {
    const ShardShape shape{8, 8, capacity, 1, false};
    OneShard table(make_layout(shape, {bytes_for(shape, true), false}));
    for (std::uint64_t i = 0; i < capacity; ++i) {
      const std::uint64_t key = dice();
      const std::string text(reinterpret_cast<const char*>(&key), sizeof key);
      ASSERT_EQ(table.put(text, "x"), SHMEMX_KV_OK) << i << " of " << capacity;
    }
    while (table.put(std::to_string(dice() % 100000000), "x") == SHMEMX_KV_OK) {
    }
    // Of the 2000 or so slots of a segment six standard deviations are less than 15 in 100.
    ASSERT_GE(table.shard.elements() * 100, table.shard.slots() * 85) << capacity;
  }
}

}  // namespace
}  // namespace shm::kv
