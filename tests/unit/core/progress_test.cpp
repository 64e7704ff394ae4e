// SPDX-License-Identifier: BSD-3-Clause
// The agent, on a network that is a queue in this process.
#include "core/progress.hpp"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <deque>
#include <filesystem>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace shm {
namespace {

constexpr std::uint16_t kId = kMaxHandlers - 1;

/// Delivers what is posted, whoever polls.  Only the functions that Progress uses do anything.
class EventNetwork final : public Network {
 public:
  EventNetwork() : event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  ~EventNetwork() override { close(event_); }

  void post(int from, std::vector<std::byte> message) {
    post_unannounced(from, std::move(message));
    const std::uint64_t one = 1;
    EXPECT_EQ(write(event_, &one, sizeof one), static_cast<ssize_t>(sizeof one));
  }

  // Wakes nobody.
  void post_unannounced(int from, std::vector<std::byte> message) {
    const std::lock_guard lock(mutex_);
    queue_.emplace_back(from, std::move(message));
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
  int wait_fd() const override { return has_descriptor ? event_ : -1; }
  bool may_block() override {
    const std::lock_guard lock(mutex_);
    return queue_.empty();
  }
  bool needs_poll() const override { return waits_for_poll.load(); }
  void will_be_polled() override { promises.fetch_add(1); }
  long max_block_us() const override {
    blocks.fetch_add(1);
    return longest_block.load();
  }
  void begin_sleep() override { sleepers.fetch_add(1); }
  void end_sleep() override { sleepers.fetch_sub(1); }
  void flush_all() override { flushes.fetch_add(1); }

  std::string describe() const override { return "queue"; }
  Status add_segment(SegmentId, void*, std::size_t) override { return {}; }
  Result<std::vector<std::byte>> address() override { return std::vector<std::byte>(); }
  Status connect(int, int, AddressLookup, MessageSink) override { return {}; }
  Channel* open_channel(ChannelUse) override { return nullptr; }
  void close_channel(Channel*) override {}
  std::size_t copy_limit() const override { return 0; }
  bool supports(AtomicOp, AtomicType, bool) const override { return false; }

  std::atomic<long> polls{0};
  mutable std::atomic<long> blocks{0};  // of the agent: it does, or is about to
  std::atomic<long> longest_block{-1};
  std::atomic<bool> waits_for_poll{false};
  std::atomic<long> promises{0}, flushes{0};
  std::atomic<int> sleepers{0};
  bool has_descriptor = true;

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
          if (std::this_thread::get_id() != test.program) test.by_agent.fetch_add(1);
          test.network.waits_for_poll.store(false);
          test.received.fetch_add(1);
        },
        this);
  }
  void TearDown() override { progress.stop(); }

  // Whether `condition` comes true, in a time that no machine needs.
  template <class Condition>
  static bool soon(Condition condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > end) return false;
      usleep(200);
    }
    return true;
  }
  void start_and_block() {
    progress.start();
    EXPECT_TRUE(soon([&] { return network.blocks.load() > 0; }));
  }

  EventNetwork network;
  Progress progress{network, nullptr, 0};
  const std::thread::id program = std::this_thread::get_id();
  std::atomic<int> received{0}, sum{0}, by_agent{0};
};

TEST_F(AgentTest, RunsHandlersWhileTheProgramDoesNothing) {
  start_and_block();
  network.post(3, {std::byte{7}});
  EXPECT_TRUE(soon([&] { return received.load() == 1; }));
  EXPECT_EQ(sum.load(), 3007);
  for (int i = 0; i < 1000; ++i) network.post(0, {std::byte{1}});
  EXPECT_TRUE(soon([&] { return received.load() == 1001; }));
  EXPECT_EQ(sum.load(), 4007);
}

// It sleeps after each message, and looks no oftener than it must.
TEST_F(AgentTest, BurnsNothingWhenIdle) {
  constexpr int kMessages = 50;
  start_and_block();
  const long polls = network.polls.load();
  for (int i = 1; i <= kMessages; ++i) {
    const long blocks = network.blocks.load();
    network.post(0, {});
    ASSERT_TRUE(soon([&] { return received.load() == i && network.blocks.load() > blocks; }));
  }
  EXPECT_LE(network.polls.load() - polls, 4 * kMessages);
}

// What wakes nobody is found by the agent, which is woken for it.
TEST_F(AgentTest, IsRousedForWhatOnlyAPollCanFinish) {
  constexpr int kPosts = 10;  // fewer than those after which the program polls, too
  start_and_block();
  for (int i = 1; i <= kPosts; ++i) {
    const long blocks = network.blocks.load();
    network.post_unannounced(1, {});
    network.waits_for_poll.store(true);
    progress.posted();
    ASSERT_TRUE(soon([&] { return received.load() == i; })) << "message " << i;
    ASSERT_TRUE(soon([&] { return network.blocks.load() > blocks; }));
  }
  EXPECT_EQ(by_agent.load(), kPosts);
}

