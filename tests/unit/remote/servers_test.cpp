// SPDX-License-Identifier: BSD-3-Clause
#include "remote/servers.hpp"

#include <gtest/gtest.h>

#include "servers_job.hpp"

namespace shm::remote {
namespace {

constexpr std::uint64_t kGrain = kLeaseGrain;

TEST(Servers, CountWhatEachHasLentAndMoved) {
  test::ServersJob job(2, 3, 16 * kGrain);
  Servers& servers = job.servers(0);
  EXPECT_EQ(servers.uses(), std::vector<ServerUse>(3));
  const std::uint64_t first = servers.lease(1, 4 * kGrain).value();
  const std::uint64_t second = servers.lease(1, 2 * kGrain).value();
  servers.give_back(1, first, 4 * kGrain);
  ASSERT_TRUE(servers.lease(1, kGrain).has_value());
  ASSERT_TRUE(servers.lease(2, kGrain).has_value());
  EXPECT_FALSE(servers.lease(0, 17 * kGrain).has_value()) << "what is refused is not lent";
  ASSERT_TRUE(job.servers(1).lease(0, kGrain).has_value()) << "of another PE";
  std::vector<std::byte> data(kGrain);
  Completion written, read;
  servers.write({1, second}, data.data(), 100, written);
  job.wait(0, written);
  for (const std::size_t n : {10, 30}) {
    read.reset();
    servers.read({1, second}, data.data(), n, read);
    job.wait(0, read);
  }
  const std::vector<ServerUse> expected = {{}, {6 * kGrain, 2, 40, 1, 100}, {kGrain, 0, 0, 0, 0}};
  EXPECT_EQ(servers.uses(), expected);
  servers.begin_uses_anew();
  const std::vector<ServerUse> anew = {{}, {3 * kGrain, 0, 0, 0, 0}, {kGrain, 0, 0, 0, 0}};
  EXPECT_EQ(servers.uses(), anew);
}

}  // namespace
}  // namespace shm::remote
