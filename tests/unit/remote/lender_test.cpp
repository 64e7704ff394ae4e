// SPDX-License-Identifier: BSD-3-Clause
#include "remote/lender.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "base/fatal.hpp"
#include "servers_job.hpp"
#include "tests/one_channel_network.hpp"

namespace shm::remote {
namespace {

constexpr std::size_t kBytes = std::size_t{4} << 20;

bool zeros(const std::byte* at, std::size_t n) {
  return std::all_of(at, at + n, [](std::byte byte) { return byte == std::byte{}; });
}

TEST(LentMemory, IsCommittedAndReadsAsZeros) {
  Result<LentMemory> memory = LentMemory::create(kBytes);
  ASSERT_TRUE(memory.ok());
  EXPECT_EQ(memory.value().bytes(), kBytes);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.value().base()) % kHugePage, 0u);
  EXPECT_TRUE(zeros(memory.value().base(), kBytes));
}

TEST(LentMemory, IsNotInCoreDumps) {
  Result<LentMemory> memory = LentMemory::create(kBytes);
  std::ifstream maps("/proc/self/smaps");
  char begin[32];
  std::snprintf(begin, sizeof begin, "%zx-", reinterpret_cast<std::uintptr_t>(memory.value().base()));
  bool found = false, within = false;
  for (std::string line; std::getline(maps, line);) {
    if (line.starts_with(begin)) within = true;
    if (!within || !line.starts_with("VmFlags")) continue;
    found = true;
    EXPECT_NE(line.find(" dd"), line.npos) << line;
    break;
  }
  EXPECT_TRUE(found);
}

TEST(LentMemory, TooMuchIsRefusedInOneLine) {
  const Result<LentMemory> memory = LentMemory::create(std::size_t{1} << 46);
  ASSERT_FALSE(memory.ok());
  EXPECT_EQ(memory.status().text().find("cannot lend 64 TiB of memory"), 0u) << memory.status().text();
  EXPECT_NE(memory.status().text().find(": the host has "), std::string::npos) << memory.status().text();
  EXPECT_NE(memory.status().text().find("--memory-per-server"), std::string::npos);
}

bool is_resident(std::byte* page) {
  unsigned char residence = 0;
  EXPECT_EQ(mincore(page, 4096, &residence), 0);
  return (residence & 1) != 0;
}

// What is pinned keeps its pages: the network has their places.
TEST(LentMemory, IsClearedWithAndWithoutItsPages) {
  Result<LentMemory> memory = LentMemory::create(kBytes);
  std::byte* base = memory.value().base();
  for (const bool pinned : {false, true}) {
    std::memset(base, 7, kBytes);
    memory.value().clear(4096, 8192, pinned);
    EXPECT_EQ(is_resident(base + 4096), pinned);
    EXPECT_TRUE(zeros(base + 4096, 8192));
    EXPECT_EQ(base[4095], std::byte{7});
    EXPECT_EQ(base[3 * 4096], std::byte{7});
  }
}

TEST(Lender, ClearsWhatItGetsBackBeforeItLendsThatAgain) {
  test::ServersJob job(2, 1, kBytes);
  const auto offset = job.servers(0).lease(0, 8192);
  ASSERT_TRUE(offset);
  std::memset(job.lent(0) + *offset, 9, 8192);
  job.servers(0).give_back(0, *offset, 4096);
  job.settle();
  EXPECT_TRUE(zeros(job.lent(0) + *offset, 4096));
  EXPECT_EQ(job.lent(0)[*offset + 4096], std::byte{9});
}

TEST(Lender, GivesNobodyWhatIsAnothers) {
  test::ServersJob job(2, 1, kBytes);
  const auto first = job.servers(0).lease(0, kBytes / 2), second = job.servers(1).lease(0, kBytes / 2);
  ASSERT_TRUE(first && second);
  EXPECT_NE(*first, *second);
  EXPECT_FALSE(job.servers(1).lease(0, 4096));
  EXPECT_EQ(job.servers(1).last_free(), 0u);
}

