// SPDX-License-Identifier: BSD-3-Clause
// What is asked of the network, and in which order.
#include "core/remote.hpp"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "core/rma.hpp"
#include "two_pes.hpp"

namespace shm::test {
namespace {

using ::testing::ElementsAre;

/// Notes what is asked of another channel.
class NotedChannel : public Channel {
 public:
  explicit NotedChannel(Channel* channel) : Channel{&kOps}, inner(channel) {}

  Channel* const inner;
  bool orders = true;  // what fence() says
  std::vector<std::string> notes;

 private:
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
    own(channel).notes.emplace_back(inner->ops->idle(inner) ? "atomic, when all is complete" : "atomic");
    inner->ops->amo(inner, pe, at, op, type, value, compare, fetch, completion);
  }
  static void flush(Channel* channel) { own(channel).inner->ops->flush(own(channel).inner); }
  static bool idle(const Channel* channel) { return own(channel).inner->ops->idle(own(channel).inner); }
  static bool idle_to(const Channel* channel, int pe) {
    return own(channel).inner->ops->idle_to(own(channel).inner, pe);
  }
  static bool fence(Channel* channel) {
    own(channel).notes.emplace_back("fence");
    return own(channel).orders;
  }
  static constexpr NetOps kOps = {.put = put,
                                  .get = nullptr,
                                  .amo = amo,
                                  .send = nullptr,
                                  .flush = flush,
                                  .idle = idle,
                                  .idle_to = idle_to,
                                  .fence = fence};
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

  NotedChannel channel;
  const std::uint64_t payload[3] = {1, 2, 3};

 private:
  static constexpr std::ptrdiff_t kDeltas[] = {0, kNoMapping};
};

// Before the network has read it.
TEST_F(RemoteTest, TheSourceOfABlockingPutMayBeUsedAgain) {
  std::uint64_t source = 7;
  remote_put({"shmem_put"}, rt.world_context, &job.pes[0].heap[1], &source, 8, 1, Blocking::yes);
  source = 9;
  job.quiet(job.pes[0]);
  EXPECT_EQ(word(1), 7u);
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

TEST_F(RemoteTest, ASignalWithoutAPayloadNeedsNoFence) {
  put_signal_after(0, Blocking::yes);
  EXPECT_THAT(channel.notes, ElementsAre("atomic, when all is complete"));
}

}  // namespace
}  // namespace shm::test
