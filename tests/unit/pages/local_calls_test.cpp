// SPDX-License-Identifier: BSD-3-Clause
// What programs say of pages, and copies past the cache.
#include <gtest/gtest.h>

#include "local_pages_fixture.hpp"

namespace shm::pages {
namespace {

class LocalCallsTest : public LocalPagesFixture {
 protected:
  std::uint64_t get(PageNumber page, std::size_t i = 0) const {
    std::uint64_t value = 77;
    pages->read(page * kPageBytes + i * sizeof value, &value, sizeof value);
    return value;
  }
  void put(PageNumber page, std::size_t i, std::uint64_t value) const {
    pages->write(page * kPageBytes + i * sizeof value, &value, sizeof value);
  }
  void forget(PageNumber first, PageNumber count) const {
    pages->forget(first * kPageBytes, count * kPageBytes);
  }
};

TEST_F(LocalCallsTest, ForgottenPagesReadAsZerosAndAreNotMoved) {
  fill(kLocalPages);
  pages->quiesce();
  const std::uint64_t reads = backing.reads, writes = backing.writes;
  forget(0, kLocalPages);
  for (PageNumber page = 0; page < kLocalPages; ++page) ASSERT_EQ(word(page), 0U);
  EXPECT_EQ(backing.reads, reads);
  EXPECT_EQ(backing.writes, writes);
}

TEST_F(LocalCallsTest, ADirtyPageThatIsForgottenIsNotWritten) {
  fill(4);
  forget(0, 4);
  pages->quiesce();
  EXPECT_EQ(backing.writes, 0U);
  EXPECT_EQ(word(3), 0U);
}

TEST_F(LocalCallsTest, OnlyWholePagesAreForgotten) {
  fill(4);
  pages->forget(1, 3 * kPageBytes);  // the first and the last in part
  EXPECT_EQ(word(0), 100U);
  EXPECT_EQ(word(1), 0U);
  EXPECT_EQ(word(2), 0U);
  EXPECT_EQ(word(3), 103U);
  pages->forget(8, 16);
  EXPECT_EQ(word(0), 100U);
}

TEST_F(LocalCallsTest, AForgottenPageWaitsForItsWrite) {
  fill(1);
  backing.holds = true;
  std::thread writer([this] { pages->quiesce(); });
  await("a write", [&] { return backing.writes == 1; });
  std::atomic<bool> forgotten{false};
  std::thread thread([&] {
    forget(0, 1);
    forgotten = true;
  });
  for (int i = 0; i < 1000; ++i) sched_yield();
  EXPECT_FALSE(forgotten);
  backing.holds = false;
  writer.join();
  thread.join();
  EXPECT_EQ(word(0), 0U);
}

TEST_F(LocalCallsTest, OverwrittenPagesAreNotRead) {
  fill(kLocalPages);
  pages->quiesce();
  const std::uint64_t reads = backing.reads;
  pages->overwrite(0, kLocalPages * kPageBytes);
  fill(kLocalPages, 200);
  EXPECT_EQ(backing.reads, reads);
  for (PageNumber page = 0; page < kLocalPages; ++page) ASSERT_EQ(word(page), page + 200);
}

TEST_F(LocalCallsTest, DirtyPagesThatWillBeOverwrittenAreNeitherWrittenNorRead) {
  fill(4);
  pages->overwrite(0, 4 * kPageBytes);
  for (PageNumber page = 8; page < kLocalPages; ++page) EXPECT_EQ(word(page), 0U);
  EXPECT_EQ(backing.writes, 0U);
  fill(4, 200);
  EXPECT_EQ(backing.reads, 0U);
}

TEST_F(LocalCallsTest, WhatIsStoredAfterTheHintStays) {
  fill(4);
  pages->overwrite(0, 4 * kPageBytes);
  word(0, 7) = 5;
  for (PageNumber page = 8; page < kLocalPages; ++page) word(page) = 1;
  EXPECT_EQ(word(0, 7), 5U);
}

TEST_F(LocalCallsTest, PagesPinnedToBeWrittenStayAsTheyAre) {
  fill(1);
  ASSERT_TRUE(pages->pin(0, kPageBytes, Access::write));
  pages->overwrite(0, kPageBytes);
  const std::uint64_t faults = counted().faults;
  word(0, 7) = 5;
  EXPECT_EQ(counted().faults, faults);
  EXPECT_TRUE(pages->unpin(0, kPageBytes));
}

// Whoever has the page closed, even for an instant, must not let the hint pass unheard.
TEST_F(LocalCallsTest, PagesThatAreJustComingAreOverwritten) {
  fill(kLocalPages);
  pages->quiesce();
  for (PageNumber page = 8; page < kLocalPages; ++page) EXPECT_EQ(word(page), page + 100);  // 0 leaves
  const std::uint64_t reads = backing.reads;
  backing.holds = true;
  std::thread reader([this] { EXPECT_EQ(word(0), 100U); });
  await("a read", [&] { return backing.reads == reads + 1; });
  std::thread thread([this] { pages->overwrite(0, kPageBytes); });
  for (int i = 0; i < 1000; ++i) sched_yield();
  backing.holds = false;
  reader.join();
  thread.join();
  for (PageNumber page = 8; page < kLocalPages; ++page) EXPECT_EQ(word(page), page + 100);  // 0 leaves
  EXPECT_EQ(word(0), 0U) << "it has been read again";
}

TEST_F(LocalCallsTest, CopiesPastTheCacheBringNoPages) {
  fill(kLocalPages);
  pages->quiesce();
  const std::uint64_t faults = counted().faults, dropped = counted().dropped;
  for (PageNumber page = 0; page < kLocalPages; ++page) {
    ASSERT_EQ(get(page), page + 100);
    ASSERT_EQ(get(page, 7), 0U);
    put(page, 7, page);
    ASSERT_EQ(get(page, 7), page);
    ASSERT_EQ(get(page, 511), page + 100);
  }
  EXPECT_EQ(counted().faults, faults);
  EXPECT_EQ(counted().dropped, dropped);
  for (PageNumber page = 0; page < kLocalPages; ++page) ASSERT_EQ(word(page, 7), page);
}

TEST_F(LocalCallsTest, ACopyIntoAPageThatWasNowhereLeavesTheRestZero) {
  put(5, 7, 1);
  EXPECT_EQ(backing.writes, 0U);
  for (PageNumber page = 8; page < kLocalPages; ++page) word(page) = 1;
  EXPECT_EQ(get(5, 7), 1U);
  EXPECT_EQ(get(5, 6), 0U);
  EXPECT_EQ(word(5, 8), 0U);
  EXPECT_EQ(get(6), 0U) << "nowhere, and not brought";
  EXPECT_EQ(counted().zeroed, 1U + kLocalPages - 8);
}

TEST_F(LocalCallsTest, LongCopiesCrossPages) {
  std::vector<std::uint64_t> data(20 * kPageBytes / 8);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = i;
  word(9) = 5;  // is here, and dirty
  pages->write(5 * kPageBytes + 8, data.data(),
               data.size() * 8);  // 18 whole pages behind the first and the last
  const std::uint64_t zeroed = counted().zeroed;
  EXPECT_EQ(zeroed, 3U) << "the first, the last, and the one that was here";
  std::vector<std::uint64_t> back(data.size());
  pages->read(5 * kPageBytes + 8, back.data(), back.size() * 8);
  EXPECT_EQ(back, data);
  EXPECT_EQ(word(9, 1), 4 * 512U);
  EXPECT_EQ(word(9, 0), 4 * 512U - 1);
  EXPECT_EQ(word(5, 0), 0U);
}

TEST_F(LocalCallsTest, PinnedPagesStay) {
  fill(kLocalPages);
  ASSERT_TRUE(pages->pin(3 * kPageBytes + 8, kPageBytes, Access::write));  // two pages
  const std::uint64_t faults = counted().faults;
  word(3) = 1;
  word(4) = 2;
  EXPECT_EQ(counted().faults, faults) << "mapped to be written";
  for (PageNumber page = 8; page < kLocalPages; ++page) ASSERT_EQ(word(page), page + 100);
  const std::uint64_t then = counted().faults;
  EXPECT_EQ(word(3), 1U);
  EXPECT_EQ(word(4), 2U);
  EXPECT_EQ(counted().faults, then);
  EXPECT_FALSE(pages->pin(9 * kPageBytes, 1, Access::read)) << "a quarter";
  EXPECT_TRUE(pages->any_pinned(2 * kPageBytes, kPageBytes + 1));
  EXPECT_TRUE(pages->any_pinned(5 * kPageBytes - 1, 1));
  EXPECT_FALSE(pages->any_pinned(2 * kPageBytes, kPageBytes));
  EXPECT_FALSE(pages->any_pinned(5 * kPageBytes, kPageBytes));
  EXPECT_FALSE(pages->unpin(3 * kPageBytes, kPageBytes)) << "not that range";
  EXPECT_TRUE(pages->unpin(3 * kPageBytes + 8, kPageBytes));
  EXPECT_FALSE(pages->unpin(3 * kPageBytes + 8, kPageBytes));
  EXPECT_TRUE(pages->pin(9 * kPageBytes, 1, Access::read));
  // Pages that come back soon take the place of those that are not used.
  for (int round = 0; round < 20; ++round) {
    for (PageNumber page = 10; page < 20; ++page) ASSERT_EQ(word(page), page + 100);
  }
  const std::uint64_t last = counted().faults;
  EXPECT_EQ(word(9), 109U);
  EXPECT_EQ(counted().faults, last);
  EXPECT_EQ(word(3), 1U);
  EXPECT_EQ(counted().faults, last + 1) << "it could leave";
  EXPECT_FALSE(pages->pin(0, kLocalPages * kPageBytes, Access::read));
}

}  // namespace
}  // namespace shm::pages
