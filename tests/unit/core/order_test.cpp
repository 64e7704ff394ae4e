// SPDX-License-Identifier: BSD-3-Clause
// What is said of PEs that do not answer.
#include "core/order.hpp"

#include <algorithm>
#include <atomic>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "base/stats.hpp"
#include "core/progress.hpp"
#include "core/rma.hpp"
#include "transports/nic_job.hpp"
#include "wait_line.hpp"

namespace shm::test {
namespace {

/// Outstanding towards some PEs, one of which waits for the PE before it, until it is told to end.
struct SlowChannel : Channel {
  explicit SlowChannel(std::set<int> towards) : Channel{&kOps}, pes(std::move(towards)) {}

  const std::set<int> pes;
  std::atomic<bool> over{false};
  int flushes = 0;

 private:
  static const SlowChannel& own(const Channel* channel) { return *static_cast<const SlowChannel*>(channel); }
  static bool idle(const Channel* channel) { return own(channel).over.load(); }
  static bool idle_to(const Channel* channel, int pe) {
    return own(channel).over.load() || !own(channel).pes.contains(pe);
  }
  static constexpr NetOps kOps = {
      .put = nullptr,
      .get = nullptr,
      .amo = nullptr,
      .send = nullptr,
      .flush = [](Channel* channel) { ++static_cast<SlowChannel*>(channel)->flushes; },
      .idle = idle,
      .idle_to = idle_to,
      .fence = [](Channel* channel) { return idle(channel); },
      .waits_for = [](const Channel*, int pe) { return pe == 5 ? 4 : pe; }};
};

class OrderTest : public ::testing::Test {
 protected:
  OrderTest() { rt.npes = 8; }
  ~OrderTest() override { rt.npes = 0; }

  static void expect(const std::string& text, const std::set<int>& pes,
                     const std::function<void(Context&)>& wait) {
    SlowChannel channel(pes);
    Context context;
    context.channel = &channel;
    expect_wait_line(
        text, [&] { wait(context); }, [&] { channel.over.store(true); });
  }
};

TEST_F(OrderTest, AQuietNamesWhoMustActAndCountsOthers) {
  const auto wait = [](Context& context) { quiet(context, {"shmem_ctx_quiet"}); };
  expect("shmem_ctx_quiet waits for PE 3 to apply operations; since", {3}, wait);
  expect("shmem_ctx_quiet waits for PE 4 to apply operations; since", {4, 5}, wait);
  expect("shmem_ctx_quiet waits for PE 2 and 3 other PEs to apply operations; since", {2, 3, 5, 6}, wait);
}

TEST_F(OrderTest, AQuietTowardsAPeNamesItsCall) {
  const auto wait = [](Context& context) { quiet_to(context, 5, {"shmem_ctx_pe_quiet"}); };
  expect("shmem_ctx_pe_quiet waits for PE 4 to apply operations; since", {5, 6}, wait);
}

// What is waited for may be held back until somebody asks for it.
TEST_F(OrderTest, WhoWaitsSendsWhatIsHeld) {
  SlowChannel channel({});
  Context context;
  context.channel = &channel;
  quiet_to(context, 1);
  EXPECT_EQ(channel.flushes, 1);
  channel.over.store(true);
  fence(context);
  EXPECT_EQ(channel.flushes, 1) << "a fence that is free sends nothing";
  quiet(context);
  EXPECT_EQ(channel.flushes, 2);
}

/// PE 0 of three on nodes of their own.  PE 1 answers; PE 2 does not.
class TwoNodesAwayTest : public OrderTest {
 protected:
  TwoNodesAwayTest() {
    std::vector<std::uint64_t>& heap = job.pes[0].heap;
    rt.npes = 3, rt.me = 0;
    rt.network = job.pes[0].net.get(), rt.progress = &progress;
    rt.heap = {reinterpret_cast<std::uintptr_t>(heap.data()), heap.size() * 8, kDeltas};
    rt.world_context.channel = job.pes[0].channel;
  }
  ~TwoNodesAwayTest() override {
    stop_.store(true);
    answers_.join();
    rt.world_context.channel = nullptr;
    rt.heap = {};
    rt.network = nullptr, rt.progress = nullptr;
    rt.me = -1;
  }

