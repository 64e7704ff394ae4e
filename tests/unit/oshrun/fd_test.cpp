// SPDX-License-Identifier: BSD-3-Clause
#include "fd.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <utility>

namespace oshrun {
namespace {

bool open_now(int fd) { return fcntl(fd, F_GETFD) != -1; }
int one() { return open("/dev/null", O_RDONLY | O_CLOEXEC); }

TEST(UniqueFd, ClosesWhatItHadLast) {
  const int first = one(), second = one(), third = one();
  {
    UniqueFd fd(first), other(third);
    EXPECT_TRUE(fd);
    fd.reset(second);
    EXPECT_FALSE(open_now(first));
    EXPECT_EQ(fd.get(), second);
    fd = std::move(other);
    EXPECT_FALSE(open_now(second));
    EXPECT_FALSE(other);
    UniqueFd last(std::move(fd));
    EXPECT_FALSE(fd);
    EXPECT_TRUE(open_now(third));
    EXPECT_EQ(last.get(), third);
  }
  EXPECT_FALSE(open_now(third));
}

TEST(UniqueFd, MayBeStandardInputOrNone) {
  EXPECT_FALSE(UniqueFd());
  EXPECT_EQ(UniqueFd().get(), -1);
  const int standard_input = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
  close(STDIN_FILENO);
  UniqueFd lowest(one());
  EXPECT_EQ(lowest.get(), STDIN_FILENO);
  EXPECT_TRUE(lowest);
  lowest.reset();
  EXPECT_FALSE(open_now(STDIN_FILENO));
  if (standard_input >= 0) dup2(standard_input, STDIN_FILENO), close(standard_input);
}

}  // namespace
}  // namespace oshrun
