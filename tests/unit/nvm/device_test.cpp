// SPDX-License-Identifier: BSD-3-Clause
// All kinds of devices against one model.
#include "nvm/storage/open_device.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <ostream>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "test_device.hpp"
#include "transfers.hpp"

namespace shm::nvm {
namespace {

struct Variant {
  const char* name;
  IoEngine engine;
  bool direct;
  bool memory = false;
};
// Part of the name of the test: without it GoogleTest prints addresses.
void PrintTo(const Variant& variant, std::ostream* out) { *out << variant.name; }

class DeviceTest : public ::testing::TestWithParam<Variant> {
 protected:
  // May skip the test: check device.
  void make(std::uint64_t size) {
    const Variant& variant = GetParam();
    if (variant.memory) {
      device = std::make_unique<TestDevice>(TestDeviceOptions{.size = size, .seed = 7, .lazy_percent = 30});
      return;
    }
    auto made = open_device({folder.file(), size, false, variant.engine, variant.direct});
    if (!made.ok() && variant.engine == IoEngine::uring) GTEST_SKIP() << made.status().text();
    ASSERT_TRUE(made.ok()) << made.status().text();
    device = std::move(made.value());
    if (variant.direct && device->describe().find("O_DIRECT") == std::string::npos)
      GTEST_SKIP() << "no O_DIRECT in " << folder.path() << ": " << device->describe();
  }

  Folder folder;
  std::unique_ptr<Device> device;
};

INSTANTIATE_TEST_SUITE_P(All, DeviceTest,
                         ::testing::Values(Variant{"uring_direct", IoEngine::uring, true},
                                           Variant{"uring_cached", IoEngine::uring, false},
                                           Variant{"sync_direct", IoEngine::sync, true},
                                           Variant{"sync_cached", IoEngine::sync, false},
                                           Variant{"memory", IoEngine::sync, false, true}),
                         [](const auto& info) { return std::string(info.param.name); });

// Random transfers, none of which touches a block that another writes, and a byte for each block that should
// be there.
class Model {
 public:
  Model(Device& device, std::uint64_t blocks, std::uint64_t seed)
      : device_(device), content_(blocks, 0), users_(blocks, 0), random_(seed) {}

  // Until `transfers` have ended with up to `most` under way.
  void exercise(int transfers, std::size_t most) {
    for (int ended = 0, started = 0; ended < transfers && !::testing::Test::HasFailure();) {
      const bool want = started < transfers && jobs_.size() < most;
      if (want && start()) {
        ++started;
      } else {
        ended += end() ? 1 : 0;
      }
    }
    EXPECT_EQ(device_.under_way(), 0U);
  }

  // Blocks that nothing uses, for reserve() and release().
  void room(int times) {
    for (int i = 0; i < times; ++i) {
      const std::uint64_t at = random_() % content_.size();
      const std::uint64_t n = std::min<std::uint64_t>(1 + random_() % 16, content_.size() - at);
      const bool gone = random_() % 2 == 0;
      const Status status =
          gone ? device_.release(at * kBlock, n * kBlock) : device_.reserve(at * kBlock, n * kBlock);
      EXPECT_TRUE(status.ok()) << status.text();
      if (gone) std::fill_n(content_.begin() + static_cast<std::ptrdiff_t>(at), n, 0);
    }
  }

 private:
  struct Job {
    Transfer transfer;
    Buffer buffer;
    std::vector<unsigned char> expected;  // of a read
  };

  // False: what it chose is in use.
  bool start() {
    const std::uint64_t at = random_() % content_.size();
    const std::uint64_t n = std::min<std::uint64_t>(1 + random_() % 8, content_.size() - at);
    const bool writes = random_() % 2 == 0;
    for (std::uint64_t b = at; b < at + n; ++b) {
      if (users_[b] < 0 || (writes && users_[b] > 0)) return false;
    }
    auto job = std::make_unique<Job>(Job{{}, Buffer(n * kBlock, 0xee), {}});
    job->transfer = {writes ? Kind::write : Kind::read, at * kBlock, job->buffer.data(), n * kBlock};
    for (std::uint64_t b = 0; b < n; ++b) {
      users_[at + b] += writes ? -1 : 1;
      if (writes) {
        content_[at + b] = static_cast<unsigned char>(random_());
        std::memset(job->buffer.data() + b * kBlock, content_[at + b], kBlock);
      }
    }
    job->expected.assign(content_.begin() + static_cast<std::ptrdiff_t>(at),
                         content_.begin() + static_cast<std::ptrdiff_t>(at + n));
    device_.start(job->transfer);
    jobs_.push_back(std::move(job));
    return true;
  }

