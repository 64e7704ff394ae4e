// SPDX-License-Identifier: BSD-3-Clause
#include "base/huge_pages.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../shared_pages.hpp"

namespace shm {
namespace {

using test::SharedPages;

// A pipe holds a page as a read from a disk does.
TEST(HugePages, AreLaidOutWhenWhatIsReadThereHasCome) {
  const SharedPages as_it_is, memory;
  lay_out_on_huge_pages(as_it_is.at(), SharedPages::kBytes);
  if (as_it_is.huge_bytes() == 0) GTEST_SKIP() << "this system has no huge pages for shared memory";
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  memory.at()[0] = std::byte{7};
  const iovec page{memory.at(), 4096};
  ASSERT_EQ(vmsplice(ends[1], &page, 1, 0), 4096);
  int pauses = 0;
  lay_out_on_huge_pages(memory.at(), SharedPages::kBytes, [&] {
    EXPECT_LT(memory.huge_bytes(), SharedPages::kBytes) << "a pause for nothing";
    std::byte bytes[4096];
    if (++pauses == 10) {
      EXPECT_EQ(read(ends[0], bytes, sizeof bytes), 4096);
    }
  });
  EXPECT_EQ(pauses, 10);
  EXPECT_EQ(memory.huge_bytes(), SharedPages::kBytes);
  EXPECT_EQ(memory.at()[0], std::byte{7});
  for (const int end : ends) close(end);
}

TEST(HugePages, AreNotWaitedForWhereMemoryStaysPinned) {
  const SharedPages memory;
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  memory.at()[0] = std::byte{7};
  const iovec page{memory.at(), 4096};
  ASSERT_EQ(vmsplice(ends[1], &page, 1, 0), 4096);
  int pauses = 0;
  lay_out_on_huge_pages(memory.at(), SharedPages::kBytes, [&] { ++pauses; });
  EXPECT_LE(pauses, 20);
  EXPECT_LT(memory.huge_bytes(), SharedPages::kBytes);
  for (const int end : ends) close(end);
}

}  // namespace
}  // namespace shm
