// SPDX-License-Identifier: BSD-3-Clause
// io_uring where the system refuses it, lacks resources for a while, or moves less than it was asked for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "nvm/storage/file_device.hpp"
#include "system_calls.hpp"
#include "transfers.hpp"

namespace shm::nvm {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using enum Called;

// On a ring of the system, where it permits one, and on a fake.
class UringTest : public ::testing::TestWithParam<bool> {
 protected:
  UringTest() {
    if (GetParam()) calls.fake_rings();
  }
  DeviceOptions options(IoEngine engine = IoEngine::uring) const {
    return {.path = folder.file(), .size = 4 * kMiB, .engine = engine, .direct = false};
  }
  // May skip the test: check device.
  void make(bool direct = false) {
    DeviceOptions how = options();
    how.direct = direct;
    auto made = open_device(how);
    if (!made.ok() && !GetParam()) GTEST_SKIP() << made.status().text();
    ASSERT_TRUE(made.ok()) << made.status().text();
    device = std::move(made.value());
    calls.clear();
  }
  // All of them, in the order of ending; returns how many failed.
  std::size_t finish(std::size_t n) const {
    std::size_t failed = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const Transfer* ended = wait_for_one(*device);
      if (ended == nullptr) return n;
      failed += ended->error != 0 ? 1 : 0;
    }
    return failed;
  }

  const Folder folder;
  SystemCalls calls;
  std::unique_ptr<Device> device;
};

// In a container that does not permit it, under a low RLIMIT_MEMLOCK, on a system that is too old.
TEST_P(UringTest, WhereItIsRefusedTheOtherEngineWorks) {
  for (const int error : {EPERM, ENOMEM, ENOSYS}) {
    const std::string why = std::string("no io_uring here: ") + std::strerror(error);
    calls.next(uring_init, {error, error});
    EXPECT_EQ(open_device(options()).status().text(), why);
    auto made = open_device(options(IoEngine::automatic));
    ASSERT_TRUE(made.ok()) << made.status().text();
    EXPECT_THAT(made.value()->describe(), StartsWith("pread and pwrite (" + why + ")"));
    const Buffer ones(kBlock, 1), memory(kBlock);
    EXPECT_EQ(write(*made.value(), 0, ones, kBlock), 0);
    EXPECT_EQ(read(*made.value(), 0, memory, kBlock), 0);
    EXPECT_TRUE(memory.holds(1));
  }
  EXPECT_EQ(calls.count(pwrite), 3U);
}

// Rings are older than the transfers that are needed, and so than the question for them.
TEST_P(UringTest, ARingWithoutTheTransfersIsOfNoUse) {
  ASSERT_NO_FATAL_FAILURE(make());
  if (IsSkipped()) return;
  calls.next(uring_probe, {ENOSYS});
  EXPECT_EQ(open_device(options()).status().text(), "no io_uring here: Function not implemented");
}

TEST_P(UringTest, TransfersGoOnWhereTheyWereCutShort) {
  ASSERT_NO_FATAL_FAILURE(make());
  if (IsSkipped()) return;
  const Buffer memory(kMiB, 5);
  calls.next(uring_transfer, {SystemCalls::at_most(1000), SystemCalls::at_most(70000)});
  EXPECT_EQ(write(*device, kMiB, memory, kMiB), 0);
  const auto writes = calls.records(uring_transfer);
  ASSERT_EQ(writes.size(), 3U);
  EXPECT_EQ(writes.back().offset, static_cast<std::int64_t>(kMiB + 71000));
  EXPECT_EQ(writes.back().n, static_cast<std::int64_t>(kMiB - 71000));
  std::memset(memory.data(), 0, kMiB);
  calls.next(uring_transfer, {SystemCalls::at_most(3), SystemCalls::at_most(4096)});
  EXPECT_EQ(read(*device, kMiB, memory, kMiB), 0);
  EXPECT_TRUE(memory.holds(5));
}

TEST_P(UringTest, ATransferEndsWithItsOwnError) {
  ASSERT_NO_FATAL_FAILURE(make());
  if (IsSkipped()) return;
  const Buffer memory(8 * kBlock, 5);
  std::vector<Transfer> transfers(8);
  calls.next(uring_transfer, {SystemCalls::real, SystemCalls::real, EBADF});
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    transfers[i] = {Kind::write, i * kBlock, memory.data() + i * kBlock, kBlock};
    device->start(transfers[i]);
  }
  EXPECT_EQ(finish(8), 1U);
  for (std::size_t i = 0; i < transfers.size(); ++i) EXPECT_EQ(transfers[i].error, i == 2 ? EBADF : 0) << i;
  EXPECT_EQ(write(*device, 0, memory, kBlock), 0) << "the next is another one";
}