TEST_F(AgentTest, WorksWithANetworkThatHasNoDescriptor) {
  network.has_descriptor = false;
  progress.start();
  for (int i = 1; i <= 20; ++i) {
    network.post_unannounced(1, {});
    ASSERT_TRUE(soon([&] { return received.load() == i; }));
  }
  EXPECT_EQ(network.blocks.load(), 0) << "there is nothing to block on";
}

TEST_F(AgentTest, StaysOffWhileAnApplicationThreadWaits) {
  progress.start();
  Progress::Gate gate(progress);
  gate.block(
      1000);  // from here on the agent is off until the gate goes, but for a poll that it may have begun
  const long polls = network.polls.load();
  for (int i = 1; i <= 20; ++i) {
    network.post(1, {});
    usleep(500);  // an agent that is not off would take it
    while (received.load() < i) progress.poll();
  }
  EXPECT_LE(by_agent.load(), 1);
  EXPECT_FALSE(progress.poll());
  EXPECT_LE(network.polls.load() - polls, 22);
}

// Who waits may sleep for long: what another thread posts meanwhile, and then computes, is seen to all the
// same.
TEST_F(AgentTest, LooksForThreadsThatPostWhileAnotherSleeps) {
  progress.start();
  Progress::Gate gate(progress);
  gate.block(1000);
  for (int i = 1; i <= 5; ++i) {
    EXPECT_TRUE(soon([&] { return network.blocks.load() >= i; }));
    network.post_unannounced(1, {});
    network.waits_for_poll.store(true);
    progress.posted();
    ASSERT_TRUE(soon([&] { return received.load() == i; }));
  }
  EXPECT_GE(by_agent.load(), 4) << "but for what it may have begun";
}

TEST_F(AgentTest, LooksInTimeWhileAnotherSleeps) {
  network.longest_block.store(1000);
  progress.start();
  Progress::Gate gate(progress);
  gate.block(1000);
  for (int i = 1; i <= 5; ++i) {
    network.post_unannounced(1, {});
    ASSERT_TRUE(soon([&] { return received.load() == i; }));
  }
}

TEST_F(AgentTest, PollsForThreadsThatInsist) {
  progress.start();
  Progress::Gate gate(progress);
  gate.block(1000);
  progress.insist();
  for (int i = 1; i <= 5; ++i) {
    network.post(1, {});
    ASSERT_TRUE(soon([&] { return received.load() == i; }));
  }
  progress.relent();
}

TEST_F(AgentTest, TakesOverWhenTheGateOpens) {
  progress.start();
  {
    Progress::Gate outer(progress);
    Progress::Gate gate(progress);
    gate.block(1000);
  }
  network.post(1, {});
  EXPECT_TRUE(soon([&] { return received.load() == 1; }));
}

TEST_F(AgentTest, GateBlocksUntilSomethingArrives) {
  Progress::Gate gate(progress);
  EXPECT_EQ(network.flushes.load(), 1) << "what is waited for may be the answer";
  EXPECT_FALSE(gate.block(1000));
  network.post(1, {});
  EXPECT_TRUE(gate.block(60'000'000));
}

// Between arm() and the end of block(), or where there is work instead.
TEST_F(AgentTest, GateSaysWhileItSleeps) {
  {
    Progress::Gate gate(progress);
    EXPECT_TRUE(gate.arm());
    EXPECT_EQ(network.sleepers.load(), 1);
    gate.block(100);
    EXPECT_EQ(network.sleepers.load(), 0);
    network.post(1, {});
    EXPECT_FALSE(gate.arm());
    EXPECT_EQ(received.load(), 1) << "what there was is done";
    EXPECT_EQ(network.sleepers.load(), 0);
    EXPECT_TRUE(gate.arm());
    EXPECT_TRUE(gate.arm());
    EXPECT_EQ(network.sleepers.load(), 1);
  }
  EXPECT_EQ(network.sleepers.load(), 0) << "and never blocked";
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
  const Poller busy = [](void*) { return true; };
  Progress::add_poller(busy, &calls);
  EXPECT_TRUE(progress.poll()) << "one of them has done something";
  Progress::remove_poller(busy, &calls);
  calls.store(1);
  Progress::remove_poller(poller, &calls);
  progress.poll();
  EXPECT_EQ(calls.load(), 1);
}

// One function may poll for several, and several functions for one.
TEST_F(AgentTest, APollerThatGoesLeavesThoseLikeIt) {
  std::array<int, 2> calls{};
  const Poller one = [](void* count) {
    *static_cast<int*>(count) += 1;
    return false;
  };
  const Poller ten = [](void* count) {
    *static_cast<int*>(count) += 10;
    return false;
  };
  Progress::add_poller(one, &calls[0]);
  Progress::add_poller(one, &calls[1]);
  Progress::add_poller(ten, &calls[0]);
  Progress::remove_poller(one, &calls[0]);
  progress.poll();
  EXPECT_EQ(calls, (std::array<int, 2>{10, 1}));
  Progress::remove_poller(one, &calls[1]);
  Progress::remove_poller(ten, &calls[0]);
}

