// SPDX-License-Identifier: BSD-3-Clause
#include "ofi/memory.hpp"

#include <gtest/gtest.h>

namespace shm::ofi {
namespace {

TEST(OfiAddress, SurvivesTheExchange) {
  std::vector<std::byte> name(28, std::byte{9});
  PeerAddress address{name, {}};
  address.segments[0] = {0x1000, 77, 1u << 30};
  address.segments[1] = {0, ~0ull, 8};
  Result<std::vector<std::byte>> bytes = encode_address(address);
  ASSERT_TRUE(bytes.ok());
  EXPECT_LE(bytes.value().size(), kMaxAddress);
  Result<PeerAddress> back = decode_address(bytes.value());
  ASSERT_TRUE(back.ok());
  EXPECT_TRUE(std::equal(name.begin(), name.end(), back.value().name.begin(), back.value().name.end()));
  for (std::size_t i = 0; i < kSegments; ++i) {
    EXPECT_EQ(back.value().segments[i].base, address.segments[i].base);
    EXPECT_EQ(back.value().segments[i].key, address.segments[i].key);
    EXPECT_EQ(back.value().segments[i].size, address.segments[i].size);
  }
}

TEST(OfiAddress, WhatIsNotOneIsRefused) {
  std::vector<std::byte> name(kMaxAddress, std::byte{1});
  EXPECT_FALSE(encode_address({name, {}}).ok());
  name.resize(16);
  std::vector<std::byte> bytes = std::move(encode_address({name, {}}).value());
  EXPECT_FALSE(decode_address(std::span(bytes).first(10)).ok());
  EXPECT_FALSE(decode_address(std::span(bytes).first(bytes.size() - 1)).ok());
  bytes[0] = std::byte{99};
  EXPECT_FALSE(decode_address(bytes).ok());
}

}  // namespace
}  // namespace shm::ofi
