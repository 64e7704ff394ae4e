// SPDX-License-Identifier: BSD-3-Clause
#include "remote/swap_engine.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "paper_fixture.hpp"
#include "remote/area.hpp"
#include "servers_job.hpp"

namespace shm::remote::test {
namespace {

constexpr std::size_t kSwapPage = 4096, kSwapPages = 64;

class SwapEngineTest : public ::testing::TestWithParam<Swap> {
 protected:
  ServersJob job{1, 2, std::size_t{4} << 20};
};

TEST_P(SwapEngineTest, KeepsMoreThanItHasFrames) {
  LentRange range(job.servers(0), {kSwapPages * kSwapPage, 8 * kSwapPage, kSwapPage});
  ASSERT_TRUE(range.reserve(0, kSwapPages).ok());
  Result<std::unique_ptr<SwapEngine>> opened = SwapEngine::open(range, {GetParam(), 8, 1});
  ASSERT_TRUE(opened.ok()) << opened.status().text();
  SwapEngine& engine = *opened.value();
  ASSERT_EQ(engine.size(), kSwapPages * kSwapPage);
  EXPECT_TRUE(engine.contains(engine.base()) && engine.contains(engine.base() + engine.size() - 1));
  EXPECT_FALSE(engine.contains(engine.base() - 1) || engine.contains(engine.base() + engine.size()));
  const auto word = [&](std::size_t page) -> volatile std::uint64_t& {
    return *reinterpret_cast<volatile std::uint64_t*>(engine.base() + page * kSwapPage);
  };
  for (std::size_t page = 0; page < kSwapPages; ++page) word(page) = page + 1;
  for (std::size_t page = 0; page < kSwapPages; ++page) ASSERT_EQ(word(page), page + 1);
  std::uint64_t copy = 77;
  engine.write(9 * kSwapPage, &copy, sizeof copy);
  engine.read(8 * kSwapPage, &copy, sizeof copy);
  EXPECT_EQ(copy, 9u);
  EXPECT_EQ(word(9), 77u);
  ASSERT_TRUE(engine.pin(0, kSwapPage, pages::Access::read));
  EXPECT_FALSE(engine.pin(8 * kSwapPage, 3 * kSwapPage, pages::Access::read));
  EXPECT_TRUE(engine.unpin(0, kSwapPage));
  engine.forget(kSwapPage, kSwapPage);
  EXPECT_EQ(word(1), 0u);
  engine.overwrite(2 * kSwapPage, kSwapPage);
  word(2) = 5;
  EXPECT_EQ(word(2), 5u);
  EXPECT_GE(engine.statistics().faults, kSwapPages);
  EXPECT_GT(engine.statistics().bytes_out, 0u);
  EXPECT_GT(engine.stages().swaps(), kSwapPages);
}

TEST_P(SwapEngineTest, IsRefusedWithTooFewFrames) {
  LentRange range(job.servers(0), {kSwapPages * kSwapPage, 8 * kSwapPage, kSwapPage});
  const Result<std::unique_ptr<SwapEngine>> opened =
      SwapEngine::open(range, {GetParam(), SwapEngine::kFewestFrames - 1, 1});
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.status().text().find("3 pages in memory: allowed are 4"), 0u) << opened.status().text();
}

// What was freed and is allocated anew, from the same extents or others.
TEST_P(SwapEngineTest, BlocksOfAnAreaBeginAsZeros) {
  Result<std::unique_ptr<Area>> opened = Area::open(
      job.servers(0),
      {.page_bytes = kSwapPage, .local_bytes = 8 * kSwapPage, .server_bytes = 1 << 20, .swap = GetParam()});
  ASSERT_TRUE(opened.ok()) << opened.status().text();
  Area& area = *opened.value();
  Result<void*> kept = area.allocate(kSwapPage);
  ASSERT_TRUE(kept.ok());
  for (int round = 0; round < 4; ++round) {
    const std::size_t n = static_cast<std::size_t>(20 + 7 * round) * kSwapPage;
    Result<void*> block = area.allocate(n);
    ASSERT_TRUE(block.ok()) << block.status().text();
    auto* bytes = static_cast<volatile unsigned char*>(block.value());
    for (std::size_t at = 0; at < n; at += 512) {
      ASSERT_EQ(bytes[at], 0) << "round " << round << ", byte " << at;
      bytes[at] = 9;
    }
    ASSERT_EQ(area.free(block.value()), Area::Freed::yes);
  }
}

// KiB of memory that this process shares, or could.
long shared_memory() {
  std::ifstream status("/proc/self/status");
  long kib = -1;
  for (std::string name; status >> name;) {
    if (name == "RssShmem:") status >> kib;
  }
  return kib;
}

// Each PE of a job with memory servers has an area, whether it uses it or not.
TEST_P(SwapEngineTest, AnAreaTakesNoMemoryBeforeTheFirstBlock) {
  constexpr std::size_t kLocal = std::size_t{32} << 20;
  const long before = shared_memory();
  Result<std::unique_ptr<Area>> opened = Area::open(
      job.servers(0),
      {.page_bytes = kSwapPage, .local_bytes = kLocal, .server_bytes = 1 << 20, .swap = GetParam()});
  ASSERT_TRUE(opened.ok()) << opened.status().text();
  constexpr long kAll = kLocal / 1024;
  EXPECT_LT(shared_memory() - before, kAll / 4);
  ASSERT_TRUE(opened.value()->allocate(kSwapPage).ok());
  EXPECT_GE(shared_memory() - before, kAll);
}

bool has_thread(const std::string& wanted) {
  return std::ranges::any_of(std::filesystem::directory_iterator("/proc/self/task"), [&](const auto& task) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    return name == wanted;
  });
}