// Whoever polls or sends may leave behind what only another poll can finish.
TEST_F(AgentTest, IsRousedForWhatAPollOrAMessageLeaves) {
  static constexpr NetOps kOps = {.put = nullptr,
                                  .get = nullptr,
                                  .amo = nullptr,
                                  .send = [](Channel*, int, std::uint16_t, const void*, std::size_t) {},
                                  .flush = nullptr,
                                  .idle = nullptr,
                                  .idle_to = nullptr,
                                  .fence = nullptr};
  Channel channel{&kOps};
  Progress with_channel(network, &channel, 0);
  const std::function<void()> calls[] = {[&] { with_channel.poll(); },
                                         [&] { with_channel.send(0, kId, nullptr, 0); }};
  with_channel.start();
  EXPECT_TRUE(soon([&] { return network.blocks.load() > 0; }));
  for (const std::function<void()>& call : calls) {
    const long blocks = network.blocks.load();
    network.waits_for_poll.store(true);
    call();
    EXPECT_TRUE(soon([&] { return network.blocks.load() > blocks; })) << "it has looked, and sleeps again";
    network.waits_for_poll.store(false);
  }
}

TEST_F(AgentTest, LeavesNoDescriptorBehind) {
  const auto descriptors = [] {
    const std::filesystem::directory_iterator open("/proc/self/fd");
    return std::distance(begin(open), end(open));
  };
  const auto before = descriptors();
  { const Progress another(network, nullptr, 0); }
  EXPECT_EQ(descriptors(), before);
}

// Each has its say: whether there is work, and for how long to sleep.
TEST_F(AgentTest, AGateAsksEverySource) {
  std::array<bool, 2> idle{true, true};
  const auto may_block = [](void* is_idle) { return *static_cast<bool*>(is_idle); };
  progress.add_source({-1, may_block, &idle[0], 1000});
  progress.add_source({-1, may_block, &idle[1], 20'000'000});
  Progress::Gate gate(progress);
  EXPECT_TRUE(gate.arm());
  const auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE(gate.block(20'000'000));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20)) << "the first is asked again";
  for (bool& one : idle) {
    one = false;
    EXPECT_FALSE(gate.arm());
    one = true;
  }
  idle[1] = false;
  progress.remove_source(&idle[0]);
  EXPECT_FALSE(gate.arm()) << "the other one stays";
  progress.remove_source(&idle[1]);
  EXPECT_TRUE(gate.arm());
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
  start_and_block();
  Progress::add_poller(poller, &source);
  const long blocks = network.blocks.load();
  progress.add_source({source.event, [](void*) { return true; }, &source, 3'600'000'000});  // an hour
  EXPECT_TRUE(soon([&] { return network.blocks.load() > blocks; }));
  post();
  EXPECT_TRUE(soon([&] { return source.found.load() == 1; }));
  {
    Progress::Gate gate(progress);
    gate.block(0);  // the agent is off
    post();
    EXPECT_TRUE(gate.block(60'000'000));
    progress.poll();
    EXPECT_TRUE(soon([&] { return source.found.load() == 2; }));
  }
  progress.remove_source(&source);
  Progress::remove_poller(poller, &source);
  close(source.event);
  network.post(1, {});
  EXPECT_TRUE(soon([&] { return received.load() == 1; }));
}

TEST_F(AgentTest, LooksAgainInTimeForASourceWithoutDescriptor) {
  start_and_block();
  progress.add_source({-1, [](void*) { return true; }, this, 2000});
  const long polls = network.polls.load();
  EXPECT_TRUE(soon([&] { return network.polls.load() > polls + 5; }));
  progress.remove_source(this);
}

TEST_F(AgentTest, DoesNotBlockWhileASourceHasWork) {
  std::atomic<bool> work{true};
  start_and_block();
  const auto may_block = [](void* has_work) { return !static_cast<std::atomic<bool>*>(has_work)->load(); };
  progress.add_source({-1, may_block, &work, 3'600'000'000});
  const long polls = network.polls.load();
  EXPECT_TRUE(soon([&] { return network.polls.load() > polls + 100; }));
  const long blocks = network.blocks.load();
  work.store(false);
  EXPECT_TRUE(soon([&] { return network.blocks.load() > blocks; }));
  progress.remove_source(&work);
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
  EXPECT_DEATH(Progress::deliver(4, kMaxHandlers - 2, nullptr, 0),
               "PE 4 sent a message for handler 30, which this PE does not have\n");
  EXPECT_DEATH(Progress::deliver(4, kMaxHandlers, nullptr, 0), "PE 4 sent a message for handler 32, which");
  EXPECT_DEATH(Progress::set_handler(kMaxHandlers, nullptr, nullptr),
               "message handler 32 cannot be set: there are 32\n");
}

}  // namespace
}  // namespace shm
