// SPDX-License-Identifier: BSD-3-Clause
// Memory that a program had before becomes memory of an area, where it is.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "paper_fixture.hpp"
#include "remote/area.hpp"
#include "servers_job.hpp"

namespace shm::remote::test {
namespace {

constexpr std::size_t kTakenPage = 4096, kOwnPages = 160;

class TakeOverTest : public ::testing::Test {
 protected:
  void SetUp() override {
    void* got =
        mmap(nullptr, kOwnPages * kTakenPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(got, MAP_FAILED);
    memory = static_cast<std::byte*>(got);
    open(Swap::direct);
  }
  void TearDown() override {
    area.reset();
    munmap(memory, kOwnPages * kTakenPage);
  }
  void open(Swap swap) {
    area.reset();
    Result<std::unique_ptr<Area>> opened = Area::open(job.servers(0), {.page_bytes = kTakenPage,
                                                                       .local_bytes = 8 * kTakenPage,
                                                                       .server_bytes = std::size_t{1} << 20,
                                                                       .swap = swap});
    ASSERT_TRUE(opened.ok()) << opened.status().text();
    area = std::move(opened.value());
  }
  std::unique_ptr<Network> record(std::unique_ptr<Network> link) {
    auto recorded = std::make_unique<RecordedLink>(std::move(link));
    wire = recorded.get();
    return recorded;
  }
  std::byte* page(std::size_t number) const { return memory + number * kTakenPage; }
  volatile std::uint64_t& word(std::size_t number, std::size_t i = 0) const {
    return reinterpret_cast<volatile std::uint64_t*>(page(number))[i];
  }
  /// Pages [first, first + count), which must be possible.
  void take(std::size_t first, std::size_t count) {
    Result<std::span<std::byte>> taken = area->take_over(page(first), count * kTakenPage);
    ASSERT_TRUE(taken.ok()) << taken.status().text();
    EXPECT_EQ(taken.value().data(), page(first));
    EXPECT_EQ(taken.value().size(), count * kTakenPage);
  }
  std::string refused(void* at, std::size_t bytes) { return area->take_over(at, bytes).status().text(); }

  std::byte* memory = nullptr;
  RecordedLink* wire = nullptr;
  ServersJob job{1, 2, std::size_t{1} << 20, 10,
                 [this](std::unique_ptr<Network> link) { return record(std::move(link)); }};
  std::unique_ptr<Area> area;
};

TEST_F(TakeOverTest, OnlyWholePagesAreTaken) {
  std::memset(memory, 7, 10 * kTakenPage);
  Result<std::span<std::byte>> taken = area->take_over(page(1) + 1, 5 * kTakenPage);
  ASSERT_TRUE(taken.ok()) << taken.status().text();
  EXPECT_EQ(taken.value().data(), page(2));
  EXPECT_EQ(taken.value().size(), 4 * kTakenPage);
  EXPECT_FALSE(area->touches(page(1), kTakenPage) || area->touches(page(6), 1));
  EXPECT_TRUE(area->touches(page(1), kTakenPage + 1) && area->touches(page(5) + 4095, 1));
  EXPECT_TRUE(std::all_of(memory, page(10), [](std::byte byte) { return byte == std::byte{7}; }));
}

TEST_F(TakeOverTest, PagesOfZerosAreNotMoved) {
  std::memset(page(0), 0, 20 * kTakenPage);  // used, and zero
  word(3, 511) = 9;
  word(90) = 8;
  take(0, 100);
  EXPECT_EQ(wire->count(RecordedLink::What::put), 2U);
  for (std::size_t i = 0; i < 100; ++i) {
    ASSERT_EQ(word(i), i == 90 ? 8U : 0U) << i;
    ASSERT_EQ(word(i, 511), i == 3 ? 9U : 0U) << i;
  }
  EXPECT_EQ(wire->count(RecordedLink::What::get), 2U);
}

TEST_F(TakeOverTest, IsNoBlock) {
  take(4, 8);
  EXPECT_FALSE(area->size_of(page(4)).has_value());
  EXPECT_EQ(area->free(page(4)), Area::Freed::no_block);
  EXPECT_TRUE(area->holds(page(4), 8 * kTakenPage) && area->holds(page(11) + 9, 1));
  EXPECT_FALSE(area->holds(page(4), 8 * kTakenPage + 1) || area->holds(page(3), 2 * kTakenPage));
  EXPECT_FALSE(area->holds(page(12), 1));
  word(5) = 3;
  EXPECT_EQ(word(5), 3U);
}

TEST_F(TakeOverTest, CallsOfTheAreaWorkOnIt) {
  std::memset(page(0), 1, 40 * kTakenPage);
  take(0, 40);
  std::uint64_t value = 77;
  area->write(page(20) + 8, &value, sizeof value);
  EXPECT_EQ(word(20, 1), 77U);
  word(21) = 78;
  area->read(page(21), &value, sizeof value);
  EXPECT_EQ(value, 78U);
  ASSERT_TRUE(area->pin(page(22), 10, pages::Access::write));
  EXPECT_EQ(word(22), 0x0101010101010101U);
  EXPECT_TRUE(area->unpin(page(22), 10));
  wire->clear();
  area->overwrite(page(30), 10 * kTakenPage);  // to the end, behind which nothing is read ahead
  for (std::size_t i = 30; i < 40; ++i) word(i) = i;
  EXPECT_EQ(wire->count(RecordedLink::What::get), 0U);
  for (std::size_t i = 30; i < 40; ++i) EXPECT_EQ(word(i), i);
}

TEST_F(TakeOverTest, WhatIsRefusedStaysAsItWas) {
  std::memset(memory, 5, kOwnPages * kTakenPage);
  take(10, 10);
  EXPECT_NE(refused(page(30) + 1, 2 * kTakenPage - 2).find("no whole page of 4 KiB lies in it"),
            std::string::npos);
  EXPECT_NE(refused(page(0), 11 * kTakenPage).find("some of it is remote memory"), std::string::npos);
  EXPECT_NE(refused(page(19), 3 * kTakenPage).find("some of it is remote memory"), std::string::npos);
  Result<void*> block = area->allocate(100);
  ASSERT_TRUE(block.ok());
  EXPECT_NE(refused(block.value(), kTakenPage).find("some of it is remote memory"), std::string::npos);
  for (std::size_t i = 0; i < kOwnPages; ++i) ASSERT_EQ(word(i, 7), 0x0505050505050505U) << i;
}

TEST_F(TakeOverTest, FullServersAreSaid) {
  std::vector<void*> blocks;
  for (;;) {  // both servers
    Result<void*> block = area->allocate(16 * kTakenPage);
    if (!block.ok()) break;
    blocks.push_back(block.value());
  }
  word(3) = 4;
  EXPECT_NE(refused(page(0), kOwnPages * kTakenPage).find("have no room"), std::string::npos);
  EXPECT_FALSE(area->touches(page(0), kOwnPages * kTakenPage));
  EXPECT_EQ(word(3), 4U);
  for (void* block : blocks) ASSERT_EQ(area->free(block), Area::Freed::yes);
  take(0, kOwnPages);
  EXPECT_EQ(word(3), 4U);
}

TEST_F(TakeOverTest, OneTooManyGivesItsRoomBack) {
  for (std::size_t i = 0; i < pages::Windows::kMost; ++i) take(2 * i, 1);
  for (int round = 0; round < 300; ++round)  // more than the servers have
    ASSERT_NE(refused(page(130), 4 * kTakenPage).find("more than 64 ranges of memory"), std::string::npos);
  word(131) = 6;
  EXPECT_EQ(word(131), 6U);
  EXPECT_TRUE(area->allocate(100 * kTakenPage).ok());
}

TEST_F(TakeOverTest, TheProtocolsOfThePaperRefuse) {
  for (const Swap swap : {Swap::r3, Swap::r58, Swap::r77}) {
    open(swap);
    word(2) = 7;
    EXPECT_NE(refused(page(0), 4 * kTakenPage).find("allowed is SHMEM_SWAP=direct"), std::string::npos);
    EXPECT_FALSE(area->touches(page(0), kOwnPages * kTakenPage));
    EXPECT_EQ(word(2), 7U);
  }
}

// Parts of the memory are taken over one by one, while all of it is used, and blocks come and go.
TEST_F(TakeOverTest, AnyUseAgainstAModel) {
  std::mt19937_64 dice(seed_of_paper_run());
  std::vector<std::uint64_t> model(kOwnPages * 512);
  void* block = nullptr;
  for (std::size_t next = 0, step = 0; step < 8000 && !HasFatalFailure(); ++step) {
    const std::size_t at = dice() % model.size(), count = 1 + dice() % 9;
    if (dice() % 100 == 0 && next + count < kOwnPages) {
      take(next, count);
      next += count + dice() % 3;
    }
    if (dice() % 50 == 0) {
      ASSERT_TRUE(block == nullptr || area->free(block) == Area::Freed::yes);
      Result<void*> made = area->allocate(1 + dice() % 60000);
      block = made.ok() ? made.value() : nullptr;
      if (block != nullptr) std::memset(block, 3, kTakenPage);
    }
    if (dice() % 2 == 0) {
      word(at / 512, at % 512) = model[at] = dice() % 3 == 0 ? 0 : dice();
    } else {
      ASSERT_EQ(word(at / 512, at % 512), model[at]) << at;
    }
  }
  for (std::size_t at = 0; at < model.size(); ++at) ASSERT_EQ(word(at / 512, at % 512), model[at]) << at;
}

}  // namespace
}  // namespace shm::remote::test