  bool end() {
    if (jobs_.empty()) return false;
    const Transfer* ended = wait_for_one(device_);
    const auto job = std::find_if(jobs_.begin(), jobs_.end(), [&](auto& j) { return &j->transfer == ended; });
    if (job == jobs_.end()) {
      ADD_FAILURE() << "a transfer that is not under way has ended";
      return false;
    }
    EXPECT_EQ(ended->error, 0) << std::strerror(ended->error);
    const std::vector<unsigned char>& expected = (*job)->expected;
    for (std::size_t b = 0; b < expected.size(); ++b) {
      users_[ended->offset / kBlock + b] -= ended->kind == Kind::write ? -1 : 1;
      const std::byte* block = ended->data + b * kBlock;
      EXPECT_TRUE(
          std::all_of(block, block + kBlock, [&](std::byte x) { return x == std::byte(expected[b]); }))
          << "block " << ended->offset / kBlock + b;
    }
    jobs_.erase(job);
    return true;
  }

  Device& device_;
  std::vector<unsigned char> content_;  // of each block, once the transfers under way have ended
  std::vector<int> users_;              // of each block: readers, or -1 for a writer
  std::mt19937_64 random_;
  std::vector<std::unique_ptr<Job>> jobs_;
};

TEST_P(DeviceTest, RandomTransfersAgreeWithAModel) {
  ASSERT_NO_FATAL_FAILURE(make(4 * kMiB));
  if (IsSkipped()) return;
  SCOPED_TRACE(device->describe());
  Model model(*device, 4 * kMiB / kBlock, 1);
  for (int round = 0; round < 4; ++round) {
    model.exercise(400, round % 2 == 0 ? 8 : 200);
    model.room(20);
    const Status durable = device->persist();
    EXPECT_TRUE(durable.ok()) << durable.text();
  }
}

TEST_P(DeviceTest, WhatWasNotWrittenReadsAsZeros) {
  ASSERT_NO_FATAL_FAILURE(make(kMiB));
  if (IsSkipped()) return;
  const Buffer all(kMiB, 0xee);
  EXPECT_EQ(read(*device, 0, all, kMiB), 0);
  EXPECT_TRUE(all.holds(0));
  const Status room = device->reserve(0, kMiB / 2);
  ASSERT_TRUE(room.ok()) << room.text();
  const Buffer one(kBlock, 1);
  EXPECT_EQ(write(*device, 3 * kBlock, one, kBlock), 0);
  EXPECT_EQ(read(*device, 0, all, kMiB), 0);
  const auto written = std::count(all.data(), all.data() + kMiB, std::byte{1});
  EXPECT_EQ(static_cast<std::size_t>(written), kBlock);
  EXPECT_EQ(std::count(all.data(), all.data() + kMiB, std::byte{0}), static_cast<long>(kMiB - kBlock));
}

TEST_P(DeviceTest, ReservingKeepsWhatWasWrittenAndReleasingDoesNot) {
  ASSERT_NO_FATAL_FAILURE(make(kMiB));
  if (IsSkipped()) return;
  const Buffer ones(kMiB, 1);
  EXPECT_EQ(write(*device, 0, ones, kMiB), 0);
  EXPECT_TRUE(device->reserve(0, kMiB).ok());
  const Buffer half(kMiB / 2);
  EXPECT_EQ(read(*device, kMiB / 2, half, kMiB / 2), 0);
  EXPECT_TRUE(half.holds(1));
  EXPECT_TRUE(device->release(kMiB / 2, kMiB / 2).ok());
  EXPECT_EQ(read(*device, kMiB / 2, half, kMiB / 2), 0);
  EXPECT_TRUE(half.holds(0));
  EXPECT_EQ(read(*device, 0, half, kMiB / 2), 0);
  EXPECT_TRUE(half.holds(1)) << "more was released than asked";
  EXPECT_TRUE(device->release(0, 0).ok());
}

TEST_P(DeviceTest, MovesLargePages) {
  constexpr std::size_t kPage = 4 * kMiB;
  constexpr int kPages = 4;
  ASSERT_NO_FATAL_FAILURE(make(kPages * kPage));
  if (IsSkipped()) return;
  std::vector<Buffer> pages;
  std::vector<Transfer> transfers(kPages);
  for (int i = 0; i < kPages; ++i) pages.emplace_back(kPage, i + 1);
  for (const Kind kind : {Kind::write, Kind::read}) {
    for (int i = 0; i < kPages; ++i) {
      const auto page = static_cast<std::size_t>(i);
      if (kind == Kind::read) std::memset(pages[page].data(), 0xee, kPage);
      transfers[page] = {kind, page * kPage, pages[page].data(), kPage};
      device->start(transfers[page]);
    }
    for (int i = 0; i < kPages; ++i) {
      const Transfer* ended = wait_for_one(*device);
      ASSERT_NE(ended, nullptr);
      EXPECT_EQ(ended->error, 0);
    }
  }
  for (int i = 0; i < kPages; ++i) EXPECT_TRUE(pages[static_cast<std::size_t>(i)].holds(i + 1)) << i;
}

TEST_P(DeviceTest, AnyNumberMayBeUnderWay) {
  constexpr std::size_t kMany = 1000;
  ASSERT_NO_FATAL_FAILURE(make(kMany * kBlock));
  if (IsSkipped()) return;
  const Buffer memory(kMany * kBlock, 5);
  std::vector<Transfer> transfers(kMany);
  std::set<const Transfer*> ended;
  for (std::size_t i = 0; i < kMany; ++i) {
    transfers[i] = {Kind::write, i * kBlock, memory.data() + i * kBlock, kBlock};
    device->start(transfers[i]);
    EXPECT_EQ(device->under_way(), i + 1);
  }
  while (device->under_way() > 0) {
    const Transfer* transfer = wait_for_one(*device);
    ASSERT_NE(transfer, nullptr);
    EXPECT_EQ(transfer->error, 0);
    EXPECT_TRUE(ended.insert(transfer).second) << "ended twice";
  }
  EXPECT_EQ(ended.size(), kMany);
  EXPECT_EQ(device->finished(), nullptr);
  std::memset(memory.data(), 0, kMany * kBlock);
  EXPECT_EQ(read(*device, 0, memory, kMany * kBlock), 0);
  EXPECT_TRUE(memory.holds(5));
}

TEST_P(DeviceTest, RefusesWhatIsNoRangeOfBlocks) {
  ASSERT_NO_FATAL_FAILURE(make(kMiB));
  if (IsSkipped()) return;
  const Buffer memory(2 * kBlock);
  EXPECT_EQ(read(*device, 1, memory, kBlock), EINVAL);
  EXPECT_EQ(read(*device, 0, memory, 512), EINVAL);
  EXPECT_EQ(read(*device, kMiB, memory, kBlock), EINVAL);
  EXPECT_EQ(run(*device, Kind::write, 0, memory.data() + 8, kBlock), EINVAL);
  EXPECT_FALSE(device->reserve(kMiB, kBlock).ok());
  EXPECT_FALSE(device->release(UINT64_MAX - kBlock + 1, 2 * kBlock).ok());
  EXPECT_EQ(read(*device, kMiB, memory, 0), 0) << "nothing, at the end";
}

TEST_P(DeviceTest, MayBeMadeByOneThreadAndUsedByAnother) {
  ASSERT_NO_FATAL_FAILURE(make(kMiB));
  if (IsSkipped()) return;
  const Buffer memory(kMiB, 4);
  std::thread([&] {
    EXPECT_EQ(write(*device, 0, memory, kMiB), 0);
    std::memset(memory.data(), 0, kMiB);
    EXPECT_EQ(read(*device, 0, memory, kMiB), 0);
  }).join();
  EXPECT_TRUE(memory.holds(4));
  device.reset();
}

TEST_P(DeviceTest, CanGoAwayWithTransfersUnderWay) {
  ASSERT_NO_FATAL_FAILURE(make(kMiB));
  if (IsSkipped()) return;
  const Buffer memory(kMiB);
  std::vector<Transfer> transfers(kMiB / kBlock);
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    transfers[i] = {Kind::read, i * kBlock, memory.data() + i * kBlock, kBlock};
    device->start(transfers[i]);
  }
  device->submit();
  device.reset();
}

}  // namespace
}  // namespace shm::nvm
