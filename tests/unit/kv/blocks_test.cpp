// SPDX-License-Identifier: BSD-3-Clause
#include "kv/blocks.hpp"

#include <gtest/gtest.h>

#include <map>

#include "shard_fixture.hpp"

namespace shm::kv {
namespace {

class BlocksTest : public ::testing::Test {
 protected:
  // One group: 14 blocks of 8 KiB and a bit.
  const ShardLayout layout = make_layout(8, 8192, 1, 1, false);
  const Lines memory = zeros(layout.bytes);
  const Mapped mapped{memory.get()};
  BlockAllocator<Mapped> blocks{mapped, layout};
};

TEST_F(BlocksTest, ThereIsOneOfTheLargestForEachSlot) {
  std::vector<std::uint64_t> all;
  for (unsigned i = 0; i < kSlots; ++i) all.push_back(blocks.take(layout.largest_block));
  for (const std::uint64_t block : all) EXPECT_NE(block, 0u);
  EXPECT_EQ(blocks.take(1), 0u);
  EXPECT_EQ(blocks.used(), kSlots * layout.largest_block);
  for (const std::uint64_t block : all) blocks.give_back(block);
  EXPECT_EQ(blocks.used(), 0u);
}

TEST_F(BlocksTest, HalvesThatAreFreeAreJoinedAgain) {
  std::vector<std::uint64_t> small;
  for (std::uint64_t block; (block = blocks.take(layout.smallest_block)) != 0;) small.push_back(block);
  EXPECT_EQ(small.size() * layout.smallest_block, kSlots * layout.largest_block);
  for (std::size_t i = 0; i < small.size(); i += 2) blocks.give_back(small[i]);
  EXPECT_EQ(blocks.take(2 * layout.smallest_block), 0u);
  for (std::size_t i = 1; i < small.size(); i += 2) blocks.give_back(small[i]);
  for (unsigned i = 0; i < kSlots; ++i) EXPECT_NE(blocks.take(layout.largest_block), 0u);
}

// However lengths change: with fewer elements than slots there is room for the longest.
TEST_F(BlocksTest, RandomLengthsNeverOverlapAndOneMoreAlwaysHasRoom) {
  std::mt19937_64 dice(test_seed());
  std::map<std::uint64_t, std::uint64_t> taken;  // block, bytes asked for
  for (int i = 0; i < 20000; ++i) {
    if (taken.size() < kSlots && dice() % 2 == 0) {
      const std::uint64_t n = dice() % 4 == 0 ? layout.largest_block : 1 + dice() % layout.largest_block;
      const std::uint64_t block = blocks.take(n);
      ASSERT_NE(block, 0u) << "with " << taken.size() << " blocks in use";
      ASSERT_GE(block, layout.blocks_at);
      ASSERT_LE(block + n, layout.bytes);
      const auto next = taken.lower_bound(block);
      if (next != taken.end()) {
        ASSERT_LE(block + n, next->first);
      }
      if (next != taken.begin()) {
        ASSERT_LE(std::prev(next)->first + std::prev(next)->second, block);
      }
      taken[block] = n;
      std::memset(memory.get() + block, 0xee, n);
    } else if (!taken.empty()) {
      const auto victim = std::next(taken.begin(), static_cast<std::ptrdiff_t>(dice() % taken.size()));
      blocks.give_back(victim->first);
      taken.erase(victim);
    }
  }
}

}  // namespace
}  // namespace shm::kv
