// SPDX-License-Identifier: BSD-3-Clause
// The agent, on a network that is a queue in this process.
#include "core/progress.hpp"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <deque>
#include <mutex>
#include <vector>

namespace shm {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::uint16_t kId = kMaxHandlers - 1;

/// Delivers what is posted, whoever polls.  Only the functions that Progress uses do anything.
class QueueNetwork final : public Network {
 public:
  QueueNetwork() : event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  ~QueueNetwork() override { close(event_); }

  void post(int from, std::vector<std::byte> message) {
    {
      const std::lock_guard lock(mutex_);
      queue_.emplace_back(from, std::move(message));
    }
    const std::uint64_t one = 1;
    EXPECT_EQ(write(event_, &one, sizeof one), static_cast<ssize_t>(sizeof one));
  }

  bool poll() override {
    polls.fetch_add(1);
    std::pair<int, std::vector<std::byte>> message;
    {
      const std::lock_guard lock(mutex_);
      std::uint64_t count = 0;
      [[maybe_unused]] const ssize_t got = read(event_, &count, sizeof count);
      if (queue_.empty()) return false;
      message = std::move(queue_.front());
      queue_.pop_front();
    }
    Progress::deliver(message.first, kId, message.second.data(), message.second.size());
    return true;
  }
  int wait_fd() const override { return event_; }
  bool may_block() override {
    const std::lock_guard lock(mutex_);
    return queue_.empty();
  }

  std::string describe() const override { return "queue"; }
  Status add_segment(SegmentId, void*, std::size_t) override { return {}; }
  Result<std::vector<std::byte>> address() override { return std::vector<std::byte>(); }
  Status connect(int, int, AddressLookup, MessageSink) override { return {}; }
  Channel* open_channel(ChannelUse) override { return nullptr; }
  void close_channel(Channel*) override {}
  std::size_t copy_limit() const override { return 0; }
  bool supports(AtomicOp, AtomicType, bool) const override { return false; }

  std::atomic<long> polls{0};

 private:
  int event_;
  std::mutex mutex_;
  std::deque<std::pair<int, std::vector<std::byte>>> queue_;
};

class AgentTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Progress::set_handler(
        kId,
        [](void* self, int from, const std::byte* message, std::size_t n) {
          auto& test = *static_cast<AgentTest*>(self);
          test.sum.fetch_add(from * 1000 + static_cast<int>(n > 0 ? message[0] : std::byte{0}));
          test.received.fetch_add(1);
        },
        this);
  }
  void TearDown() override { progress.stop(); }

  // Whether `condition` comes true within 5 seconds.
  template <class Condition>
  static bool soon(Condition condition) {
    const auto end = Clock::now() + std::chrono::seconds(5);
    while (!condition()) {
      if (Clock::now() > end) return false;
      usleep(200);
    }
    return true;
  }

  static milliseconds process_cpu() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return milliseconds(now.tv_sec * 1000 + now.tv_nsec / 1000000);
  }

  QueueNetwork network;
  Progress progress{network, nullptr, 50};
  std::atomic<int> received{0}, sum{0};
};

TEST_F(AgentTest, RunsHandlersWhileTheProgramDoesNothing) {
  progress.start();
  usleep(20000);  // it is blocked by now
  network.post(3, {std::byte{7}});
  EXPECT_TRUE(soon([&] { return received.load() == 1; }));
  EXPECT_EQ(sum.load(), 3007);
  for (int i = 0; i < 1000; ++i) network.post(0, {std::byte{1}});
  EXPECT_TRUE(soon([&] { return received.load() == 1001; }));
  EXPECT_EQ(sum.load(), 4007);
}

TEST_F(AgentTest, BurnsNothingWhenIdle) {
  progress.start();
  usleep(50000);
  const auto before = process_cpu();
  const long polls = network.polls.load();
  usleep(300000);
  EXPECT_LT(process_cpu() - before, milliseconds(60));
  EXPECT_LT(network.polls.load() - polls, 100);
}