// The entries stay in the ring, and the next call hands them over.
TEST_P(UringTest, WhatTheSystemCannotTakeNowIsHandedOverLater) {
  ASSERT_NO_FATAL_FAILURE(make());
  if (IsSkipped()) return;
  for (const int error : {EAGAIN, EBUSY, EINTR, ENOMEM}) {
    const Buffer memory(100 * kBlock, error);
    std::vector<Transfer> transfers(100);  // more than the ring has room for
    calls.next(uring_submit, {error, error, SystemCalls::real, error});
    for (std::size_t i = 0; i < transfers.size(); ++i) {
      transfers[i] = {Kind::write, i * kBlock, memory.data() + i * kBlock, kBlock};
      device->start(transfers[i]);
    }
    EXPECT_EQ(finish(transfers.size()), 0U);
    EXPECT_EQ(device->under_way(), 0U);
    const Buffer found(100 * kBlock);
    EXPECT_EQ(read(*device, 0, found, 100 * kBlock), 0);
    EXPECT_TRUE(found.holds(error)) << std::strerror(error);
  }
}

// Who waits for all that is under way sleeps, as the thread that makes an epoch durable does.
TEST_P(UringTest, WhoAwaitsATransferSleepsUntilItHasEnded) {
  ASSERT_NO_FATAL_FAILURE(make());
  if (IsSkipped()) return;
  const Buffer memory(kBlock, 5);
  Transfer transfer{Kind::write, 0, memory.data(), kBlock};
  calls.next(uring_submit, {EAGAIN});
  device->start(transfer);
  device->submit();
  const Transfer* ended = nullptr;
  while ((ended = device->finished()) == nullptr) {
    device->await();
    EXPECT_EQ(calls.records(uring_submit).back().n, 1) << "it does not sleep";
  }
  EXPECT_EQ(ended, &transfer);
}

TEST_P(UringTest, OneCallHandsOverWhatWasStartedTogether) {
  ASSERT_NO_FATAL_FAILURE(make());
  if (IsSkipped()) return;
  const Buffer memory(8 * kBlock, 5);
  std::vector<Transfer> transfers(8);
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    transfers[i] = {Kind::write, i * kBlock, memory.data() + i * kBlock, kBlock};
    device->start(transfers[i]);
  }
  EXPECT_EQ(device->finished(), nullptr);
  EXPECT_EQ(calls.count(uring_submit), 0U);
  device->submit();
  EXPECT_EQ(calls.count(uring_submit), 1U);
  EXPECT_EQ(calls.count(uring_transfer), 8U);
  EXPECT_EQ(finish(8), 0U);
  EXPECT_EQ(calls.count(uring_submit), 1U) << "nothing was left";
}

