// SPDX-License-Identifier: BSD-3-Clause
#include "test_device.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "transfers.hpp"

namespace shm::nvm {
namespace {

using ::testing::HasSubstr;

TEST(TestDeviceTest, FailsTheTransferThatItIsTold) {
  TestDevice device({.size = kMiB});
  const Buffer ones(2 * kBlock, 1);
  device.fail(Kind::write, 2, EIO);
  device.fail(Kind::read, 1, EIO, kBlock + 100);
  EXPECT_EQ(write(device, 0, ones, 2 * kBlock), 0);
  EXPECT_EQ(write(device, 4 * kBlock, ones, kBlock), EIO);
  EXPECT_EQ(write(device, 8 * kBlock, ones, kBlock), 0);
  const Buffer memory(2 * kBlock);
  EXPECT_EQ(read(device, 0, memory, 2 * kBlock), EIO);
  EXPECT_EQ(std::count(memory.data(), memory.data() + 2 * kBlock, std::byte{1}),
            static_cast<long>(kBlock + 100));
  EXPECT_EQ(read(device, 4 * kBlock, memory, kBlock), 0);
  EXPECT_EQ(memory.data()[0], std::byte{0}) << "the failed write wrote";
  std::vector<int> errors;
  for (const TestDevice::Record& record : device.records()) errors.push_back(record.error);
  EXPECT_THAT(errors, ::testing::ElementsAre(0, EIO, 0, EIO, 0));
}

TEST(TestDeviceTest, WritesPartOfAWriteThatIsCutShort) {
  TestDevice device({.size = kMiB});
  const Buffer ones(4 * kBlock, 1);
  device.fail(Kind::write, 1, EIO, 2 * kBlock + 7);
  EXPECT_EQ(write(device, 0, ones, 4 * kBlock), EIO);
  EXPECT_EQ(read(device, 0, ones, 4 * kBlock), 0);
  EXPECT_EQ(std::count(ones.data(), ones.data() + 4 * kBlock, std::byte{1}),
            static_cast<long>(2 * kBlock + 7));
}

TEST(TestDeviceTest, RunsOutOfRoom) {
  TestDevice device({.size = kMiB});
  device.limit_room(4 * kBlock);
  EXPECT_TRUE(device.reserve(0, 3 * kBlock).ok());
  EXPECT_THAT(device.reserve(3 * kBlock, 2 * kBlock).text(), HasSubstr("No space left"));
  EXPECT_TRUE(device.release(3 * kBlock, 2 * kBlock).ok());
  const Buffer ones(2 * kBlock, 1);
  EXPECT_EQ(write(device, 0, ones, 2 * kBlock), 0);
  EXPECT_EQ(write(device, 8 * kBlock, ones, 2 * kBlock), ENOSPC);
  EXPECT_EQ(device.bytes_occupied(), 4 * kBlock);
}

TEST(TestDeviceTest, EndsHeldTransfersWhenToldAndInNoOrder) {
  const auto order = [](std::uint64_t seed) {
    TestDevice device({.size = kMiB, .seed = seed, .hold = true});
    const Buffer memory(32 * kBlock);
    std::vector<Transfer> transfers(32);
    for (std::size_t i = 0; i < transfers.size(); ++i) {
      transfers[i] = {Kind::write, i * kBlock, memory.data() + i * kBlock, kBlock};
      device.start(transfers[i]);
    }
    EXPECT_EQ(device.finished(), nullptr);
    EXPECT_EQ(device.end(2), 2U);
    EXPECT_EQ(device.under_way(), 32U);
    EXPECT_NE(device.finished(), nullptr);
    EXPECT_NE(device.finished(), nullptr);
    EXPECT_EQ(device.finished(), nullptr);
    EXPECT_EQ(device.end(), 30U);
    while (device.under_way() > 0) EXPECT_NE(wait_for_one(device), nullptr);
    std::vector<std::uint64_t> offsets;
    for (const TestDevice::Record& record : device.records()) offsets.push_back(record.offset);
    EXPECT_EQ(offsets.size(), 32U);
    return offsets;
  };
  EXPECT_EQ(order(1), order(1)) << "the same seed, the same order";
  EXPECT_NE(order(1), order(2));
}

TEST(TestDeviceTest, ANewHoldEndsWithIt) {
  TestDevice device({.size = kMiB});
  const Buffer memory(kBlock);
  Transfer transfer{Kind::read, 0, memory.data(), kBlock};
  device.hold(true);
  device.start(transfer);
  EXPECT_EQ(device.finished(), nullptr);
  device.hold(false);
  EXPECT_EQ(device.finished(), &transfer);
}

TEST(TestDeviceTest, IsNotDurableIfTold) {
  TestDevice device({.size = kMiB});
  EXPECT_TRUE(device.persist().ok());
  device.fail_persist();
  EXPECT_FALSE(device.persist().ok());
  EXPECT_EQ(device.persists(), 1U);
}

TEST(TestDeviceTest, EndsAProgramThatMixesTransfers) {
  TestDevice device({.size = kMiB, .hold = true});
  const Buffer memory(4 * kBlock);
  Transfer first{Kind::read, 0, memory.data(), 2 * kBlock};
  Transfer second{Kind::read, kBlock, memory.data() + 2 * kBlock, kBlock};
  device.start(first);
  device.start(second);  // both read
  Transfer third{Kind::write, kBlock, memory.data() + 3 * kBlock, kBlock};
  EXPECT_EXIT(device.start(third), ::testing::ExitedWithCode(1), "a write of 4096 bytes at 4096, where");
  EXPECT_EXIT((void)device.release(0, kBlock), ::testing::ExitedWithCode(1), "release.. of 4096 bytes at 0");
}

}  // namespace
}  // namespace shm::nvm
