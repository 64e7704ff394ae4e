// SPDX-License-Identifier: BSD-3-Clause
// Channels for services, whose calls never wait: what finds no room is posted by a later poll, in its order.
#include <gtest/gtest.h>
#include <rdma/fi_errno.h>

#include <chrono>
#include <cstring>
#include <optional>
#include <vector>

#include "fabric_faults.hpp"
#include "fabric_job.hpp"
#include "ofi/quirks.hpp"

namespace shm::test {
namespace {

constexpr std::size_t kPage = 250, kPages = 400;  // words of a page, and pages of a heap
constexpr std::uint16_t kTold = 1;

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
  void open(const FabricOptions& options = loopback()) {
    job.emplace(2, kPage * kPages, handle, options);
    job->meet();
    told_pe = &pe(1);
    told = 0;
    channel = pe(0).net->open_channel(ChannelUse::service);
    for (std::size_t i = 0; i < kPages; ++i) sources.emplace_back(kPage, i + 1);
  }
  void TearDown() override {
    pe(0).net->close_channel(channel);
    faults.pass(FabricCall::write);
    faults.pass(FabricCall::read);
    faults.pass(FabricCall::send);
  }
  LoopPe& pe(std::size_t number) { return job->pes[number]; }

  void put(std::uint64_t page, std::size_t words = kPage) {
    channel->ops->put(channel, 1, LoopPe::word(page * kPage), sources[page].data(), words * 8, false,
                      nullptr);
  }
  void tell(std::uint64_t page, Channel* by) {
    const Told it{page, {}};
    by->ops->send(by, 1, kTold, &it, sizeof it);
  }
  bool idle() const { return channel->ops->idle(channel); }
  void finish() {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!idle() && std::chrono::steady_clock::now() < limit) job->poll_all();
    EXPECT_TRUE(idle());
  }
  void await_told(std::uint64_t n) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (told != n && std::chrono::steady_clock::now() < limit) job->poll_all();
    EXPECT_EQ(told, n) << "a message was lost, or came before its page";
  }

  FabricFaults faults;
  std::optional<FabricJob> job;
  Channel* channel = nullptr;
  std::vector<std::vector<std::uint64_t>> sources;
};

TEST_F(OfiService, DoesNotWaitForRoomAtTheProvider) {
  open();
  pe(1).heap[5] = 55;
  for (const FabricCall call : {FabricCall::write, FabricCall::read, FabricCall::send})
    faults.fail_always(call, -FI_EAGAIN);
  std::uint64_t got = 0;
  Completion fetched;
  channel->ops->get(channel, 1, &got, LoopPe::word(5), 8, &fetched);
  for (std::uint64_t page = 1; page < 4; ++page) put(page);
  tell(0, channel);
  for (int i = 0; i < 100; ++i) job->poll_all();
  EXPECT_FALSE(idle());
  EXPECT_FALSE(channel->ops->fence(channel)) << "what is not posted is not ordered with what will be";
  EXPECT_FALSE(pe(0).net->may_block()) << "no descriptor tells of what waits for a poll";
  EXPECT_FALSE(fetched.done());
  EXPECT_EQ(pe(1).heap[kPage], 0u);
  for (const FabricCall call : {FabricCall::write, FabricCall::read, FabricCall::send}) faults.pass(call);
  pe(1).heap[0] = 1;  // of page 0, which the message tells of
  finish();
  await_told(1);
  EXPECT_TRUE(fetched.done());
  EXPECT_EQ(got, 55u);
  EXPECT_EQ(pe(1).heap[3 * kPage], 4u);
}

// The peer takes nothing meanwhile: no more is posted than its credits, and nothing is lost, nor overtaken.
TEST_F(OfiService, DoesNotWaitForAPeer) {
  open();
  const long before = faults.count(FabricCall::write);
  for (std::uint64_t page = 0; page < kPages; ++page) {
    put(page);
    tell(page, channel);
  }
  EXPECT_LE(faults.count(FabricCall::write) - before, ofi::find_quirk("tcp;ofi_rxm").credits);
  EXPECT_EQ(told, 0u);
  await_told(kPages);
  finish();
  for (std::uint64_t page = 0; page < kPages; ++page) EXPECT_EQ(pe(1).heap[page * kPage + 7], page + 1);
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
  while (!stored.done()) {
    EXPECT_FALSE(idle());
    job->poll_all();
  }
  EXPECT_EQ(pe(1).heap[kPage - 1], 9u);
  finish();
}

}  // namespace
}  // namespace shm::test
