// SPDX-License-Identifier: BSD-3-Clause
// Pages of an area whose addresses are elsewhere.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "local_pages_fixture.hpp"

namespace shm::pages {
namespace {

/// Memory of the program, of which windows take parts.
class Grounds {
 public:
  static constexpr std::size_t kPages = 256;

  Grounds() {
    void* got =
        mmap(nullptr, kPages * kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(got, MAP_FAILED);
    base_ = static_cast<std::byte*>(got);
    for (std::size_t page = 0; page < kPages; ++page) std::memset(at(page), 0x5a, kPageBytes);
  }
  ~Grounds() { munmap(base_, kPages * kPageBytes); }
  Grounds(const Grounds&) = delete;
  Grounds& operator=(const Grounds&) = delete;

  std::byte* at(std::size_t page) const { return base_ + page * kPageBytes; }
  /// Whether all of it is as it was.
  bool is_untouched(std::size_t page) const {
    return std::all_of(at(page), at(page + 1), [](std::byte byte) { return byte == std::byte{0x5a}; });
  }

 private:
  std::byte* base_ = nullptr;
};

class LocalWindowsTest : public LocalPagesFixture {
 protected:
  void TearDown() override { pages.reset(); }
  // The system's answer, without an access.
  static bool is_accessible(const std::byte* at) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    const ssize_t written = ::write(ends[1], at, 1);
    EXPECT_TRUE(written == 1 || errno == EFAULT) << std::strerror(errno);
    close(ends[0]);
    close(ends[1]);
    return written == 1;
  }

