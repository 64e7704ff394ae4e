// SPDX-License-Identifier: BSD-3-Clause
// What it costs to go over all elements: of each step, and of each element.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "noting.hpp"
#include "shard_fixture.hpp"

namespace shm::kv {
namespace {

std::string numbered(const char* text, std::uint64_t i) { return text + std::to_string(i); }

/// Which groups are accessed, and how often keys and values are read, by their slots in all groups.
struct Accesses {
  explicit Accesses(const ShardLayout& of)
      : layout(of), keys(of.groups * kSlots), values(of.groups * kSlots) {}

  void note(std::uint64_t at, std::size_t n) {
    if (at < layout.groups_at || at >= layout.end_of(layout.most_segments)) return;
    const std::uint64_t group = (at - layout.groups_at) / layout.group_bytes;
    if (std::ranges::find(groups, group) == groups.end()) groups.push_back(group);
    if (at < layout.slot_at(group, 0)) return;
    const std::uint64_t slot = (at - layout.slot_at(group, 0)) / layout.slot_bytes;
    const std::uint64_t value_at = layout.value_at(layout.slot_at(group, static_cast<unsigned>(slot)));
    keys[group * kSlots + slot] += at < value_at ? 1 : 0;
    values[group * kSlots + slot] += at + n > value_at ? 1 : 0;
  }
  void forget() {
    groups.clear();
    std::ranges::fill(keys, 0);
    std::ranges::fill(values, 0);
  }

  const ShardLayout& layout;
  std::vector<std::uint64_t> groups;
  std::vector<unsigned> keys, values;
};
struct NoteAccesses {
  Accesses* to;
  void operator()(std::uint64_t at, std::size_t n) const { to->note(at, n); }
};

class ShardIterationTest : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kElements = 1200;

  void SetUp() override {
    for (std::uint64_t i = 0; i < kElements; ++i)
      ASSERT_EQ(one_.put(numbered("stays ", i), "0123456789"), SHMEMX_KV_OK);
    ASSERT_EQ(one_.shard.segments(), 1U);
  }
  /// Until there are so many segments.
  void grow(std::uint64_t segments) {
    for (std::uint64_t i = 0; one_.shard.segments() < segments; ++i)
      ASSERT_EQ(one_.put(numbered("more ", i), "x"), SHMEMX_KV_OK);
  }
  Code step(std::uint64_t& cursor) {
    seen_.groups.clear();
    const Code status = shard_.next_here(cursor, element_);
    if (status == SHMEMX_KV_OK && key_[0] == 's') {
      EXPECT_TRUE(came_.insert(std::string(key_, element_.key_bytes)).second) << key_;
    }
    return status;
  }

  OneShard one_{make_layout({16, 16, 100, 1, false}, {std::uint64_t{32} << 20, false})};
  Accesses seen_{one_.layout};
  const Shard<Noting<NoteAccesses>> shard_{{one_.memory.get(), {&seen_}}, one_.layout};
  char key_[16], value_[16];
  Element element_{key_, sizeof key_, 0, value_, sizeof value_, 0};
  std::set<std::string> came_;
};

TEST_F(ShardIterationTest, ReadsEachElementOnce) {
  for (std::uint64_t cursor = 0; !shard_.is_at_end(cursor);) step(cursor);
  EXPECT_EQ(came_.size(), kElements);
  EXPECT_EQ(std::ranges::max(seen_.keys), 1U);
  EXPECT_EQ(std::ranges::max(seen_.values), 1U);
  EXPECT_EQ(std::ranges::count(seen_.values, 1U), static_cast<std::ptrdiff_t>(kElements));
}

// After splits, keys, whose hashes say which element is next, are read for each one of their home in the
// segment.
TEST_F(ShardIterationTest, ReadsEachValueOnceAfterSplits) {
  std::uint64_t cursor = 0;
  while (step(cursor) != SHMEMX_KV_OK) {
  }
  grow(40);
  seen_.forget();
  while (!shard_.is_at_end(cursor)) step(cursor);
  EXPECT_EQ(came_.size(), kElements);
  EXPECT_EQ(std::ranges::max(seen_.values), 1U);
  EXPECT_LE(std::ranges::max(seen_.keys), 4 * kSlots);
}

// However many segments have become of the one that it was begun in: a step is what a request of another node
// may take a thousand of.
TEST_F(ShardIterationTest, AStepLooksAtOneSegment) {
  std::uint64_t cursor = 0;
  for (int i = 0; i < 5; ++i) step(cursor);  // some elements of a home
  grow(130);
  const std::uint64_t homes = one_.layout.segment_groups, all = one_.shard.segments();
  std::uint64_t steps = 0;
  for (; !shard_.is_at_end(cursor); ++steps) {
    step(cursor);
    ASSERT_FALSE(seen_.groups.empty());
    ASSERT_EQ(std::ranges::min(seen_.groups) / homes, std::ranges::max(seen_.groups) / homes);
    ASSERT_LE(seen_.groups.size(), 1 + kAlternates);
  }
  EXPECT_EQ(came_.size(), kElements);
  EXPECT_LE(steps, homes * all + one_.shard.elements());
}

// A request that finds nothing in all its steps says where to go on.
TEST_F(ShardIterationTest, AScanGoesOnWithoutElements) {
  std::uint64_t cursor = 0;
  for (int i = 0; i < 5; ++i) step(cursor);
  grow(130);
  for (std::uint64_t i = 0; i < 1000000 && one_.shard.elements() != 0; ++i)
    one_.remove(numbered("more ", i)), one_.remove(numbered("stays ", i));
  ASSERT_EQ(one_.shard.elements(), 0U);
  std::byte room[1024];
  std::uint64_t requests = 0;
  for (Code status = SHMEMX_KV_OK; status == SHMEMX_KV_OK; ++requests) {
    ValueRoom result{room, 0};
    seen_.groups.clear();
    status =
        shard_.execute({.op = KvOp::scan, .key = {}, .n = sizeof room, .offset = cursor}, result, kUnlimited);
    ASSERT_LE(seen_.groups.size(), 1024U);
    ASSERT_TRUE(status == SHMEMX_KV_OK || status == SHMEMX_KV_NOT_FOUND);
    if (status == SHMEMX_KV_OK) std::memcpy(&cursor, room, sizeof cursor);
  }
  EXPECT_GE(requests, one_.layout.segment_groups * one_.shard.segments() / 1024);
}

}  // namespace
}  // namespace shm::kv
