// SPDX-License-Identifier: BSD-3-Clause
// What is wished for at the very moment when a pager falls asleep.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/eventfd.h>

#include <atomic>
#include <deque>
#include <functional>
#include <string>
#include <thread>

#include "base/wait_record.hpp"
#include "base/wait_report.hpp"
#include "page_cache_fixture.hpp"
#include "pager_fixture.hpp"

namespace shm::nvm {
namespace {

// A pager of one PE, whose device a test drives.
template <class Driven>
struct StartedPager {
  StartedPager() {
    auto made = std::make_unique<Driven>();
    device = made.get();
    pager =
        std::make_unique<Pager>(host, memory.pool, nodes, std::move(made),
                                Pager::Settings{0, host.segment(), false, true, 0, ReplacementKind::vgasnet});
    pager->start();
  }

  PoolMemory memory{shape_of(1)};
  const Nodes nodes = nodes_of(1);
  FakeHost host{memory.pool, 0};
  Driven* device;
  std::unique_ptr<Pager> pager;
};

// Calls nudge() within the n-th call from arm() on: where the pager asks whether anything has ended.
class NudgingDevice final : public Device {
 public:
  void arm(int n, std::function<void()> nudge) {
    nudge_ = std::move(nudge);
    left_.store(n, std::memory_order_release);
  }

  std::string describe() const override { return inner_.describe(); }
  Status reserve(std::uint64_t offset, std::uint64_t n) override { return inner_.reserve(offset, n); }
  Status release(std::uint64_t offset, std::uint64_t n) override { return inner_.release(offset, n); }
  void start(Transfer& transfer) override { inner_.start(transfer); }
  Transfer* finished() override {
    called();
    return inner_.finished();
  }
  std::size_t under_way() const override {
    called();
    return inner_.under_way();
  }
  Status persist() override { return inner_.persist(); }

 private:
  void called() const {
    if (left_.load(std::memory_order_acquire) > 0 && left_.fetch_sub(1) == 1) nudge_();
  }

  TestDevice inner_{{.size = kSegmentPages * kPageBytes}};
  std::function<void()> nudge_;
  mutable std::atomic<int> left_{0};
};

// A pager that is woken for nothing looks once for work (its device's first call), listens (the second), and
// sleeps with no limit.
class PagerSleepTest : public ::testing::TestWithParam<int>, protected StartedPager<NudgingDevice> {
 protected:
  void wake_for_nothing() {
    await("sleep", [] { return sleeps(pager_thread()); });
    memory.pool.requests_of(0).queue.ring();
  }
  void expect_answer() {
    const Ticket ticket(memory.pool, 0);
    fill_in(ticket.request(), RangeCommand::room, 0, 0);
    await("sleep", [] { return sleeps(pager_thread()); });
    device->arm(GetParam(), [&] { ticket.post(0); });
    wake_for_nothing();
    await("the answer", [&] { return ticket.done(); });
  }
};

INSTANTIATE_TEST_SUITE_P(Calls, PagerSleepTest, ::testing::Values(1, 2));

TEST_P(PagerSleepTest, NoRequestIsLost) { expect_answer(); }

// They ring otherwise.
TEST_P(PagerSleepTest, NoRequestOfAnotherProcessIsLost) {
  memory.pool.requests_of(0).queue.remove_doorbell();
  expect_answer();
}

TEST_P(PagerSleepTest, NoOperationIsLost) {
  Operation get{};
  get.pe = kStranger;
  get.kind = Operation::Kind::get;
  await("sleep", [] { return sleeps(pager_thread()); });
  device->arm(GetParam(), [&] { pager->hand(reinterpret_cast<const std::byte*>(&get), sizeof get); });
  wake_for_nothing();
  host.wait_for_answers(1);
}

// Transfers end when a test says so, and the device tells of it.
class TellingDevice final : public Device {
 public:
  /// Returns false if none is under way that the pager has handed over.
  bool end_one() {
    if (not_submitted_ != 0 || inner_.end(1) == 0) return false;
    ++ended_;
    eventfd_write(eventfd_, 1);
    return true;
  }

  std::string describe() const override { return inner_.describe(); }
  Status reserve(std::uint64_t offset, std::uint64_t n) override { return inner_.reserve(offset, n); }
  Status release(std::uint64_t offset, std::uint64_t n) override { return inner_.release(offset, n); }
  void start(Transfer& transfer) override {
    ++not_submitted_;
    inner_.start(transfer);
  }
  void submit() override { not_submitted_ = 0; }
  Transfer* finished() override {
    Transfer* ended = inner_.finished();
    if (ended != nullptr) --ended_;
    return ended;
  }
  std::size_t under_way() const override { return inner_.under_way(); }
  bool listen(int eventfd) override {
    eventfd_ = eventfd;
    return ended_ == 0;
  }
  Status persist() override { return inner_.persist(); }

