// SPDX-License-Identifier: BSD-3-Clause
#include "nic/issuers.hpp"

#include <gtest/gtest.h>

#include <set>

namespace shm::nic {
namespace {

struct Nobody final : Issuer {
  void acknowledge(int, const std::byte*, std::size_t) override {}
};

TEST(NicIssuers, ANameIsOneIssuersForEver) {
  Issuers issuers;
  Nobody first, second, third;
  EXPECT_EQ(issuers.find(0), nullptr);
  const std::uint64_t one = issuers.add(first), two = issuers.add(second);
  EXPECT_EQ(issuers.find(one), &first);
  EXPECT_EQ(issuers.find(two), &second);
  issuers.remove(one);
  EXPECT_EQ(issuers.find(one), nullptr);
  EXPECT_EQ(issuers.find(two), &second);
  const std::uint64_t three = issuers.add(third);  // where the first was
  EXPECT_EQ(issuers.find(three), &third);
  EXPECT_EQ(issuers.find(one), nullptr) << "its replies find nobody";
  std::set<std::uint64_t> names = {one, two, three};
  for (std::uint64_t last = three; names.size() < 1000;) {
    issuers.remove(last);
    last = issuers.add(first);
    EXPECT_TRUE(names.insert(last).second) << last;
  }
  for (const std::uint64_t name : {~std::uint64_t{0}, two + 2})
    EXPECT_EQ(issuers.find(name), nullptr) << name;
}

}  // namespace
}  // namespace shm::nic
