// SPDX-License-Identifier: BSD-3-Clause
// What is asked of the network, and in which order.
#include "core/remote.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <iterator>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/stats.hpp"
#include "core/amo.hpp"
#include "core/lock.hpp"
#include "core/rma.hpp"
#include "counting_region.hpp"
#include "shmem.h"
#include "two_pes.hpp"
#include "wait_line.hpp"

namespace shm::test {
namespace {

using ::testing::ElementsAre;

/// Notes what is asked of another channel, and may keep gets and atomics from it for a while.
class NotedChannel : public Channel {
 public:
  explicit NotedChannel(Channel* channel) : Channel{&kOps}, inner(channel) {}

  Channel* const inner;
  bool orders = true;  // what fence() says
  int actor = -1;      // what waits_for() says; -1: the PE
  std::vector<std::string> notes;
  void* fetched_to = nullptr;  // by the last atomic
  int flushes = 0;

  /// Lets go what it has been keeping since hold().
  void hold() { holding_.store(true); }
  void release() {
    for (const std::function<void()>& operation : held_) operation();
    holding_.store(false);
  }

 private:
  void start(const std::function<void()>& operation) {
    if (holding_.load()) return held_.push_back(operation);
    operation();
  }
  static NotedChannel& own(Channel* channel) { return *static_cast<NotedChannel*>(channel); }
  static const NotedChannel& own(const Channel* channel) {
    return *static_cast<const NotedChannel*>(channel);
  }
  static void put(Channel* channel, int pe, RemoteAddress to, const void* source, std::size_t n, bool copy,
                  Completion* completion) {
    own(channel).notes.emplace_back("put");
    Channel* inner = own(channel).inner;
    inner->ops->put(inner, pe, to, source, n, copy, completion);
  }
  static void amo(Channel* channel, int pe, RemoteAddress at, AtomicOp op, AtomicType type, const void* value,
                  const void* compare, void* fetch, Completion* completion) {
    Channel* inner = own(channel).inner;
    own(channel).fetched_to = fetch;
    own(channel).notes.emplace_back(inner->ops->idle(inner) ? "atomic, when all is complete" : "atomic");
    own(channel).start([=] { inner->ops->amo(inner, pe, at, op, type, value, compare, fetch, completion); });
  }
  static void get(Channel* channel, int pe, void* dest, RemoteAddress from, std::size_t n,
                  Completion* completion) {
    Channel* inner = own(channel).inner;
    own(channel).start([=] { inner->ops->get(inner, pe, dest, from, n, completion); });
  }
  static void flush(Channel* channel) {
    ++own(channel).flushes;
    own(channel).inner->ops->flush(own(channel).inner);
  }
  static bool idle(const Channel* channel) {
    return !own(channel).holding_.load() && own(channel).inner->ops->idle(own(channel).inner);
  }
  static bool idle_to(const Channel* channel, int pe) {
    return !own(channel).holding_.load() && own(channel).inner->ops->idle_to(own(channel).inner, pe);
  }
  static bool fence(Channel* channel) {
    own(channel).notes.emplace_back("fence");
    return own(channel).orders;
  }
  static int waits_for(const Channel* channel, int pe) {
    return own(channel).actor < 0 ? pe : own(channel).actor;
  }
  static constexpr NetOps kOps = {.put = put,
                                  .get = get,
                                  .amo = amo,
                                  .send = nullptr,
                                  .flush = flush,
                                  .idle = idle,
                                  .idle_to = idle_to,
                                  .fence = fence,
                                  .waits_for = waits_for};

  std::vector<std::function<void()>> held_;
  std::atomic<bool> holding_{false};
};

class RemoteTest : public TwoPes {
 protected:
  RemoteTest() : channel(job.pes[0].channel) {
    std::vector<std::uint64_t>& heap = job.pes[0].heap;
    rt.heap = {reinterpret_cast<std::uintptr_t>(heap.data()), heap.size() * 8, kDeltas};
    rt.world_context.channel = &channel;
  }
  ~RemoteTest() override {
    rt.world_context.channel = nullptr;
    rt.heap = {};
  }

