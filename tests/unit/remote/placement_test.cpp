// SPDX-License-Identifier: BSD-3-Clause
#include "remote/placement.hpp"

#include <gtest/gtest.h>

#include <set>

namespace shm::remote {
namespace {

constexpr std::uint64_t kPlacedPage = 4096, kPlacedExtent = 8 * kPlacedPage;

TEST(Placement, PagesOfAnExtentLieOnItsServersInTurn) {
  Placement placement({4 * kPlacedExtent, kPlacedExtent, kPlacedPage});
  EXPECT_EQ(placement.extents(), 4u);
  EXPECT_EQ(placement.share_bytes(3), 3 * kPlacedPage);
  EXPECT_EQ(placement.share_bytes(1), 8 * kPlacedPage);
  EXPECT_FALSE(placement.is_lent(2));
  placement.lend(2, {{5, 100 * kPlacedPage}, {0, 0}, {3, 7 * kPlacedPage}});
  EXPECT_TRUE(placement.is_lent(2));
  const std::uint64_t at = 2 * kPlacedExtent;
  EXPECT_EQ(placement.find(at), (Place{5, 100 * kPlacedPage}));
  EXPECT_EQ(placement.find(at + kPlacedPage + 9), (Place{0, 9}));
  EXPECT_EQ(placement.find(at + 2 * kPlacedPage), (Place{3, 7 * kPlacedPage}));
  EXPECT_EQ(placement.find(at + 3 * kPlacedPage + 1), (Place{5, 101 * kPlacedPage + 1}));
  EXPECT_EQ(placement.find(at + 7 * kPlacedPage), (Place{0, 2 * kPlacedPage}));
}

// No two pages in one place, and all of them within what each server has lent.
TEST(Placement, EachPageHasAPlaceOfItsOwnInTheShares) {
  for (std::size_t servers = 1; servers <= 8; ++servers) {
    Placement placement({kPlacedExtent, kPlacedExtent, kPlacedPage});
    std::vector<Place> shares;
    for (std::size_t k = 0; k < servers; ++k) shares.push_back({static_cast<int>(k), 1000 * kPlacedPage * k});
    placement.lend(0, shares);
    std::set<std::pair<int, std::uint64_t>> places;
    for (std::uint64_t at = 0; at < kPlacedExtent; at += kPlacedPage) {
      const Place place = placement.find(at);
      const std::uint64_t begin = shares[static_cast<std::size_t>(place.server)].offset;
      EXPECT_GE(place.offset, begin);
      EXPECT_LE(place.offset + kPlacedPage, begin + placement.share_bytes(servers));
      EXPECT_TRUE(places.emplace(place.server, place.offset).second);
    }
  }
}

TEST(Placement, WhatIsTakenBackIsNotLentAnyMore) {
  Placement placement({2 * kPlacedExtent + 1, kPlacedExtent, kPlacedPage});
  EXPECT_EQ(placement.extents(), 3u);
  placement.lend(0, {{1, kPlacedPage}});
  EXPECT_EQ(placement.take_back(0), (std::vector<Place>{{1, kPlacedPage}}));
  EXPECT_FALSE(placement.is_lent(0));
  placement.lend(0, {{2, 0}});
  EXPECT_EQ(placement.find(kPlacedPage).server, 2);
}

}  // namespace
}  // namespace shm::remote
