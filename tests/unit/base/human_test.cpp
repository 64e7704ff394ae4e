// SPDX-License-Identifier: BSD-3-Clause
#include "base/human.hpp"

#include <gtest/gtest.h>

namespace shm {
namespace {

TEST(HumanBytes, AreInTheLargestUnitThatLeavesAtLeastOne) {
  constexpr double k = 1024, m = k * k, g = m * k, t = g * k;
  EXPECT_EQ(human_bytes(0), "0 bytes");
  EXPECT_EQ(human_bytes(1023), "1023 bytes");
  EXPECT_EQ(human_bytes(k), "1 KiB");
  EXPECT_EQ(human_bytes(1000 * m), "1000 MiB");
  EXPECT_EQ(human_bytes(12.5 * m), "12.5 MiB");
  EXPECT_EQ(human_bytes(1.5 * g), "1.5 GiB");
  EXPECT_EQ(human_bytes(t), "1 TiB");
  EXPECT_EQ(human_bytes(2048 * t), "2048 TiB");
}

}  // namespace
}  // namespace shm