// Whoever then sleeps on the descriptor, with no limit, is woken by each transfer.
TEST_P(UringTest, TellsOfEachTransferThatEnds) {
  ASSERT_NO_FATAL_FAILURE(make(true));
  if (IsSkipped() || GetParam()) return;  // nobody ends those of a fake
  const int events = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  const Buffer memory(kMiB, 5);
  EXPECT_TRUE(device->listen(events)) << "nothing is under way";
  Transfer first{Kind::write, 0, memory.data(), kMiB};
  device->start(first);
  EXPECT_FALSE(device->listen(events)) << "the system has not heard of it";
  for (int i = 0; i < 20; ++i) {
    Transfer transfer{Kind::write, kMiB, memory.data(), kMiB};
    device->start(transfer);
    device->submit();
    std::size_t ended = 0;
    const std::size_t all = device->under_way();
    while (ended < all) {
      eventfd_t count;
      eventfd_read(events, &count);
      if (device->listen(events)) {
        pollfd event{events, POLLIN, 0};
        ASSERT_EQ(poll(&event, 1, 60'000), 1) << "a transfer that nobody tells of";
      }
      while (device->finished() != nullptr) ++ended;
    }
  }
  close(events);
}

TEST_P(UringTest, AReadThatWasTakenIsNotHandedOver) {
  ASSERT_NO_FATAL_FAILURE(make());
  if (IsSkipped()) return;
  const Buffer ones(2 * kBlock, 1), memory(2 * kBlock);
  ASSERT_EQ(write(*device, 0, ones, 2 * kBlock), 0);
  calls.clear();
  Transfer transfer{Kind::read, 0, memory.data(), 2 * kBlock};
  device->start(transfer);
  Transfer* taken = device->take_read(transfer);
  ASSERT_NE(taken, nullptr);
  EXPECT_EQ(device->take_read(transfer), nullptr) << "twice";
  EXPECT_FALSE(device->to_be_submitted());
  device->submit();
  EXPECT_EQ(calls.count(uring_transfer), 0U);
  EXPECT_EQ(device->finished(), nullptr);
  EXPECT_EQ(device->under_way(), 1U);
  device->carry_out(*taken);
  EXPECT_TRUE(memory.holds(1));
  EXPECT_EQ(device->finished(), &transfer);
  EXPECT_EQ(transfer.error, 0);
  EXPECT_EQ(device->under_way(), 0U);
  EXPECT_EQ(device->finished(), nullptr) << "twice";
}

TEST_P(UringTest, OnlyReadsThatTheSystemDoesNotHaveAreTaken) {
  ASSERT_NO_FATAL_FAILURE(make());
  if (IsSkipped()) return;
  const Buffer memory(4 * kBlock);
  Transfer write{Kind::write, 0, memory.data(), kBlock};
  Transfer first{Kind::read, kBlock, memory.data() + kBlock, kBlock};
  Transfer second{Kind::read, 2 * kBlock, memory.data() + 2 * kBlock, kBlock};
  device->start(write);
  EXPECT_EQ(device->take_read(write), nullptr);
  device->start(first);
  device->submit();
  EXPECT_EQ(device->take_read(first), nullptr);
  EXPECT_EQ(device->take_read(second), nullptr) << "not started";
  EXPECT_EQ(finish(2), 0U);
}

TEST_P(UringTest, AReadThatWasTakenEndsAsOneOfTheSystem) {
  ASSERT_NO_FATAL_FAILURE(make());
  if (IsSkipped()) return;
  const Buffer memory(2 * kBlock);
  Transfer transfer{Kind::read, 0, memory.data(), 2 * kBlock};
  device->start(transfer);
  Transfer* taken = device->take_read(transfer);
  ASSERT_NE(taken, nullptr);
  calls.next(pread, {EINTR, EAGAIN, EIO});
  device->carry_out(*taken);
  EXPECT_EQ(calls.count(pread), 3U);
  EXPECT_EQ(device->finished(), &transfer);
  EXPECT_EQ(transfer.error, EIO);
}

// Whoever sleeps on the descriptor is not woken by it, and so must not sleep once it has ended.
TEST_P(UringTest, WhoListensIsToldOfATakenReadThatHasEnded) {
  ASSERT_NO_FATAL_FAILURE(make());
  if (IsSkipped() || GetParam()) return;
  const int events = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  const Buffer memory(kBlock);
  Transfer transfer{Kind::read, 0, memory.data(), kBlock};
  device->start(transfer);
  Transfer* taken = device->take_read(transfer);
  ASSERT_NE(taken, nullptr);
  EXPECT_FALSE(device->listen(events)) << "the descriptor is new";
  EXPECT_TRUE(device->listen(events));
  device->carry_out(*taken);
  EXPECT_FALSE(device->listen(events));
  EXPECT_EQ(device->finished(), &transfer);
  close(events);
}

// It has them not, so it tells of none.
TEST_P(UringTest, DoesNotPromiseToTellOfWhatTheSystemCouldNotTake) {
  ASSERT_NO_FATAL_FAILURE(make());
  if (IsSkipped() || GetParam()) return;
  const int events = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  const Buffer memory(kBlock, 5);
  ASSERT_EQ(write(*device, 0, memory, kBlock), 0);
  Transfer transfer{Kind::write, 0, memory.data(), kBlock};
  device->start(transfer);
  calls.next(uring_submit, {EAGAIN, EAGAIN});
  for (int i = 0; i < 2; ++i) {
    device->submit();
    EXPECT_FALSE(device->listen(events));
    EXPECT_FALSE(device->listen(events)) << "nor once the descriptor is known";
  }
  EXPECT_EQ(finish(1), 0U);
  close(events);
}

// The system must not write to memory that is not ours any more.
TEST_P(UringTest, WaitsInTheEndForWhatIsUnderWay) {
  ASSERT_NO_FATAL_FAILURE(make());
  if (IsSkipped()) return;
  const Buffer memory(kBlock);
  calls.next(uring_submit, {EAGAIN});
  Transfer transfer{Kind::read, 0, memory.data(), kBlock};
  device->start(transfer);
  device->submit();
  EXPECT_EQ(calls.count(uring_transfer), 0U) << "the system has not heard of it";
  device.reset();
  EXPECT_EQ(calls.count(uring_transfer), 1U);
  EXPECT_EQ(calls.records(uring_submit).back().n, 1) << "for one, until all have ended";
}

TEST_P(UringTest, AnErrorOfTheRingEndsTheProgramWithALine) {
  ASSERT_NO_FATAL_FAILURE(make());
  if (IsSkipped()) return;
  const auto start = [&] {
    const Buffer memory(kBlock);
    Transfer transfer{Kind::read, 0, memory.data(), kBlock};
    calls.next(uring_submit, {EIO});
    device->start(transfer);
    device->submit();
    _exit(0);
  };
  EXPECT_EXIT(start(), ::testing::ExitedWithCode(1),
              "^atoll: io_uring_enter for .*/segment \\(NVM heap\\): Input/output error\n$");
}

INSTANTIATE_TEST_SUITE_P(Ring, UringTest, ::testing::Bool(),
                         [](const auto& test) { return test.param ? "fake" : "real"; });

}  // namespace
}  // namespace shm::nvm
