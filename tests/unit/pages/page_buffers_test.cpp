// SPDX-License-Identifier: BSD-3-Clause
#include "pages/page_buffers.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <set>

namespace shm::pages {
namespace {

constexpr std::size_t KiB = 1024, MiB = 1024 * KiB;

TEST(PageBuffers, AreSoManyAndNoMore) {
  PageBuffers buffers(256 * KiB);
  std::vector<PageBuffer> taken;
  std::set<std::byte*> different;
  for (PageBuffer buffer = buffers.take(); buffer != nullptr; buffer = buffers.take()) {
    std::memset(buffer.get(), 1, 256 * KiB);
    different.insert(buffer.get());
    taken.push_back(std::move(buffer));
    ASSERT_LE(taken.size(), 32U);
  }
  EXPECT_EQ(different.size(), 32U) << "8 MiB";
  EXPECT_EQ(buffers.size(), 32U);
  std::byte* const last = taken.back().get();
  taken.pop_back();
  EXPECT_EQ(buffers.take().get(), last);
}

TEST(PageBuffers, AreAFewWhereverPagesAreLargeAndNotManyWhereTheyAreSmall) {
  EXPECT_EQ(PageBuffers(4 * MiB).size(), 4U);
  EXPECT_EQ(PageBuffers(16 * MiB).size(), 4U);
  EXPECT_EQ(PageBuffers(1 * MiB).size(), 8U);
  EXPECT_EQ(PageBuffers(4 * KiB).size(), 64U);
}

TEST(PageBuffers, TheOneThatWasUsedLastIsTheNext) {
  PageBuffers buffers(4 * KiB);
  PageBuffer first = buffers.take(), second = buffers.take();
  std::byte* const at = first.get();
  first.reset();
  EXPECT_EQ(buffers.take().get(), at);
  EXPECT_NE(second.get(), at);
}

}  // namespace
}  // namespace shm::pages
