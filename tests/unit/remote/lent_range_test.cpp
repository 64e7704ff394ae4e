// SPDX-License-Identifier: BSD-3-Clause
#include "remote/lent_range.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "servers_job.hpp"

namespace shm::remote {
namespace {

constexpr std::uint64_t kPage = 4096, kExtent = 8 * kPage, kServer = std::uint64_t{2} << 20;

std::set<int> servers_of(const LentRange& range, std::uint64_t first, std::uint64_t last) {
  std::set<int> servers;
  for (std::uint64_t page = first; page < last; ++page) servers.insert(range.place(page * kPage).server);
  return servers;
}

TEST(LentRange, ExtentsSuitTheServers) {
  const auto extent = [](std::uint64_t page, std::uint64_t server) {
    return LentRange::shape_for(std::uint64_t{1} << 40, page, server).extent_bytes;
  };
  EXPECT_EQ(extent(kPage, std::uint64_t{4} << 30), std::uint64_t{64} << 20);
  EXPECT_EQ(extent(kPage, std::uint64_t{48} << 20), std::uint64_t{2} << 20);
  EXPECT_EQ(extent(std::uint64_t{4} << 20, std::uint64_t{48} << 20), std::uint64_t{4} << 20);
}

TEST(LentRange, LeasesWithTheFirstPageAndGivesBackWithTheLast) {
  test::ServersJob job(1, 2, kServer);
  LentRange range(job.servers(0), {4 * kExtent, kExtent, kPage});
  ASSERT_TRUE(range.reserve(3, 9).ok());
  EXPECT_EQ(servers_of(range, 0, 16), (std::set<int>{0, 1}));
  ASSERT_TRUE(range.reserve(4, 6).ok());  // again: no more than once
  const auto left = [&] {
    EXPECT_FALSE(job.servers(0).lease(0, kServer));
    return kServer - job.servers(0).last_free();
  };
  EXPECT_EQ(left(), 2 * kExtent / 2);
  range.release(3, 8);
  EXPECT_EQ(left(), kExtent / 2);
  range.release(0, 32);
  EXPECT_TRUE(job.servers(0).lease(0, kServer));
}

TEST(LentRange, TakesTheServersThatHaveRoom) {
  test::ServersJob job(1, 3, kServer);
  ASSERT_TRUE(job.servers(0).lease(1, kServer));
  LentRange range(job.servers(0), {4 * kExtent, kExtent, kPage});
  ASSERT_TRUE(range.reserve(0, 32).ok());
  EXPECT_EQ(servers_of(range, 0, 32), (std::set<int>{0, 2}));
  ASSERT_TRUE(job.servers(0).lease(2, kServer - 4 * kExtent / 2));
  LentRange other(job.servers(0), {4 * kExtent, kExtent, kPage});
  ASSERT_TRUE(other.reserve(0, 8).ok());
  EXPECT_EQ(servers_of(other, 0, 8), std::set<int>{0});
}

// An extent of one page, and of several servers only the last has room.
TEST(LentRange, AsksAllServersForASinglePage) {
  test::ServersJob job(1, 3, kServer);
  ASSERT_TRUE(job.servers(0).lease(0, kServer) && job.servers(0).lease(1, kServer));
  LentRange range(job.servers(0), {4 * kPage, kPage, kPage});
  ASSERT_TRUE(range.reserve(0, 4).ok());
  EXPECT_EQ(servers_of(range, 0, 4), std::set<int>{2});
}

TEST(LentRange, WithoutRoomSaysSoAndKeepsNothing) {
  test::ServersJob job(1, 2, kServer);
  LentRange range(job.servers(0), {4 * kServer, kExtent, kPage});
  const Status status = range.reserve(0, 3 * kServer / kPage);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.text().find("no room for 6 MiB more (2 of them"), std::string::npos) << status.text();
  LentRange other(job.servers(0), {2 * kServer, kExtent, kPage});
  EXPECT_TRUE(other.reserve(0, 2 * kServer / kPage).ok());  // all of it
}

TEST(LentRange, GivesEverythingBackAtItsEnd) {
  test::ServersJob job(1, 1, kServer);
  {
    LentRange range(job.servers(0), {kServer, kExtent, kPage});
    ASSERT_TRUE(range.reserve(0, kServer / kPage).ok());
    EXPECT_FALSE(job.servers(0).lease(0, kPage));
  }
  EXPECT_TRUE(job.servers(0).lease(0, kServer));
}

TEST(LentRange, HasNoPageInTwoPlaces) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  test::ServersJob job(1, 3, kServer);
  constexpr std::uint64_t kPages = 1024;
  LentRange range(job.servers(0), {kPages * kPage, kExtent, kPage});
  std::vector<bool> reserved(kPages);
  for (int step = 0; step < 300; ++step) {
    const std::uint64_t first = random() % kPages, last = std::min(kPages, first + 1 + random() % 64);
    const bool reserves = random() % 2 == 0;
    if (reserves) {
      ASSERT_TRUE(range.reserve(first, last).ok());
    } else {
      range.release(first, last);
    }
    std::fill(reserved.begin() + static_cast<std::ptrdiff_t>(first),
              reserved.begin() + static_cast<std::ptrdiff_t>(last), reserves);
    std::set<std::pair<int, std::uint64_t>> places;
    for (std::uint64_t page = 0; page < kPages; ++page) {
      if (!reserved[page]) continue;
      const Place place = range.place(page * kPage);
      ASSERT_TRUE(places.emplace(place.server, place.offset).second);
      ASSERT_LE(place.offset + kPage, kServer);
    }
  }
}

}  // namespace
}  // namespace shm::remote
