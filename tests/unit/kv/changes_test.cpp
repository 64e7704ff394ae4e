// SPDX-License-Identifier: BSD-3-Clause
#include "kv/changes.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "shard_fixture.hpp"

namespace shm::kv {
namespace {

struct Told {
  Told()
      : layout(make_layout(8, 8, 1000, 1, false)), memory(Changes::bytes(layout) / sizeof(std::uint64_t)) {}
  Changes changes() { return {reinterpret_cast<std::byte*>(memory.data()), layout}; }

  const ShardLayout layout;
  std::vector<std::uint64_t> memory;
};

std::vector<std::uint64_t> taken(Changes& changes) {
  std::vector<std::uint64_t> homes;
  while (changes.take([&](std::uint64_t home) { homes.push_back(home); })) {
  }
  return homes;
}

TEST(ChangesTest, EachHomeIsTakenOnce) {
  Told told;
  Changes teller = told.changes(), taker = told.changes();
  EXPECT_TRUE(taken(taker).empty());
  teller.tell(3);
  teller.tell(9);
  teller.tell(3);
  EXPECT_EQ(taken(taker), (std::vector<std::uint64_t>{3, 9}));
  EXPECT_TRUE(taken(taker).empty());
}

TEST(ChangesTest, AllAreTakenInTurns) {
  Told told;
  Changes teller = told.changes(), taker = told.changes();
  teller.tell_all();
  std::size_t first = 0;
  EXPECT_TRUE(taker.take([&](std::uint64_t) { ++first; }));
  EXPECT_GE(first, 64U);
  EXPECT_LT(first, 72U);
  EXPECT_EQ(first + taken(taker).size(), told.layout.groups);
}

// Whoever looks at the shard while it changes has not seen the change: it is told of it again.
TEST(ChangesTest, WhatChangesWhileItIsLookedAtIsTakenAgain) {
  Told told;
  Changes teller = told.changes(), taker = told.changes();
  teller.tell(5);
  std::vector<std::uint64_t> homes;
  for (int i = 0; i < 3; ++i) {
    taker.take([&](std::uint64_t home) {
      homes.push_back(home);
      if (homes.size() == 1) teller.tell(home);
    });
  }
  EXPECT_EQ(homes, (std::vector<std::uint64_t>{5, 5}));
}

}  // namespace
}  // namespace shm::kv
