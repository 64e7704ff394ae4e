// SPDX-License-Identifier: BSD-3-Clause
#include "kv/layout.hpp"

#include <gtest/gtest.h>

namespace shm::kv {
namespace {

TEST(LayoutTest, ShortElementsLieInTheirSlots) {
  const ShardLayout layout = make_layout(8, 8, 1000, 1, false);
  EXPECT_TRUE(layout.inlined);
  EXPECT_EQ(layout.slot_bytes, 16u);
  EXPECT_EQ(layout.group_bytes, 320u) << "a line and 14 slots";
  EXPECT_EQ(layout.chunks, 0u);
  EXPECT_FALSE(make_layout(8, 8, 1000, 1, true).inlined) << "collisions are told by hashes in slots";
  EXPECT_FALSE(make_layout(8, 121, 1000, 1, false).inlined);
  EXPECT_TRUE(make_layout(8, 120, 1000, 1, false).inlined) << "two lines";
  EXPECT_TRUE(make_layout(1, 0, 1000, 1, false).inlined);
}

TEST(LayoutTest, HasRoomForWhatWasAskedFor) {
  for (const std::uint64_t capacity : {1, 2, 13, 14, 15, 1000, 1000000}) {
    for (const unsigned npes : {1u, 2u, 7u, 1000u}) {
      const ShardLayout layout = make_layout(8, 8, capacity, npes, false);
      EXPECT_GE(layout.groups * kSlots * npes, capacity) << capacity << " elements, " << npes << " PEs";
    }
  }
}

// A third more slots than elements, and for what PEs get by chance six standard deviations more than the
// mean.
TEST(LayoutTest, HasRoomForKeysThatPassTheirHome) {
  const auto groups_for = [](std::uint64_t elements) { return (elements / 3 * 4 + 14 + 13) / 14; };
  EXPECT_EQ(make_layout(8, 8, 3000, 1, false).groups, groups_for(3000));
  EXPECT_EQ(make_layout(8, 8, 10000, 4, false).groups, groups_for(2500 + 6 * 50 + 1));
  EXPECT_EQ(make_layout(8, 8, 10, 4, false).groups, groups_for(10)) << "no more than all";
}

TEST(LayoutTest, PartsFollowOneAnother) {
  for (const std::uint64_t key : {1, 8, 13, 255, 256, 65536}) {
    for (const std::uint64_t value : {0, 1, 8, 100, 255, 256, 1000, 4096, 1 << 20}) {
      const ShardLayout layout = make_layout(key, value, 100, 2, false);
      EXPECT_GE(layout.orders_at, sizeof(ShardHeader));
      EXPECT_LE(layout.orders_at, layout.directory_at);
      EXPECT_LE(layout.entry_at(layout.directory_entries()), layout.groups_at);
      EXPECT_EQ(layout.directory_groups * layout.group_bytes, layout.groups_at - layout.directory_at);
      EXPECT_EQ(layout.group_bytes % 64, 0u);
      EXPECT_LE(layout.slot_at(0, kSlots), layout.group_at(1));
      EXPECT_LE(layout.end_of(layout.most_segments), layout.blocks_at);
      if (layout.inlined) continue;
      EXPECT_GE(layout.largest_block, sizeof(Block) + padded(key) + padded(value));
      EXPECT_LE(layout.largest_block, (sizeof(Block) + padded(key) + padded(value)) * 9 / 8 + 64)
          << "an eighth, and a line";
      EXPECT_EQ(layout.largest_block >> (layout.orders - 1), layout.smallest_block);
      EXPECT_EQ(layout.smallest_block << (layout.orders - 1), layout.largest_block);
      EXPECT_EQ(layout.smallest_block % 64, 0u);
      EXPECT_EQ(layout.chunks, layout.groups * kSlots);
    }
  }
}

}  // namespace
}  // namespace shm::kv
