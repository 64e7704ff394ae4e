// SPDX-License-Identifier: BSD-3-Clause
#include "base/huge_pages.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/uio.h>
#include <unistd.h>

#include <optional>

#include "../shared_pages.hpp"

namespace shm {
namespace {

using test::SharedPages;

// Holds the page at `at`, as a read from a disk does that is under way.
class PageHeld {
 public:
  explicit PageHeld(std::byte* at) {
    EXPECT_EQ(pipe(ends_), 0);
    *at = std::byte{7};
    const iovec page{at, kBytes};
    EXPECT_EQ(vmsplice(ends_[1], &page, 1, 0), static_cast<ssize_t>(kBytes));
  }
  ~PageHeld() {
    for (const int end : ends_) close(end);
  }
  PageHeld(const PageHeld&) = delete;
  PageHeld& operator=(const PageHeld&) = delete;

 private:
  static constexpr std::size_t kBytes = 4096;
  int ends_[2] = {-1, -1};
};

class HugePages : public ::testing::Test {
 protected:
  void SetUp() override {
    {
      const SharedPages free;
      lay_out_on_huge_pages(free.at(), SharedPages::kBytes);
      if (free.huge_bytes() != SharedPages::kBytes)
        GTEST_SKIP() << "there are no huge pages for shared memory";
    }
    held.emplace(memory.at());
    if (memory.huge_bytes() != 0) GTEST_SKIP() << "this system lays out all memory on huge pages by itself";
  }

  const SharedPages memory;
  std::optional<PageHeld> held;
  int pauses = 0;
};

TEST_F(HugePages, AreLaidOutWhenWhatIsReadThereHasCome) {
  lay_out_on_huge_pages(memory.at(), SharedPages::kBytes, [&] {
    EXPECT_LT(memory.huge_bytes(), SharedPages::kBytes) << "a pause for nothing";
    if (++pauses == 10) held.reset();
  });
  EXPECT_GE(pauses, 10);
  EXPECT_EQ(memory.huge_bytes(), SharedPages::kBytes);
  EXPECT_EQ(memory.at()[0], std::byte{7});
}

TEST_F(HugePages, AreNotWaitedForWhereMemoryStaysPinned) {
  lay_out_on_huge_pages(memory.at(), SharedPages::kBytes, [&] { ++pauses; });
  EXPECT_GT(pauses, 0);
  EXPECT_LE(pauses, 20);
  EXPECT_LT(memory.huge_bytes(), SharedPages::kBytes);
}

}  // namespace
}  // namespace shm
