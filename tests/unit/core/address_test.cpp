// SPDX-License-Identifier: BSD-3-Clause
#include "core/address.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "core/region.hpp"
#include "core/team.hpp"

namespace shm {
namespace {

// A runtime of three PEs: this one (0), one on this node (1), one on another (2).
class AddressTest : public ::testing::Test {
 protected:
  static constexpr std::size_t kSize = 4096;

  void SetUp() override {
    deltas_[1] = peer - mine;
    rt.npes = 3;
    rt.me = 0;
    rt.heap = {reinterpret_cast<std::uintptr_t>(mine), kSize, deltas_};
  }
  void TearDown() override {
    rt.npes = 0;
    rt.heap = {};
  }

  alignas(64) std::byte memory_[2 * kSize] = {};
  std::byte* mine = memory_;
  std::byte* peer = memory_ + kSize;
  std::ptrdiff_t deltas_[3] = {0, 0, kNoMapping};
};
using AddressDeathTest = AddressTest;

TEST_F(AddressTest, PlacesAreNamedByWhatTheyAreIn) {
  alignas(64) std::byte variables[64];
  rt.statics = {reinterpret_cast<std::uintptr_t>(variables), sizeof variables, deltas_};
  EXPECT_STREQ(PlaceName(mine).text, "heap+0");
  EXPECT_STREQ(PlaceName(mine + kSize - 1).text, "heap+0xfff");
  EXPECT_STREQ(PlaceName(variables + 16).text, "variables+0x10");
  EXPECT_STREQ(PlaceName(nullptr).text, "NULL");
  EXPECT_STREQ(PlaceName(reinterpret_cast<void*>(0x10)).text, "0x10");
  rt.statics = {};
}

constexpr Call kCall{"shmem_long_put"};

TEST(SymmetricSegment, HoldsExactlyItsRange) {
  const SymmetricSegment segment{1000, 100, nullptr};
  EXPECT_TRUE(segment.holds(1000, 100));
  EXPECT_TRUE(segment.holds(1099, 1));
  EXPECT_FALSE(segment.holds(1099, 2));
  EXPECT_FALSE(segment.holds(999, 1));
  EXPECT_FALSE(segment.holds(1001, SIZE_MAX));
  EXPECT_FALSE(SymmetricSegment().holds(0, 1)) << "before init nothing is symmetric";
}

// The first bytes may be the library's: the program's begin behind them, and offsets count from the first.
TEST(SymmetricSegment, HoldsNothingThatIsHidden) {
  const SymmetricSegment segment{1000, 100, nullptr, 40};
  EXPECT_EQ(segment.origin, 1000u);
  EXPECT_TRUE(segment.holds(1040, 60));
  EXPECT_FALSE(segment.holds(1039, 1));
  EXPECT_FALSE(segment.holds(1040, 61));
  EXPECT_TRUE(segment.starts(1040));
  EXPECT_FALSE(segment.starts(1039));
  EXPECT_TRUE(segment.starts(1083));
  EXPECT_FALSE(segment.starts(1085)) << "a large element would end behind it";
  EXPECT_FALSE(SymmetricSegment(1000, 10, nullptr).starts(1000)) << "no large element has room";
}

TEST_F(AddressTest, MapsOwnAndNodePeersMemory) {
  EXPECT_EQ(mapped(mine + 8, 16, 0), mine + 8);
  EXPECT_EQ(mapped(mine + 8, 16, 1), peer + 8);
  EXPECT_EQ(mapped(mine + kSize - 16, 16, 1), peer + kSize - 16);
}

TEST_F(AddressTest, MapsNothingElse) {
  EXPECT_EQ(mapped(mine, 8, 2), nullptr) << "another node";
  EXPECT_EQ(mapped(mine, 8, 3), nullptr) << "no such PE";
  EXPECT_EQ(mapped(mine, 8, -1), nullptr);
  EXPECT_EQ(mapped(mine + kSize - 8, 16, 1), nullptr) << "past the end";
  EXPECT_EQ(mapped(peer, 8, 1), nullptr) << "not symmetric";
  rt.npes = 0;
  EXPECT_EQ(mapped(mine, 8, 0), nullptr) << "not initialised";
}

TEST_F(AddressTest, ResolvesToAPlaceOnAnotherNode) {
  const Target remote = resolve(kCall, "dest", mine + 24, 8, 2);
  EXPECT_EQ(remote.local, nullptr);
  EXPECT_EQ(remote.region, nullptr);
  EXPECT_EQ(remote.remote.segment, SegmentId::heap);
  EXPECT_EQ(remote.remote.offset, 24U);
  EXPECT_EQ(resolve(kCall, "dest", mine + 24, 8, 1).local, peer + 24);
}

TEST_F(AddressTest, MapsWordsOnlyWhereTheyAreAligned) {
  EXPECT_EQ(mapped_word(reinterpret_cast<long*>(mine + 8), 1), reinterpret_cast<long*>(peer + 8));
  EXPECT_EQ(mapped_word(reinterpret_cast<int*>(mine + 12), 1), reinterpret_cast<int*>(peer + 12));
  for (int off : {1, 2, 4, 7}) EXPECT_EQ(mapped_word(reinterpret_cast<long*>(mine + 8 + off), 1), nullptr);
  EXPECT_EQ(mapped_word(reinterpret_cast<long*>(mine + 8), 2), nullptr) << "another node";
}

// The one comparison of the fast path misses the last bytes of a segment; the slow path finds them.
TEST_F(AddressTest, ReachesTheLastElement) {
  auto* last = reinterpret_cast<long*>(mine + kSize) - 1;
  const Target target = resolve(kCall, "dest", last, sizeof *last, 1);
  EXPECT_EQ(target.local, peer + kSize - sizeof *last);
  EXPECT_EQ(mapped(reinterpret_cast<long*>(mine), 1), reinterpret_cast<long*>(peer));
  EXPECT_EQ(mapped(last + 1, 1), nullptr);
}

TEST_F(AddressDeathTest, MistakesAreNamed) {
  EXPECT_DEATH(resolve(kCall, "dest", mine, 8, 3), "shmem_long_put: pe is 3; allowed is 0 to 2");
  EXPECT_DEATH(resolve(kCall, "dest", mine, 8, -1), "shmem_long_put: pe is -1; allowed is 0 to 2");
  EXPECT_DEATH(resolve(kCall, "dest", peer, 8, 1), "dest 0x[0-9a-f]+ is not a symmetric address");
  char end[32];
  std::snprintf(end, sizeof end, "%p\n", static_cast<void*>(mine + kSize));
  EXPECT_DEATH(
      resolve(kCall, "source", mine + 4090, 8, 1),
      std::string("source 0x[0-9a-f]+ and the 8 bytes .* past the end of the symmetric heap at ") + end);
  EXPECT_DEATH(check_array(kCall, "indices", nullptr, 5),
               "shmem_long_put: indices is NULL; allowed is the address of an array of 5\n");
  EXPECT_DEATH(check_aligned(kCall, "dest", mine + 4, 8),
               "shmem_long_put: dest 0x.* is not aligned to 8 bytes");
  EXPECT_DEATH(check_result(kCall, "fetch", nullptr), "shmem_long_put: fetch is NULL");
  rt.npes = 0;
  EXPECT_DEATH(check_aligned(kCall, "dest", mine + 4, 8), "called before shmem_init");
  EXPECT_DEATH(resolve(kCall, "dest", mine, 8, 0), "called before shmem_init or after shmem_finalize");
}

TEST_F(AddressTest, PeNumbersOfAContextAreItsTeams) {
  const Team odd{1, 2, 1, 0};
  const shmem_ctx_t handle = create_context(odd, 0);
  ASSERT_NE(handle, SHMEM_CTX_INVALID);
  EXPECT_EQ(context_of(kCall, handle).team, &odd);
  EXPECT_EQ(world_pe(kCall, handle, 0), 1);
  EXPECT_EQ(to_world(kCall, SHMEM_CTX_DEFAULT, 2), 2);
  EXPECT_EQ(&context_of(kCall, SHMEM_CTX_DEFAULT), &rt.world_context);
  EXPECT_DEATH(world_pe(kCall, handle, 1), "pe is 1; allowed in the context's team is 0 to 0");
  destroy_contexts(&odd);
  EXPECT_DEATH(context_of(kCall, handle), "shmem_long_put: ctx");
}

TEST_F(AddressDeathTest, WrongContextsAreNamed) {
  EXPECT_DEATH(context_of(kCall, SHMEM_CTX_INVALID), "ctx is SHMEM_CTX_INVALID");
}

}  // namespace
}  // namespace shm