TEST(Lender, HasEverythingBackWhenAPeFinishes) {
  test::ServersJob job(2, 2, kBytes);
  ASSERT_TRUE(job.servers(0).lease(1, kBytes));
  std::memset(job.lent(1), 5, kBytes);
  job.servers(0).finish();
  EXPECT_TRUE(zeros(job.lent(1), kBytes));
  EXPECT_TRUE(job.servers(1).lease(1, kBytes));
}

TEST(Lender, IsThroughWhenAllPesHaveFinished) {
  test::ServersJob job(2, 1, kBytes);
  job.servers(0).finish();
  EXPECT_FALSE(job.lender(0).take_finish());
  job.servers(0).finish();  // twice
  EXPECT_FALSE(job.lender(0).take_finish());
  job.servers(1).finish();
  EXPECT_TRUE(job.lender(0).take_finish());
  EXPECT_FALSE(job.lender(0).take_finish());  // begins anew
}

struct Asker final : ReadyPages {
  bool page_is_ready(int server, std::uint64_t number) override {
    if (server != 1) return false;
    ready.push_back(number);
    return true;
  }
  std::vector<std::uint64_t> ready;
};

TEST(Lender, SaysThatAPageIsReadyToWhomItIsLent) {
  test::ServersJob job(2, 2, kBytes);
  ASSERT_EQ(job.servers(0).lease(1, 8192), 0u);
  ASSERT_EQ(job.servers(1).lease(1, 8192), 8192u);
  Asker asker;
  job.servers(0).tell_ready(&asker);
  const auto ask = [&](std::uint64_t offset, std::size_t n, std::uint64_t number) {
    job.servers(0).request_page({1, offset}, n, number);
    job.settle();
    job.settle();
  };
  ask(4096, 4096, 7);
  ask(0, 8192, 8);
  EXPECT_EQ(asker.ready, (std::vector<std::uint64_t>{7, 8}));
  job.servers(0).tell_ready(nullptr);
  ask(0, 4096, 9);
  EXPECT_EQ(asker.ready.size(), 2u);
}

// Servers of a PE whose link brings what a test says.
class AnswersRefused : public ::testing::Test {
 protected:
  template <class Message>
  void bring(int server, LendMessage id, const Message& message) {
    sink(2 + server, static_cast<std::uint16_t>(id), reinterpret_cast<const std::byte*>(&message),
         sizeof message);
  }
  Servers servers{{2, 2, 10}};
  const MessageSink sink = Servers::sink(servers);
};
using AnswersRefusedDeathTest = AnswersRefused;

TEST_F(AnswersRefusedDeathTest, OfAServerThatWasNotAskedForAPage) {
  set_identity(0, 2, "here");
  Asker asker;
  servers.tell_ready(&asker);
  bring(1, LendMessage::ready, PageReady{7});
  EXPECT_EQ(asker.ready, std::vector<std::uint64_t>{7});
  EXPECT_DEATH(bring(0, LendMessage::ready, PageReady{7}),
               "memory server 0 sent an answer that nobody has asked for");
}

class AnsweringNetwork final : public OneChannelNetwork {
 public:
  std::function<void()> on_poll;
  bool poll() override {
    on_poll();
    return true;
  }

 private:
  void put(RemoteAddress, const void*, std::size_t, Completion*) override {}
  void get(void*, RemoteAddress, std::size_t, Completion*) override {}
  void send(int, std::uint16_t, std::vector<std::byte>) override {}
};

TEST_F(AnswersRefusedDeathTest, OfAServerThatWasNotAskedForALease) {
  set_identity(0, 2, "here");
  auto network = std::make_unique<AnsweringNetwork>();
  int who = 1;
  std::uint64_t number = 0;
  network->on_poll = [&] { bring(who, LendMessage::answer, LendAnswer{number, 4096, 0, 1}); };
  servers.open(std::move(network));
  const auto lease = [&](int answers) {
    who = answers;
    ++number;
    return servers.lease(1, kLeaseGrain);
  };
  EXPECT_EQ(lease(1), 4096U);
  EXPECT_DEATH(lease(0), "memory server 0 sent an answer to a request that was sent to memory server 1");
}

}  // namespace
}  // namespace shm::remote