  /// The first word to each has left and is not answered, the second is held.
  void put_words() {
    for (const int pe : {1, 1, 2, 2})
      shmem_long_p(reinterpret_cast<long*>(job.pes[0].heap.data()) + 2, 7, pe);
    EXPECT_EQ(take_stats()[static_cast<std::size_t>(Stat::packets)], 2u);
  }
  /// Of those since then, the ones that left as a call wanted it.  Others leave when they are too old.
  static std::uint64_t wanted() { return take_stats()[static_cast<std::size_t>(Stat::wanted_packets)]; }
  bool is_idle_to(int pe) { return job.pes[0].ops().idle_to(job.pes[0].channel, pe); }

  LoopJob job{3, 64, ignore, behind_nic(0, Packed::all)};
  Progress progress{*job.pes[0].net, job.pes[0].channel, 0};

 private:
  static constexpr std::ptrdiff_t kDeltas[] = {0, kNoMapping, kNoMapping};
  std::atomic<bool> stop_{false};
  std::thread answers_{[this] {
    while (!stop_.load()) {
      if (!job.pes[1].net->poll()) std::this_thread::yield();
    }
  }};
};

// What goes to other nodes stays in its packet, which more may join.
TEST_F(TwoNodesAwayTest, WhoWaitsForOnePeSendsWhatIsHeldForItsNodeOnly) {
  take_stats();
  put_words();
  quiet_to(rt.world_context, 1);
  EXPECT_TRUE(is_idle_to(1));
  EXPECT_FALSE(is_idle_to(2));
  EXPECT_EQ(wanted(), 1u);
  // Strided gets wait for their PE as well.
  job.quiet(job.pes[0]);
  take_stats();
  put_words();
  long got[4] = {};
  get_strided({"shmem_long_iget"}, SHMEM_CTX_DEFAULT, got, job.pes[0].heap.data(), {4, 8, 8, 8}, 1);
  EXPECT_EQ(got[2], 7);
  EXPECT_FALSE(is_idle_to(2));
  EXPECT_EQ(wanted(), 1u);
  // Who waits for all of them sends all.
  job.quiet(job.pes[0]);
  take_stats();
  put_words();
  std::atomic<bool> stop{false};
  std::thread also_answers([&] {
    while (!stop.load()) job.pes[2].net->poll();
  });
  quiet(rt.world_context);
  stop.store(true);
  also_answers.join();
  EXPECT_EQ(wanted(), 2u);
}

/// Never idle, as another thread goes on issuing.
struct BusyChannel : Channel {
  BusyChannel() : Channel{&kOps} {}
  int looks = 0;
  static constexpr int kLooks = 3;  // at a wait, until what it is for is complete

 private:
  static constexpr NetOps kOps = {
      .put = nullptr,
      .get = nullptr,
      .amo = nullptr,
      .send = nullptr,
      .flush = [](Channel*) {},
      .idle = [](const Channel*) { return false; },
      .idle_to = [](const Channel*, int) { return false; },
      .fence = [](Channel*) { return false; },
      .drained = [](Channel* channel,
                    Drain&) { return ++static_cast<BusyChannel*>(channel)->looks == kLooks; }};
};

TEST_F(OrderTest, NobodyWaitsForWhatOthersGoOnToIssue) {
  BusyChannel channel;
  Context context;
  context.channel = &channel;
  quiet(context);
  EXPECT_EQ(std::exchange(channel.looks, 0), BusyChannel::kLooks);
  quiet_to(context, 1);
  EXPECT_EQ(std::exchange(channel.looks, 0), BusyChannel::kLooks);
  fence(context);
  EXPECT_EQ(channel.looks, BusyChannel::kLooks);
}

TEST_F(OrderTest, AFenceThatHasToWaitIsNamed) {
  expect("shmem_fence waits for PE 6 to apply operations; since", {6},
         [](Context& context) { fence(context); });
}

}  // namespace
}  // namespace shm::test
