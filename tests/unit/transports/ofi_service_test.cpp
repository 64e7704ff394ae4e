// SPDX-License-Identifier: BSD-3-Clause
// Channels for services, whose calls never wait: what finds no room is posted by a later poll, in its order.
#include <gtest/gtest.h>
#include <rdma/fi_errno.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <optional>
#include <thread>
#include <vector>

#include "fabric_faults.hpp"
#include "fabric_job.hpp"
#include "ofi/engine.hpp"
#include "ofi/quirks.hpp"

namespace shm::test {
namespace {

constexpr std::size_t kPage = 250, kPages = 400;  // words of a page, and pages of a heap
constexpr std::uint16_t kTold = 1;
constexpr FabricCall kCalls[] = {FabricCall::write, FabricCall::read, FabricCall::send};

// What the handler of PE 1 is told, which tells of a page that has been put.
struct Told {
  std::uint64_t page;
  std::uint64_t padding[kPage - 1];  // too long for the inbox
};
LoopPe* told_pe = nullptr;
std::uint64_t told = 0;  // in order, and each behind its page

void handle(int, std::uint16_t, const std::byte* message, std::size_t) {
  Told it;
  std::memcpy(&it, message, sizeof it);
  if (it.page == told && told_pe->heap[it.page * kPage] == it.page + 1) ++told;
}

class OfiService : public ::testing::Test {
 protected:
  void open(const FabricOptions& options = loopback(), int npes = 2) {
    job.emplace(npes, kPage * kPages, handle, options);
    job->meet();
    told_pe = &pe(1);
    told = 0;
    channel = pe(0).net->open_channel(ChannelUse::service);
    for (std::size_t i = 0; i < kPages; ++i) sources.emplace_back(kPage, i + 1);
  }
  void TearDown() override {
    for (const FabricCall call : kCalls) faults.pass(call);
    finish();
    pe(0).net->close_channel(channel);
  }
  LoopPe& pe(std::size_t number) { return job->pes[number]; }

  void put(std::uint64_t page) {
    channel->ops->put(channel, 1, LoopPe::word(page * kPage), sources[page].data(), kPage * 8, false,
                      nullptr);
  }
  void tell(std::uint64_t page, Channel* by) {
    const Told it{page, {}};
    by->ops->send(by, 1, kTold, &it, sizeof it);
  }
  bool idle() const { return channel->ops->idle(channel); }
  // Calls `drive` until the condition holds, for a minute at most.
  template <class Condition, class Drive>
  static void until(Condition condition, Drive drive) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!condition() && std::chrono::steady_clock::now() < limit) drive();
  }
  template <class Condition>
  void until(Condition condition) {
    until(condition, [this] { job->poll_all(); });
  }
  void finish() {
    until([this] { return idle(); });
    EXPECT_TRUE(idle());
  }
  void await_told(std::uint64_t n) {
    until([n] { return told == n; });
    EXPECT_EQ(told, n) << "a message was lost, or came before its page";
  }

  FabricFaults faults;
  std::optional<FabricJob> job;
  Channel* channel = nullptr;
  std::vector<std::vector<std::uint64_t>> sources;
};

// Each kind of call by itself, so that it is the one that is refused.
TEST_F(OfiService, DoesNotWaitForRoomAtTheProvider) {
  open();
  pe(1).heap[0] = 1;  // of page 0, which the message tells of
  pe(1).heap[5] = 55;
  std::uint64_t got = 0;
  Completion fetched;
  for (const FabricCall call : kCalls) {
    faults.fail_always(call, -FI_EAGAIN);
    if (call == FabricCall::write) put(3);
    if (call == FabricCall::read) channel->ops->get(channel, 1, &got, LoopPe::word(5), 8, &fetched);
    if (call == FabricCall::send) tell(0, channel);
    const long refused = faults.count(call);
    for (int i = 0; i < 100; ++i) job->poll_all();
    EXPECT_GT(faults.count(call), refused) << "each poll tries again";
    EXPECT_FALSE(idle());
    EXPECT_FALSE(channel->ops->fence(channel)) << "what is not posted is not ordered with what will be";
    EXPECT_FALSE(pe(0).net->may_block()) << "no descriptor tells of what waits for a poll";
    faults.pass(call);
    finish();
  }
  await_told(1);
  EXPECT_TRUE(fetched.done());
  EXPECT_EQ(got, 55u);
  EXPECT_EQ(pe(1).heap[3 * kPage], 4u);
}

