// SPDX-License-Identifier: BSD-3-Clause
#include "pairs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace observe {
namespace {

using testing::HasSubstr;

TEST(Pairs, HeatGoesByTheLogarithm) {
  EXPECT_EQ(heat(0, 1024, 9), 0);
  EXPECT_EQ(heat(1024, 1024, 9), 9);
  EXPECT_EQ(heat(1, 1024, 9), 1);
  EXPECT_EQ(heat(1, 1U << 30, 9), 1) << "what is little is seen";
  EXPECT_EQ(heat(32, 1024, 10), 5);
}

TEST(Pairs, MorePEsThanPlacesAreGroups) {
  Pairs pairs(10, 4);
  EXPECT_EQ(pairs.side(), 4);
  EXPECT_EQ(pairs.name(0), "0-2");
  EXPECT_EQ(pairs.name(3), "9");
  pairs.add(9, 2, {1, 10});
  pairs.add(9, 0, {1, 5});
  EXPECT_EQ(pairs.at(3, 0).operations, 2U);
  EXPECT_EQ(pairs.at(3, 0).bytes, 15U);
}

TEST(Pairs, CoarserOnesHaveTheSameSum) {
  Pairs pairs(100);
  for (int from = 0; from < 100; ++from)
    for (int to = 0; to < 100; ++to) pairs.add(from, to, {1, 3});
  const Pairs few = coarser(pairs, 64);
  EXPECT_EQ(few.side(), 50);
  std::uint64_t operations = 0, bytes = 0;
  for (int row = 0; row < 50; ++row) {
    for (int column = 0; column < 50; ++column) {
      operations += few.at(row, column).operations;
      bytes += few.at(row, column).bytes;
    }
  }
  EXPECT_EQ(operations, 10000U);
  EXPECT_EQ(bytes, 30000U);
  EXPECT_EQ(few.at(49, 49).operations, 4U);
}

TEST(Pairs, AMapSaysSoWhereNobodyTalked) { EXPECT_THAT(heat_map(Pairs(4)), HasSubstr("nobody")); }

TEST(Pairs, AMapOfManyHasARowOfCharactersEach) {
  Pairs pairs(20);
  pairs.add(3, 7, {1, 1 << 20});
  pairs.add(4, 7, {1, 1});
  const std::string map = heat_map(pairs);
  EXPECT_THAT(map, HasSubstr("              3 |       @            |\n"));
  EXPECT_THAT(map, HasSubstr("              4 |       .            |\n"));
  EXPECT_THAT(map, HasSubstr("PE 3 to PE 7: 1 MiB in 1 operations"));
}

TEST(Pairs, JsonHasThoseThatTalked) {
  Pairs pairs(3);
  pairs.add(2, 0, {5, 40});
  EXPECT_EQ(json_of(pairs),
            "{\"pes\":3,\"pes_per_group\":1,\"pairs\":[\n{\"from\":2,\"to\":0,\"operations\":5,\"bytes\":40}"
            "\n]}\n");
}

TEST(Pairs, APictureOfManyIsWhole) {
  Pairs pairs(5000);
  pairs.add(4999, 0, {1, 8});
  const std::string picture = svg_of(pairs);
  EXPECT_THAT(picture, HasSubstr("<title>PE 4995-4999 to PE 0-4: 8 bytes, 1 operations</title>"));
  EXPECT_THAT(picture, HasSubstr("</svg>\n"));
}

}  // namespace
}  // namespace observe