  Grounds grounds;
};

TEST_F(LocalWindowsTest, APageIsAtItsWindowWithWhatWasWrittenBefore) {
  const std::uint64_t value = 4711;
  pages->write(9 * kPageBytes, &value, sizeof value);
  open_window(8, 4, grounds.at(10));
  EXPECT_EQ(word(9), 4711U);
  EXPECT_EQ(word(8), 0U) << "and not what was there in its place";
  EXPECT_EQ(word(11, 511), 0U);
  word(10) = 5;
  std::uint64_t seen = 0;
  pages->read(10 * kPageBytes, &seen, sizeof seen);
  EXPECT_EQ(seen, 5U);
  EXPECT_TRUE(grounds.is_untouched(9) && grounds.is_untouched(14));
}

TEST_F(LocalWindowsTest, AddressesAreThoseOfTheWindow) {
  open_window(8, 4, grounds.at(10));
  open_window(2, 1, grounds.at(40));
  EXPECT_TRUE(pages->contains(pages->base()) && pages->contains(pages->base() + pages->size() - 1));
  EXPECT_TRUE(pages->contains(grounds.at(10)) && pages->contains(grounds.at(14) - 1));
  EXPECT_FALSE(pages->contains(grounds.at(10) - 1) || pages->contains(grounds.at(14)));
  EXPECT_EQ(pages->offset_of(grounds.at(11) + 8), 9 * kPageBytes + 8);
  EXPECT_EQ(pages->offset_of(grounds.at(41) - 1), 3 * kPageBytes - 1);
  EXPECT_EQ(pages->offset_of(pages->base() + 77), 77U);
}

// Pages 0 to 15 leave with few system calls, and three of them are elsewhere.
TEST_F(LocalWindowsTest, NeighboursThatAreFarApartAreForgottenTogether) {
  remake([](auto& settings) { settings.frames = 20; });
  open_window(4, 2, grounds.at(50));
  open_window(9, 1, grounds.at(20));
  fill(16);
  pages->forget(0, 16 * kPageBytes);
  for (PageNumber page = 0; page < 16; ++page) {
    EXPECT_FALSE(is_accessible(place(page))) << page;
    EXPECT_EQ(word(page), 0U) << page;
  }
  for (const std::size_t page : {19U, 21U, 49U, 52U}) EXPECT_TRUE(grounds.is_untouched(page)) << page;
}

TEST_F(LocalWindowsTest, ReadAheadEndsWithTheWindow) {
  remake([](auto& settings) {
    settings.frames = 16;
    settings.ahead = 2;
  });
  open_window(8, 6, grounds.at(10));
  fill(kLocalPages);
  pages->quiesce();
  for (PageNumber page = 62; page > 20; page -= 2) EXPECT_EQ(word(page), page + 100);  // the others leave
  pages->quiesce();
  const std::uint64_t reads = counted().reads, ahead = counted().ahead;
  for (PageNumber page = 8; page < 14; ++page) EXPECT_EQ(word(page), page + 100);
  pages->quiesce();
  EXPECT_EQ(counted().reads - reads, 6U) << "pages behind the window are another object's";
  EXPECT_GT(counted().ahead, ahead);
}

TEST_F(LocalWindowsTest, PagesThatArePinnedStayAtTheWindow) {
  open_window(8, 4, grounds.at(10));
  ASSERT_TRUE(pages->pin(9 * kPageBytes, 8, Access::write));
  EXPECT_TRUE(is_accessible(grounds.at(11)));
  fill(kLocalPages);
  EXPECT_TRUE(is_accessible(grounds.at(11)));
  EXPECT_TRUE(pages->unpin(9 * kPageBytes, 8));
  fill(8);
  fill(8, 200);
  for (PageNumber page = 20; page < 40; ++page) EXPECT_EQ(word(page), page + 100);
  EXPECT_FALSE(is_accessible(grounds.at(11)));
}

TEST_F(LocalWindowsTest, AForkedChildHasNone) {
  with_handler_before([this] {
    open_window(8, 4, grounds.at(10));
    word(9) = 3;
    // One that was never used, and one that is mapped.
    for (const PageNumber page : {8U, 9U}) load_in_child([this, page] { return word(page) == 3; });
    EXPECT_EQ(word(9), 3U);
  });
}

TEST_F(LocalWindowsTest, AfterTheEndTheAddressesStayReserved) {
  open_window(8, 4, grounds.at(10));
  fill(12);
  pages.reset();
  for (std::size_t page = 10; page < 14; ++page) EXPECT_FALSE(is_accessible(grounds.at(page))) << page;
  EXPECT_TRUE(grounds.is_untouched(9) && grounds.is_untouched(14));
}

TEST_F(LocalWindowsTest, SoManyAndNoMore) {
  remake([](auto& settings) { settings.bytes *= 2; });
  for (std::size_t n = 0; n < Windows::kMost; ++n) {
    const Status status = pages->add_window(n * kPageBytes, kPageBytes, grounds.at(3 * n));
    ASSERT_TRUE(status.ok()) << status.text();
  }
  const Status status = pages->add_window(Windows::kMost * kPageBytes, kPageBytes, grounds.at(1));
  EXPECT_NE(status.text().find("more than 64"), std::string::npos) << status.text();
  EXPECT_TRUE(grounds.is_untouched(1));
  *grounds.at(3 * 63) = std::byte{7};
  EXPECT_EQ(*grounds.at(3 * 63), std::byte{7});
}

TEST_F(LocalWindowsTest, NothingIsWhereItsPagesWouldBe) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  open_window(8, 4, grounds.at(10));
  EXPECT_DEATH(static_cast<void>(*reinterpret_cast<volatile std::byte*>(pages->base() + 9 * kPageBytes)),
               "where no remote memory is");
}

// Windows of any size, in any order, beside each other and with memory of the program between them.
TEST_F(LocalWindowsTest, AnyUseAgainstAModel) {
  std::mt19937_64 dice(seed);
  pages->start();
  std::vector<std::uint64_t> model(kLocalPages * 512);
  std::vector<bool> taken(Grounds::kPages);
  PageNumber next = dice() % 4;
  for (std::size_t ground = 0; next < kLocalPages && ground < Grounds::kPages;) {
    const PageNumber count = std::min<PageNumber>(1 + dice() % 6, kLocalPages - next);
    ground += dice() % 8;
    const std::size_t mirrored = dice() % 2 == 0 ? ground : Grounds::kPages / 2 + ground % 64;
    const std::size_t at = std::min<std::size_t>(mirrored, Grounds::kPages - count);
    const auto begin = taken.begin() + static_cast<std::ptrdiff_t>(at);
    if (std::find(begin, begin + static_cast<std::ptrdiff_t>(count), true) ==
        begin + static_cast<std::ptrdiff_t>(count)) {
      std::fill_n(begin, count, true);
      open_window(next, count, grounds.at(at));
      next += count + dice() % 4;
    }
    ground += count;
  }
  for (int step = 0; step < 6000 && !HasFatalFailure(); ++step) {
    const PageNumber page = dice() % kLocalPages;
    const std::size_t i = dice() % 512, at = page * 512 + i;
    const std::size_t words = std::min<std::size_t>(1 + dice() % 1500, model.size() - at);
    std::vector<std::uint64_t> copy(words);
    switch (dice() % 8) {
      case 0:  // from one place to the next
        pages->read(at * 8, copy.data(), words * 8);
        ASSERT_TRUE(std::equal(copy.begin(), copy.end(), model.begin() + static_cast<std::ptrdiff_t>(at)))
            << at;
        break;
      case 1:
        for (std::uint64_t& each : copy) each = dice();
        pages->write(at * 8, copy.data(), words * 8);
        std::ranges::copy(copy, model.begin() + static_cast<std::ptrdiff_t>(at));
        break;
      case 2: {
        const PageNumber count = std::min<PageNumber>(dice() % 12, kLocalPages - page);
        pages->forget(page * kPageBytes, count * kPageBytes);
        std::fill_n(model.begin() + static_cast<std::ptrdiff_t>(page * 512), count * 512, 0);
        break;
      }
      case 3:
        if (!pages->pin(page * kPageBytes, 1, Access::read)) break;
        ASSERT_EQ(word(page, i), model[at]) << page;
        ASSERT_TRUE(pages->unpin(page * kPageBytes, 1));
        break;
      case 4:
      case 5: word(page, i) = model[at] = dice(); break;
      default: ASSERT_EQ(word(page, i), model[at]) << page;
    }
  }
  pages->stop();
  for (std::size_t ground = 0; ground < Grounds::kPages; ++ground) {
    ASSERT_TRUE(taken[ground] || grounds.is_untouched(ground)) << ground;
  }
}

}  // namespace
}  // namespace shm::pages
