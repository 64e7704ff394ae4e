// SPDX-License-Identifier: BSD-3-Clause
#include "remote/device.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "pages/buffer.hpp"
#include "servers_job.hpp"

namespace shm::remote {
namespace {

using pages::Device;
using pages::Transfer;

constexpr std::uint64_t kDevicePage = 16384, kRange = 64 * kDevicePage;

struct DeviceOnServers {
  explicit DeviceOnServers(std::uint64_t page = kDevicePage)
      : job(1, 2, std::size_t{16} << 20),
        device(make_device(std::make_unique<LentRange>(
            job.servers(0),
            Placement::Shape{kRange, std::max<std::uint64_t>(page, 8 * kDevicePage), page}))) {
    EXPECT_TRUE(device->reserve(0, kRange).ok());
  }
  void run(Transfer::Kind kind, std::uint64_t offset, std::byte* data, std::size_t n) {
    Transfer transfer{.kind = kind, .offset = offset, .data = data, .n = n};
    device->start(transfer);
    device->submit();
    EXPECT_EQ(device->under_way(), 1u);
    Transfer* ended = nullptr;
    while ((ended = device->finished()) == nullptr) {
    }
    EXPECT_EQ(ended, &transfer);
    EXPECT_EQ(ended->error, 0);
    EXPECT_EQ(device->under_way(), 0u);
  }
  test::ServersJob job;
  std::unique_ptr<Device> device;
};

TEST(RemoteDevice, SaysWhatItStandsOn) {
  DeviceOnServers on;
  EXPECT_EQ(on.device->describe().find("2 memory servers ("), 0u) << on.device->describe();
}

TEST(RemoteDevice, ReadsWhatWasWrittenAndZerosElsewhere) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  DeviceOnServers on;
  std::vector<std::byte> model(kRange);
  const pages::AlignedBuffer buffer = pages::aligned_buffer(kRange);
  for (int step = 0; step < 400; ++step) {
    const std::uint64_t offset = random() % (kRange / 4096) * 4096;
    const std::size_t n = std::min<std::size_t>(kRange - offset, (1 + random() % 12) * 4096);
    if (random() % 5 == 0) {
      ASSERT_TRUE(on.device->release(offset / kDevicePage * kDevicePage, kDevicePage).ok());
      ASSERT_TRUE(on.device->reserve(offset / kDevicePage * kDevicePage, kDevicePage).ok());
      std::memset(model.data() + offset / kDevicePage * kDevicePage, 0, kDevicePage);
    } else if (random() % 2 == 0) {
      std::memset(buffer.get(), static_cast<int>(random()), n);
      on.run(Transfer::Kind::write, offset, buffer.get(), n);
      std::memcpy(model.data() + offset, buffer.get(), n);
    } else {
      on.run(Transfer::Kind::read, offset, buffer.get(), n);
      ASSERT_EQ(std::memcmp(buffer.get(), model.data() + offset, n), 0);
    }
  }
}

TEST(RemoteDevice, LargePagesAreMovedWhole) {
  constexpr std::uint64_t kLarge = kRange;  // 1 MiB
  DeviceOnServers on(kLarge);
  const pages::AlignedBuffer out = pages::aligned_buffer(kLarge), in = pages::aligned_buffer(kLarge);
  for (std::size_t i = 0; i < kLarge; ++i) out[i] = static_cast<std::byte>(i * 7 + i / 4096);
  on.run(Transfer::Kind::write, 0, out.get(), kLarge);
  on.run(Transfer::Kind::read, 0, in.get(), kLarge);
  EXPECT_EQ(std::memcmp(out.get(), in.get(), kLarge), 0);
}

TEST(RemoteDevice, ManyTransfersAreUnderWayAtOnce) {
  DeviceOnServers on;
  const pages::AlignedBuffer buffer = pages::aligned_buffer(kRange);
  std::memset(buffer.get(), 1, kRange);
  std::vector<Transfer> transfers(kRange / kDevicePage);
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    transfers[i] = {.kind = Transfer::Kind::write,
                    .offset = i * kDevicePage,
                    .data = buffer.get() + i * kDevicePage,
                    .n = kDevicePage};
    on.device->start(transfers[i]);
  }
  EXPECT_EQ(on.device->under_way(), transfers.size());
  for (std::size_t ended = 0; ended < transfers.size();) ended += on.device->finished() != nullptr;
  EXPECT_EQ(on.device->finished(), nullptr);
  EXPECT_TRUE(on.device->persist().ok());
}

TEST(RemoteDevice, WithoutRoomSaysSo) {
  DeviceOnServers on;
  EXPECT_FALSE(on.job.servers(0).lease(0, std::size_t{16} << 20));
  LentRange full(on.job.servers(0), {std::uint64_t{64} << 20, std::uint64_t{1} << 20, kDevicePage});
  EXPECT_FALSE(full.reserve(0, (std::uint64_t{64} << 20) / kDevicePage).ok());
}

}  // namespace
}  // namespace shm::remote