// The peer takes nothing meanwhile: no more is posted than its credits, and nothing is lost.
TEST_F(OfiService, DoesNotWaitForAPeer) {
  open();
  const long before = faults.count(FabricCall::write);
  const long credits = ofi::find_quirk("tcp;ofi_rxm").credits;
  ASSERT_LT(credits, long{kPages});
  for (std::uint64_t page = 0; page < kPages; ++page) put(page);
  EXPECT_EQ(faults.count(FabricCall::write) - before, credits);
  const long polls = faults.count(FabricCall::write);
  for (int i = 0; i < 100; ++i) pe(0).net->poll();
  EXPECT_EQ(faults.count(FabricCall::write), polls) << "nothing is tried again before something completes";
  until([&] { return pe(0).net->may_block(); }, [&] { pe(0).net->poll(); });
  EXPECT_TRUE(pe(0).net->may_block()) << "of that the descriptor tells";
  finish();
  for (std::uint64_t page = 0; page < kPages; ++page) EXPECT_EQ(pe(1).heap[page * kPage + 7], page + 1);
}

// Nor are messages, and none overtakes its page.
TEST_F(OfiService, MessagesFollowTheirPages) {
  open();
  for (std::uint64_t page = 0; page < kPages; ++page) {
    put(page);
    tell(page, channel);
  }
  EXPECT_EQ(told, 0u);
  await_told(kPages);
}

// Others do not wait for one that has no room.
TEST_F(OfiService, WhatGoesToAnotherPeGoesOn) {
  open(loopback(), 3);
  for (std::uint64_t page = 0; page < kPages; ++page) put(page);
  Completion stored;
  channel->ops->put(channel, 2, LoopPe::word(7), sources[8].data(), 8, false, &stored);
  until([&] { return stored.done(); },
        [&] {
          pe(0).net->poll();
          pe(2).net->poll();
        });
  EXPECT_TRUE(stored.done());
  EXPECT_EQ(pe(2).heap[7], 9u);
  EXPECT_FALSE(idle()) << "PE 1 has taken nothing";
}

// A program's thread whose message is behind much waits until it has left, not until nothing else waits.
TEST_F(OfiService, ASenderWaitsForItsTurnOnly) {
  open();
  for (std::uint64_t page = 0; page < kPages; ++page) put(page);
  std::atomic<bool> sent{false}, over{false};
  std::thread program([&] {
    tell(kPages - 1, pe(0).channel);
    sent.store(true);
  });
  // The service goes on, so that something waits at any time.
  std::thread peer([&] {
    while (!over.load()) pe(1).net->poll();
  });
  std::uint64_t page = 0;
  until([&] { return sent.load(); },
        [&] {
          if (static_cast<ofi::OfiChannel*>(channel)->outstanding.count() < 2 * kPages) put(page++ % kPages);
          pe(0).net->poll();
        });
  EXPECT_TRUE(sent.load());
  program.join();
  over.store(true);
  peer.join();
}

// Whoever sends it: a message must not overtake the pages that were put before.
TEST_F(OfiService, MessagesOfOthersStayBehindWhatWaits) {
  open();
  faults.fail(FabricCall::write, -FI_EAGAIN, 40);
  put(0);
  tell(0, pe(0).channel);  // waits
  await_told(1);
  finish();
}

TEST_F(OfiService, ALongTransferIsCompleteWithItsLastPart) {
  FabricOptions options = loopback();
  options.max_transfer = 400;
  open(options);
  faults.fail(FabricCall::write, -FI_EAGAIN, 40, 2);
  Completion stored;
  channel->ops->put(channel, 1, LoopPe::word(0), sources[8].data(), kPage * 8, false, &stored);
  EXPECT_FALSE(stored.done());
  until([&] { return stored.done(); },
        [&] {
          EXPECT_FALSE(idle());
          job->poll_all();
        });
  EXPECT_TRUE(stored.done());
  EXPECT_EQ(pe(1).heap[kPage - 1], 9u);
  finish();
}

}  // namespace
}  // namespace shm::test
