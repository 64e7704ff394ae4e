// SPDX-License-Identifier: BSD-3-Clause
#include "child.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>

namespace doctor {
namespace {

using std::chrono::seconds;

Clock::time_point in_time() { return Clock::now() + seconds(60); }

TEST(Child, SaysWhatItWritesAndHowItEnds) {
  Child child([] {
    std::printf("out\n");
    std::fprintf(stderr, "err\n");
    return 7;
  });
  std::string said;
  EXPECT_EQ(child.wait_until(in_time(), said), 7);
  EXPECT_THAT(said, testing::HasSubstr("out\n"));
  EXPECT_THAT(said, testing::HasSubstr("err\n"));
}

TEST(Child, ThatDiesIsTold) {
  Child child([] {
    signal(SIGTERM, SIG_DFL);
    raise(SIGTERM);
    return 0;
  });
  std::string said;
  EXPECT_EQ(child.wait_until(in_time(), said), 128 + SIGTERM);
}

TEST(Child, ThatHangsIsEndedWithAllThatItHasStarted) {
  Child child({"/bin/sh", "-c", "echo $$; sleep 1000 & sleep 1000"}, {});
  std::string said;
  EXPECT_EQ(child.wait_until(Clock::now() + std::chrono::milliseconds(300), said), -1);
  const pid_t pid = std::atoi(said.c_str());
  if (pid <= 0) return;  // it was ended before it could say a word
  // What it has started is orphaned, and gone when init has looked.
  for (int i = 0; i < 6000 && kill(-pid, 0) == 0; ++i) usleep(10000);
  EXPECT_NE(kill(-pid, 0), 0) << "its group is left";
}

TEST(Child, ACommandHasVariablesAndNothingOfAnOuterJob) {
  setenv("PMIX_RANK", "3", 1);
  Child child({"/bin/sh", "-c", "echo $ONE ${PMIX_RANK-none}"}, {{"ONE", "1"}});
  unsetenv("PMIX_RANK");
  std::string said;
  EXPECT_EQ(child.wait_until(in_time(), said), 0);
  EXPECT_EQ(said, "1 none\n");
  Child none({"/no/such/program"}, {});
  EXPECT_EQ(none.wait_until(in_time(), said), 127);
}

}  // namespace
}  // namespace doctor
