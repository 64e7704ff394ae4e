// SPDX-License-Identifier: BSD-3-Clause
#include "base/fatal.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace shm {
namespace {

using ::testing::ExitedWithCode;

TEST(FatalDeathTest, PrintsOneLineAndExits) {
  EXPECT_EXIT(fatal("shmem_put: pe is %d; allowed is 0 to %d", 7, 3), ExitedWithCode(kErrorExit),
              "^atoll: shmem_put: pe is 7; allowed is 0 to 3\n$");
}

TEST(FatalDeathTest, NamesThePeOnceItIsKnown) {
  EXPECT_EXIT(
      {
        set_identity(2, 4, "n1");
        fatal("text");
      },
      ExitedWithCode(kErrorExit), "^atoll: PE 2 of 4 on n1: text\n$");
}

TEST(FatalDeathTest, NamesWhoSentWhatIsRefused) {
  const auto refuse = [](int from) {
    set_identity(0, 4, "n1");
    refuse_message(from, "a packet", "that is cut off");
  };
  EXPECT_DEATH(refuse(3), "internal error: PE 3 sent a packet that is cut off");
  EXPECT_DEATH(refuse(5), "internal error: memory server 1 sent a packet that is cut off");
  EXPECT_DEATH(refuse(kUnknownRank), "internal error: a PE sent a packet that is cut off");
  check_who_answers(2, "an answer", 2);
  EXPECT_DEATH(check_who_answers(3, "an answer", 2),
               "internal error: PE 3 sent an answer to a request that was sent to PE 2");
}

TEST(FatalDeathTest, AsksTheLauncherToEndTheJob) {
  EXPECT_EXIT(
      {
        set_abort_hook([](int code, const char* suspicion) { _exit(suspicion == nullptr ? 40 + code : 0); });
        fatal("text");
      },
      ExitedWithCode(40 + kErrorExit), "^atoll: text\n$");
}

TEST(FatalDeathTest, LeavesTheLineOfALostPeerToTheLauncher) {
  EXPECT_EXIT(
      {
        set_abort_hook([](int code, const char* suspicion) {
          _exit(std::string(suspicion) == "atoll: put to PE 7 failed\n" ? 40 + code : 0);
        });
        lost_peer("put to PE %d failed", 7);
      },
      ExitedWithCode(40 + kErrorExit), "^$");
  EXPECT_EXIT(lost_peer("put to PE %d failed", 7), ExitedWithCode(kErrorExit),
              "^atoll: put to PE 7 failed\n$");
}

TEST(Warn, CutsALongLineAndEndsIt) {
  ::testing::internal::CaptureStderr();
  warn("%s", std::string(5000, 'x').c_str());
  const std::string line = ::testing::internal::GetCapturedStderr();
  EXPECT_LE(line.size(), 1024U);
  EXPECT_GT(line.size(), 1000U);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  EXPECT_EQ(line.find('\0'), line.npos);
}

TEST(Debug, SaysNothingUnlessItIsOn) {
  ::testing::internal::CaptureStderr();
  debug("before");
  set_debug(true);
  debug("process %d", 7);
  set_debug(false);
  debug("after");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "atoll: process 7\n");
}

TEST(Warn, Returns) {
  ::testing::internal::CaptureStderr();
  warn("%s is deprecated", "shmem_wait");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "atoll: shmem_wait is deprecated\n");
}

}  // namespace
}  // namespace shm
