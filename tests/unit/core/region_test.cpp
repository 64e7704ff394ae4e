// SPDX-License-Identifier: BSD-3-Clause
#include "core/region.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "core/address.hpp"
#include "core/order.hpp"
#include "core/runtime.hpp"
#include "counting_region.hpp"

namespace shm {
namespace {

using test::CountingRegion;

TEST(Region, HoldsExactlyItsRange) {
  const CountingRegion region("toy", 1000, 100);
  EXPECT_TRUE(region.holds(1000, 1));
  EXPECT_TRUE(region.holds(1000, 100));
  EXPECT_TRUE(region.holds(1099, 1));
  EXPECT_FALSE(region.holds(999, 1));
  EXPECT_FALSE(region.holds(999, 2)) << "begins before";
  EXPECT_FALSE(region.holds(1000, 101)) << "ends after";
  EXPECT_FALSE(region.holds(1100, 1));
  EXPECT_FALSE(region.holds(1050, SIZE_MAX)) << "the sum overflows";
  EXPECT_FALSE(region.holds(UINTPTR_MAX, 8));
}

TEST(Region, IsFoundWhileRegistered) {
  CountingRegion low("low", 1000, 100), high("high", 5000, 100);
  EXPECT_EQ(rt.regions.size, 0U);
  EXPECT_EQ(find_region(1000, 1), nullptr);
  add_region(&low);
  add_region(&high);
  EXPECT_EQ(rt.regions.base, 1000U);
  EXPECT_EQ(rt.regions.size, 4100U);
  EXPECT_EQ(find_region(1050, 8), &low);
  EXPECT_EQ(find_region(5000, 100), &high);
  EXPECT_EQ(find_region(3000, 1), nullptr);
  EXPECT_EQ(find_region(1099, 2), nullptr);
  remove_region(&low);
  EXPECT_EQ(find_region(1050, 8), nullptr);
  EXPECT_EQ(find_region(5000, 1), &high);
  remove_region(&low);  // not there any more: nothing happens
  remove_region(&high);
  EXPECT_EQ(rt.regions.size, 0U);
}

TEST(Region, OfEveryKindIsQuietedAndFenced) {
  CountingRegion one("one", 1000, 100), other("other", 5000, 100);
  add_region(&one);
  add_region(&other);
  Context context;
  quiet_regions(context);
  quiet_regions(context);
  fence_regions(context);
  remove_region(&one);
  quiet_regions(context);
  remove_region(&other);
  EXPECT_EQ(one.quiets, 2);
  EXPECT_EQ(other.quiets, 3);
  EXPECT_EQ(one.fences, 1);
  EXPECT_EQ(other.fences, 1);
}

// Others complete without a call.
TEST(Region, IsAskedByContextsThatHaveUsedIt) {
  CountingRegion region("toy", 4096, 4096);
  add_region(&region);
  Context context;
  EXPECT_EQ(enter_region(context, find_region(&context, 8)), nullptr);
  quiet(context);
  fence(context);
  EXPECT_EQ(region.quiets + region.fences, 0);
  EXPECT_EQ(enter_region(context, find_region(5000, 8)), &region);
  quiet(context);
  fence(context);
  EXPECT_EQ(region.quiets, 1);
  EXPECT_EQ(region.fences, 1);
  remove_region(&region);
}

TEST(RegionDeathTest, WhatReachesPastItsEndIsNamed) {
  CountingRegion region("the toy region", 4096, 4096);
  add_region(&region);
  rt.npes = 1;
  EXPECT_DEATH(resolve({"shmem_put"}, "dest", reinterpret_cast<void*>(8100), 100, 0),
               "shmem_put: dest 0x1fa4 and the 100 bytes from there reach past the end of the toy region at "
               "0x2000");
  rt.npes = 0;
  remove_region(&region);
}

TEST(RegionDeathTest, TooManyAreRefused) {
  EXPECT_DEATH(
      {
        std::vector<std::unique_ptr<CountingRegion>> regions;
        for (std::uintptr_t i = 0; i <= kMaxRegions; ++i) {
          regions.push_back(std::make_unique<CountingRegion>("toy", 4096 * (i + 1), 4096));
          add_region(regions.back().get());
        }
      },
      "toy cannot be added: there are 4 address regions already");
}

}  // namespace
}  // namespace shm