  /// With a payload of so many words, to PE 1.
  void put_signal_after(std::size_t words, Blocking blocking) {
    std::uint64_t* heap = job.pes[0].heap.data();
    channel.notes.clear();
    put_signal({"shmem_put_signal"}, SHMEM_CTX_DEFAULT, heap + 1, payload, words * 8, heap, 7,
               SHMEM_SIGNAL_SET, 1, blocking);
  }
  void quiet() {
    job.quiet(job.pes[0]);
    EXPECT_EQ(word(0), 7u);
    EXPECT_EQ(word(1), payload[0]);
  }

  /// What is said of a call that PE 1 is slow to answer.
  void expect(const std::string& text, const std::function<void()>& call) {
    channel.hold();
    expect_wait_line(text, call, [this] { channel.release(); });
    channel.release();
  }

  NotedChannel channel;
  const std::uint64_t payload[3] = {1, 2, 3};

 private:
  static constexpr std::ptrdiff_t kDeltas[] = {0, kNoMapping};
};

// Who gets the lock next sees all that was done under it.
TEST_F(RemoteTest, ALockIsPassedOnWhenAllBeforeIsComplete) {
  start_agent();
  auto* lock = reinterpret_cast<long*>(job.pes[0].heap.data() + 2);  // at home here
  const std::uint64_t value = 7;
  set_lock({"shmem_set_lock"}, lock);
  put(&channel, 5, value);
  clear_lock({"shmem_clear_lock"}, lock);
  EXPECT_TRUE(channel.ops->idle(&channel));
  EXPECT_EQ(word(5), 7U);
}

// What the next PE waits for must not wait for others to come into its packet.
TEST_F(RemoteTest, ALockIsPassedOnAtOnce) {
  std::uint64_t& words = job.pes[0].heap[2];
  auto* lock = reinterpret_cast<long*>(&words);  // at home here
  set_lock({"shmem_set_lock"}, lock);
  words = std::uint64_t{2} << 32 | 2;  // PE 1 has come, and has said so
  const int before = channel.flushes;
  clear_lock({"shmem_clear_lock"}, lock);
  EXPECT_THAT(channel.notes, ElementsAre("atomic, when all is complete"));
  EXPECT_EQ(channel.flushes - before, 2) << "of what was done under the lock, and of the lock itself";
  job.quiet(job.pes[0]);
  EXPECT_EQ(word(2), std::uint64_t{1} << 63);
}

/// Notes what it is asked, and whether the call may return before.
class NotedRegion final : public EmptyRegion {
 public:
  using EmptyRegion::EmptyRegion;
  std::vector<std::string> notes;

  void put(Context*, std::uintptr_t, const void*, std::size_t, int, bool nbi) override { note("put", nbi); }
  void get(Context*, void*, std::uintptr_t, std::size_t, int, bool nbi) override { note("get", nbi); }
  void amo(Context*, std::uintptr_t, AtomicOp, AtomicType, const void*, const void*, void*, int,
           bool nbi) override {
    note("amo", nbi);
  }
  void quiet(Context&) override { notes.emplace_back("quiet"); }
  void fence(Context&) override { notes.emplace_back("fence"); }