TEST_F(AgentTest, StaysOffWhileAnApplicationThreadWaits) {
  progress.start();
  Progress::Gate gate(progress);
  gate.block(1000);  // from here on the agent is off until the gate goes
  usleep(20000);
  const long polls = network.polls.load();
  usleep(100000);
  EXPECT_LE(network.polls.load() - polls, 1);
  EXPECT_FALSE(progress.poll());
  network.post(1, {});
  EXPECT_TRUE(progress.poll()) << "the waiting thread makes progress itself";
  EXPECT_EQ(received.load(), 1);
}

TEST_F(AgentTest, TakesOverWhenTheGateOpens) {
  progress.start();
  {
    Progress::Gate gate(progress);
    gate.block(1000);
  }
  network.post(1, {});
  EXPECT_TRUE(soon([&] { return received.load() == 1; }));
}

TEST_F(AgentTest, GateBlocksUntilSomethingArrives) {
  Progress::Gate gate(progress);
  auto start = Clock::now();
  gate.block(30000);
  EXPECT_GE(Clock::now() - start, milliseconds(25));
  network.post(1, {});
  start = Clock::now();
  gate.block(2000000);
  EXPECT_LT(Clock::now() - start, milliseconds(1000));
}

TEST_F(AgentTest, RunsPollers) {
  std::atomic<int> calls{0};
  const Poller poller = [](void* count) {
    static_cast<std::atomic<int>*>(count)->fetch_add(1);
    return false;
  };
  Progress::add_poller(poller, &calls);
  EXPECT_FALSE(progress.poll());
  EXPECT_EQ(calls.load(), 1);
  Progress::remove_poller(poller, &calls);
  progress.poll();
  EXPECT_EQ(calls.load(), 1);
}

TEST_F(AgentTest, SleepsOnWhatPollersWaitForToo) {
  struct Source {
    int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    std::atomic<int> found{0};
  } source;
  const Poller poller = [](void* argument) {
    auto& from = *static_cast<Source*>(argument);
    std::uint64_t n = 0;
    if (read(from.event, &n, sizeof n) < 0) return false;
    from.found.fetch_add(static_cast<int>(n));
    return true;
  };
  const auto post = [&] {
    const std::uint64_t one = 1;
    EXPECT_EQ(write(source.event, &one, sizeof one), static_cast<ssize_t>(sizeof one));
  };
  progress.start();
  usleep(20000);
  Progress::add_poller(poller, &source);
  progress.add_source({source.event, [](void*) { return true; }, &source, 2'000'000});
  usleep(20000);  // it is blocked again
  const auto start = Clock::now();
  post();
  EXPECT_TRUE(soon([&] { return source.found.load() == 1; }));
  EXPECT_LT(Clock::now() - start, milliseconds(1000));
  {
    Progress::Gate gate(progress);
    gate.block(0);  // the agent is off
    post();
    EXPECT_TRUE(gate.block(1000000));
    progress.poll();
    EXPECT_EQ(source.found.load(), 2);
  }
  progress.remove_source(&source);
  Progress::remove_poller(poller, &source);
  close(source.event);
  network.post(1, {});
  EXPECT_TRUE(soon([&] { return received.load() == 1; }));
}

TEST_F(AgentTest, LooksAgainInTimeForASourceWithoutDescriptor) {
  progress.start();
  progress.add_source({-1, [](void*) { return true; }, this, 2000});
  usleep(20000);
  const long polls = network.polls.load();
  EXPECT_TRUE(soon([&] { return network.polls.load() > polls + 5; }));
  progress.remove_source(this);
}

TEST_F(AgentTest, StartsAndStopsAgain) {
  for (int i = 0; i < 20; ++i) {
    progress.start();
    network.post(0, {});
    if (i % 2 == 0) usleep(1000);
    progress.stop();
  }
  progress.start();
  EXPECT_TRUE(soon([&] { return received.load() == 20; })) << "nothing is lost between two agents";
}

TEST(ProgressDeathTest, MistakesAreNamed) {
  EXPECT_DEATH(Progress::deliver(4, kMaxHandlers - 2, nullptr, 0), "PE 4 sent a message for handler 30");
  EXPECT_DEATH(Progress::set_handler(kMaxHandlers, nullptr, nullptr), "message handler 32 cannot be set");
}

}  // namespace
}  // namespace shm
