// SPDX-License-Identifier: BSD-3-Clause
// The alarm for messages that are held: when it goes off, for whom, and whom it wakes.
#include "nvm/hold_alarm.hpp"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/resource.h>

#include <atomic>
#include <thread>
#include <vector>

#include "../../one_channel_network.hpp"
#include "../pages/pool_fixture.hpp"

namespace shm::nvm {
namespace {

// Nothing ever comes; who blocks sleeps.
class SilentNetwork final : public OneChannelNetwork {
 public:
  ~SilentNetwork() override { close(event_); }
  bool poll() override { return false; }
  int wait_fd() const override { return event_; }
  bool may_block() override { return true; }

 private:
  void put(RemoteAddress, const void*, std::size_t, Completion*) override {}
  void get(void*, RemoteAddress, std::size_t, Completion*) override {}
  void send(int, std::uint16_t, std::vector<std::byte>) override {}

  const int event_ = eventfd(0, EFD_CLOEXEC);
};

using pages::await;

constexpr long kForEver = 60'000'000;  // microseconds: longer than any machine needs

class HoldAlarmTest : public ::testing::Test {
 protected:
  ~HoldAlarmTest() override { alarm.stop(progress); }
  void await_alarm() {
    await("the alarm", [this] { return alarm.went_off(); });
  }

  SilentNetwork network;
  Progress progress{network, nullptr, 0};
  HoldAlarm alarm;
};

TEST_F(HoldAlarmTest, GoesOffOnceForEachTimeThatItIsSet) {
  alarm.start(progress);
  EXPECT_FALSE(alarm.went_off()) << "nobody has set it";
  for (int i = 0; i < 3; ++i) {
    const auto before = std::chrono::steady_clock::now();
    alarm.set();
    await_alarm();
    EXPECT_GE(std::chrono::steady_clock::now() - before, std::chrono::nanoseconds(HoldAlarm::kPeriod));
    EXPECT_FALSE(alarm.went_off()) << "it has been told";
  }
}

TEST_F(HoldAlarmTest, IsNotPutOffByWhoSetsItAgain) {
  alarm.start(progress);
  alarm.set();
  await("the alarm", [this] {
    alarm.set();
    return alarm.went_off();
  });
}

TEST_F(HoldAlarmTest, WakesWhoBlocks) {
  alarm.start(progress);
  Progress::Gate gate(progress);
  alarm.set();
  ASSERT_TRUE(gate.arm()) << "the descriptor will tell";
  EXPECT_TRUE(gate.block(kForEver));
  await_alarm();
  ASSERT_TRUE(gate.arm());
  EXPECT_FALSE(gate.block(0)) << "it wakes nobody any more";
  alarm.set();
  ASSERT_TRUE(gate.arm());
  EXPECT_TRUE(gate.block(kForEver)) << "the second time as well";
}

TEST_F(HoldAlarmTest, WithoutADescriptorNobodyBlocksWhileItIsSet) {
  rlimit files{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &files), 0);
  const rlimit none{0, files.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  alarm.start(progress);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &files), 0);
  Progress::Gate gate(progress);
  EXPECT_TRUE(gate.arm());
  alarm.set();
  EXPECT_FALSE(gate.arm());
  await_alarm();
  EXPECT_TRUE(gate.arm());
  EXPECT_FALSE(gate.block(kForEver)) << "for a period at most, in case that somebody sets it meanwhile";
}

// Of those who ask one is told, each time.
TEST_F(HoldAlarmTest, TellsOneThread) {
  constexpr int kThreads = 4, kAlarms = 40;
  alarm.start(progress);
  std::atomic<int> told{0};
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      while (!done) {
        if (alarm.went_off()) told.fetch_add(1);
        std::this_thread::yield();
      }
    });
  }
  for (int i = 0; i < kAlarms; ++i) {
    EXPECT_EQ(told, i);
    alarm.set();
    await("the alarm", [&] { return told > i; });
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(told, kAlarms);
}

}  // namespace
}  // namespace shm::nvm
