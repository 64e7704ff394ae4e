// SPDX-License-Identifier: BSD-3-Clause
#include "roster.hpp"

#include <gtest/gtest.h>

namespace oshrun {
namespace {

TEST(NumberList, JoinsRuns) {
  EXPECT_EQ(number_list({}), "");
  EXPECT_EQ(number_list({3}), "3");
  EXPECT_EQ(number_list({0, 1}), "0, 1");
  EXPECT_EQ(number_list({0, 1, 2, 5, 7, 8, 9}), "0-2, 5, 7-9");
}

TEST(Roster, MemoryServersAreTheLastRanksAndHaveNumbersOfTheirOwn) {
  const Roster roster{3, 2};
  EXPECT_EQ(roster.size(), 5);
  EXPECT_TRUE(roster.is_pe(2));
  EXPECT_FALSE(roster.is_pe(3));
  EXPECT_EQ(roster.name(0), "PE 0");
  EXPECT_EQ(roster.name(2), "PE 2");
  EXPECT_EQ(roster.name(3), "memory server 0");
  EXPECT_EQ(roster.name(4), "memory server 1");
}

TEST(Roster, NamesSeveral) {
  const Roster roster{4, 3};
  EXPECT_EQ(roster.names({0, 1, 2}), "PE 0-2");
  EXPECT_EQ(roster.names({4, 5, 6}), "memory server 0-2");
  EXPECT_EQ(roster.names({1, 3, 4, 6}), "PE 1, 3 and memory server 0, 2");
}

TEST(Roster, CountsBothKinds) {
  EXPECT_EQ((Roster{1, 0}.count()), "1 PE");
  EXPECT_EQ((Roster{4, 0}.count()), "4 PEs");
  EXPECT_EQ((Roster{4, 1}.count()), "4 PEs and 1 memory server");
  EXPECT_EQ((Roster{1, 2}.count()), "1 PE and 2 memory servers");
}

}  // namespace
}  // namespace oshrun