// A mechanism of `direct` is left out, and the others are not.
class SwapMechanismsTest : public ::testing::Test {
 protected:
  static constexpr std::size_t kPage = std::size_t{512} << 10, kPages = 24, kFrames = 8;

  std::unique_ptr<Network> record(std::unique_ptr<Network> link) {
    auto recorded = std::make_unique<RecordedLink>(std::move(link));
    wire = recorded.get();
    return recorded;
  }
  // Of two passes over more than there are frames for.
  void run(const Mechanisms& mechanisms) {
    LentRange range(job.servers(0), {kPages * kPage, 8 * kPage, kPage});
    ASSERT_TRUE(range.reserve(0, kPages).ok());
    Result<std::unique_ptr<SwapEngine>> opened =
        SwapEngine::open(range, {Swap::direct, kFrames, 1, mechanisms});
    ASSERT_TRUE(opened.ok()) << opened.status().text();
    SwapEngine& engine = *opened.value();
    const long before = shared_memory();
    engine.lay_out();
    laid_out = shared_memory() - before >= static_cast<long>(kFrames * kPage / 1024);
    sweeper = has_thread("atoll.sweeper");
    const auto word = [&](std::size_t page) -> volatile std::uint64_t& {
      return *reinterpret_cast<volatile std::uint64_t*>(engine.base() + page * kPage);
    };
    for (std::size_t page = 0; page < kPages; ++page) word(page) = page + 1;
    wire->clear();
    for (std::size_t page = 0; page < kPages; ++page) ASSERT_EQ(word(page), page + 1);
    reads = engine.statistics().reads;
    ahead = engine.statistics().ahead;
    gets = wire->count(RecordedLink::What::get);
  }

  RecordedLink* wire = nullptr;
  ServersJob job{1, 2, std::size_t{32} << 20, 10,
                 [this](std::unique_ptr<Network> link) { return record(std::move(link)); }};
  std::uint64_t reads = 0, ahead = 0, gets = 0;
  bool sweeper = false, laid_out = false;
};

TEST_F(SwapMechanismsTest, AreAllThere) {
  run({});
  EXPECT_TRUE(sweeper && laid_out);
  EXPECT_GT(ahead, 0U);
  EXPECT_EQ(gets, reads) << "a page is one transfer";
}

TEST_F(SwapMechanismsTest, EachIsLeftOutAlone) {
  run({.ahead = false});
  EXPECT_TRUE(sweeper && laid_out && ahead == 0 && reads > 0);
  run({.sweeper = false});
  EXPECT_TRUE(!sweeper && laid_out && ahead > 0);
  run({.huge = false});
  EXPECT_TRUE(sweeper && !laid_out && ahead > 0);
}

INSTANTIATE_TEST_SUITE_P(All, SwapEngineTest,
                         ::testing::Values(Swap::direct, Swap::r3, Swap::r58, Swap::r77));

}  // namespace
}  // namespace shm::remote::test
