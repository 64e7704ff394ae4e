// SPDX-License-Identifier: BSD-3-Clause
#include "core/team.hpp"

#include <gtest/gtest.h>

namespace shm {
namespace {

TEST(Team, TranslatesThereAndBack) {
  for (const Team& team :
       {Team{0, 1, 8, 0}, Team{1, 3, 5, 0}, Team{10, -2, 6, 0}, Team{4, 7, 1, 0}, Team{3, 0, 1, 0}}) {
    for (int member = 0; member < team.size; ++member) EXPECT_EQ(team.member(team.world_pe(member)), member);
  }
}

TEST(Team, KnowsWhoIsNotInIt) {
  const Team odd{1, 2, 3, 0};  // 1 3 5
  for (int pe : {-1, 0, 2, 4, 6, 7}) EXPECT_EQ(odd.member(pe), -1) << pe;
  const Team down{5, -2, 3, 0};  // 5 3 1
  EXPECT_EQ(down.member(1), 2);
  for (int pe : {-1, 0, 4, 7}) EXPECT_EQ(down.member(pe), -1) << pe;
  const Team alone{2, 5, 1, 0};
  EXPECT_EQ(alone.member(2), 0);
  EXPECT_EQ(alone.member(7), -1);
}

TEST(Team, OfSomePesLooksThemUp) {
  const int node[] = {2, 3, 7, 9};
  const Team evens{0, 2, 2, 0, node, 4};  // places 0 and 2
  EXPECT_EQ(evens.world_pe(1), 7);
  EXPECT_EQ(evens.member(7), 1);
  for (int pe : {3, 9, 4, 0}) EXPECT_EQ(evens.member(pe), -1) << pe;
}

}  // namespace
}  // namespace shm