 private:
  void note(const std::string& what, bool nbi) { notes.push_back(what + (nbi ? ", later" : "")); }
};

TEST_F(RemoteTest, ARegionIsToldWhatMayBeCompletedLater) {
  std::uint64_t at[4] = {}, mine[2] = {};
  NotedRegion region("toy", reinterpret_cast<std::uintptr_t>(at), sizeof at);
  add_region(&region);
  shmem_uint64_put(at, mine, 2, 1);
  shmem_uint64_put_nbi(at, mine, 2, 1);
  shmem_uint64_get(mine, at, 2, 1);
  shmem_uint64_get_nbi(mine, at, 2, 1);
  shmem_uint64_atomic_add(at, 1, 1);
  shmem_uint64_atomic_fetch(at, 1);
  shmem_uint64_atomic_fetch_nbi(mine, at, 1);
  EXPECT_THAT(region.notes,
              ElementsAre("put", "put, later", "get", "get, later", "amo, later", "amo", "amo, later"));
  region.notes.clear();
  shmem_uint64_put_signal(at, mine, 2, at + 3, 1, SHMEM_SIGNAL_SET, 1);
  EXPECT_THAT(region.notes, ::testing::Contains("put"));
  region.notes.clear();
  shmem_uint64_put_signal_nbi(at, mine, 2, at + 3, 1, SHMEM_SIGNAL_SET, 1);
  EXPECT_THAT(region.notes, ::testing::Contains("put, later"));
  shmem_quiet();
  remove_region(&region);
}

// Local memory of a region, and what goes to and comes from the network by a buffer that is shorter.
TEST(LongTransfers, OfMemoryInARegionGoPartByPart) {
  constexpr std::size_t kMany = 20000;  // words, more than two buffers
  LoopJob job(2, kMany, [](int, std::uint16_t, const std::byte*, std::size_t) {});
  Progress progress(*job.pes[0].net, job.pes[0].channel, 0);
  static constexpr std::ptrdiff_t kDeltas[] = {0, kNoMapping};
  std::vector<std::uint64_t>& heap = job.pes[0].heap;
  std::vector<std::uint64_t> there(kMany), back(kMany);
  std::iota(there.begin(), there.end(), 1);
  CountingRegion out("out", reinterpret_cast<std::uintptr_t>(there.data()), kMany * 8);
  CountingRegion in("in", reinterpret_cast<std::uintptr_t>(back.data()), kMany * 8);
  add_region(&out);
  add_region(&in);
  rt.npes = 2;
  rt.me = 0;
  rt.network = job.pes[0].net.get();
  rt.progress = &progress;
  rt.heap = {reinterpret_cast<std::uintptr_t>(heap.data()), kMany * 8, kDeltas};
  rt.world_context.channel = job.pes[0].channel;
  shmem_uint64_put(heap.data(), there.data(), kMany, 1);
  EXPECT_EQ(job.pes[1].heap, there);
  shmem_uint64_get(back.data(), heap.data(), kMany, 1);
  EXPECT_EQ(back, there);
  rt.world_context.channel = nullptr;
  rt.heap = {};
  rt.progress = nullptr;
  rt.network = nullptr;
  rt.npes = 0;
  rt.me = -1;
  remove_region(&out);
  remove_region(&in);
}

// Before the network has read it: of each blocking put of the API, short or longer than the network copies.
TEST_F(RemoteTest, TheSourceOfABlockingPutMayBeUsedAgain) {
  static constexpr std::size_t kMany = 200;  // words
  EXPECT_GT(kMany * 8, rt.network->copy_limit());
  std::uint64_t *heap = job.pes[0].heap.data(), *to = heap + 1;
  std::vector<std::uint64_t> source(kMany);
  const std::uint64_t* from = source.data();
  const std::function<void(std::size_t)> puts[] = {
      [=](std::size_t n) { shmem_uint64_put(to, from, n, 1); },
      [=](std::size_t n) { shmem_put64(to, from, n, 1); },
      [=](std::size_t n) { shmem_putmem(to, from, n * 8, 1); },
      [=](std::size_t) { shmem_uint64_p(to, *from, 1); },
      [=](std::size_t n) { shmem_uint64_iput(to, from, 1, 1, n, 1); },
      [=](std::size_t n) { shmem_uint64_ibput(to, from, static_cast<std::ptrdiff_t>(n), kMany, n, 1, 1); },
      [=](std::size_t n) { shmem_uint64_put_signal(to, from, n, heap, 1, SHMEM_SIGNAL_SET, 1); },
      [=](std::size_t n) { shmem_put64_signal(to, from, n, heap, 1, SHMEM_SIGNAL_SET, 1); }};
  for (std::size_t i = 0; i < std::size(puts); ++i) {
    for (const std::size_t n : {std::size_t{1}, kMany}) {
      std::ranges::fill(source, 7);
      puts[i](n);
      std::ranges::fill(source, 9);
      job.quiet(job.pes[0]);
      EXPECT_EQ(std::exchange(word(1), 0), 7u) << "put " << i << " of " << n << " words";
    }
  }
}

TEST_F(RemoteTest, AFenceKeepsASignalBehindItsPayload) {
  for (const Blocking blocking : {Blocking::yes, Blocking::no}) {
    put_signal_after(3, blocking);
    EXPECT_THAT(channel.notes, ElementsAre("put", "fence", "atomic"));
    quiet();
  }
}

TEST_F(RemoteTest, WhereThereIsNoFenceASignalWaitsForItsPayload) {
  channel.orders = false;
  for (const Blocking blocking : {Blocking::yes, Blocking::no}) {
    put_signal_after(3, blocking);
    EXPECT_THAT(channel.notes, ElementsAre("put", "fence", "atomic, when all is complete"));
    quiet();
  }
}

// Regions send messages, which the fence of a channel does not order: so an operation on one waits for what
// precedes the fence, unless that is complete.  Other operations, and gets, do not.
TEST_F(RemoteTest, AFenceIsWaitedForByTheFirstOperationOnARegion) {
  std::uint64_t at[4] = {}, mine = 5;
  NotedRegion region("toy", reinterpret_cast<std::uintptr_t>(at), sizeof at);
  add_region(&region);
  const auto is_complete = [&] { return channel.ops->idle(&channel); };
  const std::function<void()> operations[] = {[&] { shmem_uint64_put(at, payload, 2, 1); },
                                              [&] { shmem_uint64_p(at, 1, 1); },
                                              [&] { shmem_uint64_put_nbi(at, payload, 2, 1); },
                                              [&] { shmem_uint64_iput(at, payload, 2, 1, 2, 1); },
                                              [&] { shmem_uint64_atomic_add(at, 1, 1); },
                                              [&] { (void)shmem_uint64_atomic_fetch_add(at, 1, 1); },
                                              [&] { shmem_uint64_atomic_fetch_add_nbi(&mine, at, 1, 1); },
                                              [&] { shmem_signal_set(at, 1, 1); }};
  for (std::size_t i = 0; i < std::size(operations); ++i) {
    SCOPED_TRACE("operation " + std::to_string(i));
    put(&channel, 1, payload[0]);
    operations[i]();
    EXPECT_FALSE(is_complete()) << "no fence is between";
    shmem_fence();
    EXPECT_FALSE(is_complete()) << "the fence waits";
    put(&channel, 2, payload[0]);
    shmem_uint64_get(&mine, at, 1, 1);
    EXPECT_FALSE(is_complete()) << "a fence does not order gets";
    region.notes.clear();
    operations[i]();
    EXPECT_TRUE(is_complete());
    EXPECT_FALSE(region.notes.empty());
    put(&channel, 1, payload[0]);
    operations[i]();
    EXPECT_FALSE(is_complete()) << "the fence has been waited for";
    shmem_quiet();
    shmem_fence();
  }
  remove_region(&region);
}

// Threads fence and use a region at the same time: what precedes a thread's fence is complete before its
// operation on the region.
TEST_F(RemoteTest, ThreadsFenceAndUseARegionAtTheSameTime) {
  start_agent();
  class LookingRegion final : public EmptyRegion {
   public:
    using EmptyRegion::EmptyRegion;
    std::function<void(std::uintptr_t)> look;
    void put(Context*, std::uintptr_t to, const void*, std::size_t, int, bool) override { look(to); }
  };
  constexpr std::uint64_t kThreads = 3, kRounds = 500;
  std::uint64_t at[kThreads] = {};
  LookingRegion region("toy", reinterpret_cast<std::uintptr_t>(at), sizeof at);
  std::array<std::uint64_t, kThreads> rounds{};
  region.look = [&](std::uintptr_t to) {
    const std::size_t thread = (to - region.base()) / 8;
    EXPECT_EQ(load(word(thread)), rounds[thread]);
  };
  add_region(&region);
  rt.world_context.channel = job.pes[0].channel;
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (std::uint64_t round = 1; round <= kRounds; ++round) {
        rounds[t] = round;
        put(job.pes[0].channel, t, round);
        shmem_fence();
        shmem_uint64_p(at + t, round, 1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  shmem_quiet();
  remove_region(&region);
}

TEST_F(RemoteTest, WhereThereIsARegionASignalInMemoryDoesNotWaitForItsPayload) {
  CountingRegion region("toy", 4096, 4096);
  add_region(&region);
  put_signal_after(3, Blocking::yes);
  EXPECT_THAT(channel.notes, ElementsAre("put", "fence", "atomic"));
  remove_region(&region);
  quiet();
}

// A page may go away before the network has read it.
TEST_F(RemoteTest, AShortPutFromARegionWaitsForNothing) {
  std::vector<std::uint64_t> mine(rt.network->copy_limit() / 8, 7);
  CountingRegion region("toy", reinterpret_cast<std::uintptr_t>(mine.data()), mine.size() * 8);
  add_region(&region);
  std::uint64_t* to = job.pes[0].heap.data() + 1;
  const std::function<void()> puts[] = {[&] { shmem_uint64_put(to, mine.data(), mine.size(), 1); },
                                        [&] { shmem_uint64_put_nbi(to, mine.data(), mine.size(), 1); },
                                        [&] { shmem_uint64_put_nbi(to, mine.data(), 3, 1); }};
  for (const std::function<void()>& put_from_there : puts) {
    std::ranges::fill(mine, 7);
    put_from_there();
    EXPECT_FALSE(channel.ops->idle(&channel));
    std::ranges::fill(mine, 9);
    job.quiet(job.pes[0]);
    EXPECT_EQ(std::exchange(word(1), 0), 7u);
    EXPECT_EQ(std::exchange(word(3), 0), 7u);
  }
  remove_region(&region);
}

class RemoteBehindNicTest : public TwoPes {
 protected:
  RemoteBehindNicTest() : TwoPes(behind_nic(0, Packed::all)) {
    std::vector<std::uint64_t>& heap = job.pes[0].heap;
    rt.heap = {reinterpret_cast<std::uintptr_t>(heap.data()), heap.size() * 8, kDeltas};
    rt.world_context.channel = job.pes[0].channel;
  }
  ~RemoteBehindNicTest() override {
    rt.world_context.channel = nullptr;
    rt.heap = {};
  }

 private:
  static constexpr std::ptrdiff_t kDeltas[] = {0, kNoMapping};
};

TEST_F(RemoteBehindNicTest, ShortPutsFromARegionArePacked) {
  std::vector<std::uint64_t> mine(100, 7);
  CountingRegion region("toy", reinterpret_cast<std::uintptr_t>(mine.data()), mine.size() * 8);
  add_region(&region);
  std::uint64_t* heap = job.pes[0].heap.data();
  take_stats();
  shmem_uint64_put_nbi(heap + 1, mine.data(), 100, 1);
  shmem_uint64_put(heap + 101, mine.data(), 50, 1);
  shmem_uint64_put_signal_nbi(heap + 151, mine.data(), 50, heap, 3, SHMEM_SIGNAL_ADD, 1);
  std::ranges::fill(mine, 9);
  job.quiet(job.pes[0]);
  const StatValues stats = take_stats();
  EXPECT_EQ(stats[static_cast<std::size_t>(Stat::packed_puts)], 3u);
  EXPECT_EQ(stats[static_cast<std::size_t>(Stat::puts)], 3u);
  EXPECT_EQ(stats[static_cast<std::size_t>(Stat::packed)], 4u);
  for (std::size_t i = 1; i <= 200; ++i) EXPECT_EQ(word(i), 7u) << "word " << i;
  EXPECT_EQ(word(0), 3u);
  remove_region(&region);
}

TEST_F(RemoteTest, ASignalWithoutAPayloadNeedsNoFence) {
  put_signal_after(0, Blocking::yes);
  EXPECT_THAT(channel.notes, ElementsAre("atomic, when all is complete"));
}

// What is fetched to a region does not go there by the network: a page may have to come first.
TEST_F(RemoteTest, TheNetworkStoresNothingInARegion) {
  std::uint64_t *heap = job.pes[0].heap.data(), in_memory = 0, in_region = 0;
  CountingRegion region("toy", reinterpret_cast<std::uintptr_t>(&in_region), sizeof in_region);
  word(1) = 5;
  add_region(&region);
  shmem_uint64_atomic_fetch_add_nbi(&in_region, heap + 1, 1, 1);
  EXPECT_EQ(in_region, 5u);
  EXPECT_NE(channel.fetched_to, &in_region);
  shmem_uint64_atomic_fetch_add_nbi(&in_memory, heap + 1, 1, 1);
  EXPECT_EQ(channel.fetched_to, &in_memory);
  job.quiet(job.pes[0]);
  EXPECT_EQ(in_memory, 6u);
  remove_region(&region);
}

TEST_F(RemoteTest, AWaitNamesTheCallAndWhoMustAct) {
  auto* heap = reinterpret_cast<long*>(job.pes[0].heap.data());
  long got[2] = {};
  expect("shmem_long_get waits for PE 1 to answer; since",
         [&] { get_bytes({"shmem_long_get"}, SHMEM_CTX_DEFAULT, got, heap, 16, 1, Blocking::yes); });
  expect("shmem_long_iget waits for PE 1 to apply operations; since", [&] {
    get_strided({"shmem_long_iget"}, SHMEM_CTX_DEFAULT, got, heap, {2, 8, 8, 16}, 1);
  });
  channel.orders = false;
  expect("shmem_ctx_fence waits for PE 0 and 1 other PEs to apply operations; since",
         [] { shmem_ctx_fence(SHMEM_CTX_DEFAULT); });
  expect("shmem_putmem_signal waits for PE 0 and 1 other PEs to apply operations; since", [&] {
    shmem_putmem_signal(heap + 1, got, 8, reinterpret_cast<std::uint64_t*>(heap), 1, SHMEM_SIGNAL_SET, 1);
  });
  const auto fetch = [&] {
    EXPECT_EQ(amo_fetch<AtomicOp::add>({"shmem_long_atomic_fetch_inc"}, SHMEM_CTX_DEFAULT, heap, 1L, 0L, 1),
              0);
  };
  expect("shmem_long_atomic_fetch_inc waits for PE 1 to answer; since", fetch);
  channel.actor = 0;
  expect("shmem_long_atomic_fetch_inc waits for PE 0, on which the atomic on PE 1 depends; since", fetch);
}

// Else who sends to it would wait for its agent.
TEST_F(RemoteTest, AStreamThatOnlyFillsPacketsPollsNowAndThen) {
  NetOps ops = *channel.ops;
  ops.update = [](Channel*, int, RemoteAddress, AtomicKind, std::uint64_t) { return false; };
  Channel filling{&ops};
  rt.world_context.channel = &filling;
  static int polls;
  polls = 0;
  const auto poller = [](void*) {
    ++polls;
    return false;
  };
  Progress::add_poller(poller, &polls);
  for (int round = 0; round < 3; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // longer than it goes on without
    for (int i = 0; i < 300; ++i) shmem_uint64_atomic_add(job.pes[0].heap.data() + 1, 1, 1);
  }
  EXPECT_GE(polls, 3);
  Progress::remove_poller(poller, &polls);
}

// The one comparison of the fast path misses the last bytes of a segment; all operations reach them.
TEST_F(RemoteTest, TheLastElementIsReachedOnThisNodeToo) {
  long* last = reinterpret_cast<long*>(&job.pes[0].heap.back());
  EXPECT_EQ(mapped(last, 0), nullptr);
  put_element({"shmem_long_p"}, SHMEM_CTX_DEFAULT, last, 7L, 0);
  EXPECT_EQ(*last, 7);
  EXPECT_EQ(get_element({"shmem_long_g"}, SHMEM_CTX_DEFAULT, last, 0), 7);
  EXPECT_EQ(amo_fetch<AtomicOp::add>({"shmem_long_atomic_fetch_add"}, SHMEM_CTX_DEFAULT, last, 3L, 0L, 0), 7);
  EXPECT_EQ(*last, 10);
  EXPECT_THAT(channel.notes, ElementsAre());
}

}  // namespace
}  // namespace shm::test