 private:
  TestDevice inner_{{.size = kSegmentPages * kPageBytes, .hold = true}};
  std::atomic<int> not_submitted_{0}, ended_{0}, eventfd_{-1};
};

// How often the thread has gone to sleep.
std::string sleeps_of(pid_t thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/status");
  std::string line;
  while (std::getline(file, line) && !line.starts_with("voluntary_ctxt_switches")) {
  }
  return line;
}

// Within 50 ms, in which it could nap 400 times.
void expect_sleep(unsigned long most_looks = 5) {
  await("sleep", [] { return sleeps(pager_thread()); });
  const unsigned long before = test::switches(pager_thread());
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  await("sleep", [] { return sleeps(pager_thread()); });
  EXPECT_LE(test::switches(pager_thread()) - before, most_looks);
}

// A pager that sleeps while its device is at work.
class PagerNaps : public ::testing::Test, protected StartedPager<TellingDevice> {};

TEST_F(PagerNaps, ThereAreNoneWhileATransferIsUnderWay) {
  for (const PageNumber page : {3, 4}) {
    const Asked asked(memory.pool, 0, 0, PageRequest::Kind::pin, Access::read, page);
    await("a sleep without naps", [] {
      const std::string before = sleeps_of(pager_thread());
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      return sleeps(pager_thread()) && sleeps_of(pager_thread()) == before;
    });
    EXPECT_TRUE(device->end_one()) << "the pager sleeps on a transfer that it has not handed over";
    EXPECT_NE(asked.wait().frame, kNoFrame);
  }
}

TEST_F(PagerNaps, ADeviceThatTakesLongIsNamedToWhoAsks) {
  answer_wait_questions(0, 1, 0, "");
  const Asked asked(memory.pool, 0, 0, PageRequest::Kind::pin, Access::read, 3);
  await("a second", [] {
    return answer_of_this_process().find("the NVM heap waits for its device") != std::string::npos;
  });
  EXPECT_TRUE(device->end_one());
  EXPECT_NE(asked.wait().frame, kNoFrame);
  await("the pager",
        [] { return answer_of_this_process().find("no thread waits in a call") != std::string::npos; });
}

// Who frees a frame rings, and a page that leaves frees one: the clock is for one that does not.
TEST_F(PagerNaps, ARequestForAFrameLooksAtTheClockNowAndThen) {
  const auto ask = [&](PageNumber page) {
    return Asked(memory.pool, 0, 0, PageRequest::Kind::latch, Access::write, page);
  };
  const auto finish = [&](const Asked& asked, PageNumber page) {
    await("the page", [&] {
      device->end_one();
      return asked.done();
    });
    memory.pool.word(page).unlatch();
  };
  for (PageNumber page = 0; page < kPoolFrames; ++page) finish(ask(page), page);
  std::deque<Asked> asked;
  for (PageNumber page = kPoolFrames; page < kPoolFrames + 3; ++page)
    asked.emplace_back(memory.pool, 0, 0, PageRequest::Kind::latch, Access::write, page);
  await("requests for a frame", [&] { return memory.pool.head().frame_waiters.load() >= 2; });
  expect_sleep(75);  // each ms
  for (PageNumber i = 0; i < 3; ++i) finish(asked[i], kPoolFrames + i);
  await("the rest", [&] {
    device->end_one();
    return device->under_way() == 0;
  });
}

// It hears of the end of a pin, so it need not look.
TEST_F(PageCacheTest, APinThatOthersWaitForWakesNoPager) {
  host.clock.stop();
  const FrameNumber frame = ask(PageRequest::Kind::pin, kOwn, Access::write).wait().frame;
  host.clock.advance(std::chrono::milliseconds(1));
  const std::size_t before = host.steps().size();
  send(kOwn, {.kind = Event::ask_write, .to = 0, .requester = 1});
  ping();
  expect_sleep();
  pool.frame(frame).pins(Access::write).fetch_sub(1);
  pool.requests_of(0).queue.ring();
  EXPECT_EQ(host.step(before + 2).message.message.kind, Event::grant_modified);
}

// Rounds are made by who drives the network, too.  The test plays the agent.
class PageInFlight : public PageCacheTest {
 protected:
  PageInFlight() : PageCacheTest(true) {
    host.on_drive = [this] { pager->answer_calls(); };  // as polling does
    pager->share_rounds();
  }
};

TEST_F(PageInFlight, ThatIsSentKeepsNoPagerAwake) {
  use(kOwn);
  const auto before = free_frames(pool);
  host.keeps_order = true;
  send(kOwn, {.kind = Event::ask_write, .to = 0, .requester = 1});
  EXPECT_EQ(host.step(1).message.message.kind, Event::grant_modified);
  expect_sleep();
  host.end_put();
  await("its frame", [&] {
    pager->answer_calls();
    return free_frames(pool) == before + 1;
  });
}

TEST_F(PageInFlight, ThatIsFetchedKeepsNoPagerAwake) {
  fetch_from(kOwn, 42);
  expect_sleep();
  host.end_get();
  await("what follows", [&] {
    pager->answer_calls();
    return host.steps().size() > 4;
  });
  EXPECT_EQ(host.step(4).message.message.kind, Event::fetched);
}

// Where the wire does not keep the order, the other node waits until this one has seen the page arrive.
TEST_F(PageInFlight, OfWhichAnotherNodeIsToBeToldIsDriven) {
  use(kOwn);
  host.puts_end = false;
  send(kOwn, {.kind = Event::ask_write, .to = 0, .requester = 1});
  EXPECT_EQ(host.step(0).what, HostStep::put);
  const int before = host.drives;
  await("drives", [&] { return host.drives > before + 10; });
  EXPECT_EQ(host.steps().size(), 1U);
  host.end_put();
  EXPECT_EQ(host.step(1).message.message.kind, Event::grant_modified);
}

}  // namespace
}  // namespace shm::nvm
