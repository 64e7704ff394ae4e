// SPDX-License-Identifier: BSD-3-Clause
#include "remote/zero_memory.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace shm::remote {
namespace {

constexpr std::size_t kSystemPage = 4096, kManyPages = 1500;  // more than are looked at together

class ZeroMemoryTest : public ::testing::Test {
 protected:
  void TearDown() override {
    for (void* at : mapped_) munmap(at, kManyPages * kSystemPage);
  }
  std::byte* map(int flags, int file) {
    void* at = mmap(nullptr, kManyPages * kSystemPage, PROT_READ | PROT_WRITE, flags, file, 0);
    EXPECT_NE(at, MAP_FAILED);
    mapped_.push_back(at);
    return static_cast<std::byte*>(at);
  }
  static std::size_t resident(std::byte* at) {
    std::vector<unsigned char> pages(kManyPages);
    EXPECT_EQ(mincore(at, kManyPages * kSystemPage, pages.data()), 0);
    return static_cast<std::size_t>(
        std::ranges::count_if(pages, [](unsigned char page) { return (page & 1) != 0; }));
  }
  static bool holds(const std::byte* at) { return ZeroMemory().holds(at, kManyPages * kSystemPage); }

 private:
  std::vector<void*> mapped_;
};

TEST_F(ZeroMemoryTest, WhatWasNeverUsedIsNotLookedInto) {
  std::byte* at = map(MAP_PRIVATE | MAP_ANONYMOUS, -1);
  EXPECT_TRUE(holds(at));
  EXPECT_EQ(resident(at), 0U);
}

TEST_F(ZeroMemoryTest, EachByteCounts) {
  std::byte* at = map(MAP_PRIVATE | MAP_ANONYMOUS, -1);
  const std::size_t last = kManyPages * kSystemPage - 1;
  for (const std::size_t byte : {std::size_t{0}, std::size_t{4095}, std::size_t{512 * 4096}, last}) {
    at[byte] = std::byte{1};
    EXPECT_FALSE(holds(at)) << byte;
    at[byte] = std::byte{0};
    EXPECT_TRUE(holds(at)) << byte;
  }
}

// Its pages are in memory only once they are used, and hold what the file does.
TEST_F(ZeroMemoryTest, AFileThatWasNotReadYetIsLookedInto) {
  const int file = memfd_create("atoll.test", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(file, kManyPages * kSystemPage), 0);
  EXPECT_TRUE(holds(map(MAP_PRIVATE, file)));
  ASSERT_EQ(pwrite(file, "x", 1, 700 * kSystemPage + 9), 1);
  EXPECT_FALSE(holds(map(MAP_PRIVATE, file)));
  EXPECT_FALSE(holds(map(MAP_SHARED, file)));
  close(file);
}

// Nor is another mapping of memory that this process has not used by way of it.
TEST_F(ZeroMemoryTest, SharedMemoryThatOthersUseIsLookedInto) {
  std::byte* at = map(MAP_SHARED | MAP_ANONYMOUS, -1);
  EXPECT_TRUE(holds(at));
  void* again = mremap(at, 0, kManyPages * kSystemPage, MREMAP_MAYMOVE);  // a second mapping
  ASSERT_NE(again, MAP_FAILED);
  at[5 * kSystemPage] = std::byte{1};
  EXPECT_FALSE(holds(static_cast<std::byte*>(again)));
  munmap(again, kManyPages * kSystemPage);
}

}  // namespace
}  // namespace shm::remote
