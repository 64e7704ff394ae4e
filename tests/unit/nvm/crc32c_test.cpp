// SPDX-License-Identifier: BSD-3-Clause
#include "nvm/storage/crc32c.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace shm::nvm {
namespace {

TEST(Crc32cTest, IsTheOneThatIsKnown) {
  const std::string digits = "123456789";
  EXPECT_EQ(crc32c(0, digits.data(), digits.size()), 0xe3069283U);
  EXPECT_EQ(portable_crc32c(0, digits.data(), digits.size()), 0xe3069283U);
  const std::vector<char> zeros(32, 0);  // RFC 3720, B.4
  EXPECT_EQ(crc32c(0, zeros.data(), zeros.size()), 0x8a9136aaU);
  EXPECT_EQ(crc32c(0, nullptr, 0), 0U);
}

TEST(Crc32cTest, InstructionsAndTablesAgreeAndGoOn) {
  std::mt19937 random(1);
  std::vector<unsigned char> data(5000);
  for (unsigned char& byte : data) byte = static_cast<unsigned char>(random());
  for (int i = 0; i < 300; ++i) {
    const std::size_t from = random() % 100, n = random() % (data.size() - from),
                      cut = n == 0 ? 0 : random() % n;
    const std::uint32_t all = crc32c(0, data.data() + from, n);
    EXPECT_EQ(all, portable_crc32c(0, data.data() + from, n));
    EXPECT_EQ(all, crc32c(crc32c(0, data.data() + from, cut), data.data() + from + cut, n - cut));
  }
}

TEST(Crc32cTest, AChecksumIsThatOfTheQuartersChecksums) {
  std::mt19937 random(2);
  std::vector<std::byte> block(4096);
  for (std::byte& byte : block) byte = static_cast<std::byte>(random());
  std::uint32_t quarters[4];
  for (std::size_t i = 0; i < 4; ++i) quarters[i] = portable_crc32c(0, block.data() + 1024 * i, 1024);
  const std::uint32_t expected = portable_crc32c(99, quarters, sizeof quarters);
  EXPECT_EQ(block_checksum(99, block.data(), block.size()), expected);
  for (std::size_t bit = 0; bit < 8 * block.size(); bit += 7) {
    block[bit / 8] ^= std::byte{1} << (bit % 8);
    EXPECT_NE(block_checksum(99, block.data(), block.size()), expected) << "bit " << bit;
    block[bit / 8] ^= std::byte{1} << (bit % 8);
  }
  EXPECT_NE(block_checksum(98, block.data(), block.size()), expected);
}

}  // namespace
}  // namespace shm::nvm
