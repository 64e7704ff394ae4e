// SPDX-License-Identifier: BSD-3-Clause
#include "coll/scratch.hpp"

#include <deque>

#include "one_pe.hpp"

namespace shm {
namespace {

using ScratchTest = test::OnePe;

bool symmetric(Scratch& scratch, std::size_t n) {
  const std::byte* area = internal_area().scratch;
  return scratch.data() >= area && scratch.data() + n <= area + kScratchBytes;
}

TEST_F(ScratchTest, IsSymmetricWhileThereIsRoomAndDoesNotOverlap) {
  constexpr std::size_t kEach = 100000;
  std::deque<Scratch> all;
  std::size_t in_area = 0;
  for (std::size_t i = 0; i < 2 * kScratchBytes / kEach; ++i) {
    Scratch& scratch = all.emplace_back(kEach);
    in_area += symmetric(scratch, kEach);
    std::memset(scratch.data(), static_cast<int>(i), kEach);
  }
  EXPECT_GE(in_area, kScratchBytes / kEach / 2);
  EXPECT_LT(in_area, all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].data()[0], static_cast<std::byte>(i));
    EXPECT_EQ(all[i].data()[kEach - 1], static_cast<std::byte>(i));
  }
}

TEST_F(ScratchTest, IsGivenBack) {
  for (int i = 0; i < 100; ++i) {
    Scratch all(kScratchBytes);
    EXPECT_TRUE(symmetric(all, kScratchBytes));
    Scratch none(1);
    EXPECT_FALSE(symmetric(none, 1));
  }
}

TEST_F(ScratchTest, IsPrivateWhenItIsTooLarge) {
  Scratch scratch(kScratchBytes + 1);
  EXPECT_FALSE(symmetric(scratch, 1));
  std::memset(scratch.data(), 1, kScratchBytes + 1);
}

}  // namespace
}  // namespace shm
