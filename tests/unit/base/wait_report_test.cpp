// SPDX-License-Identifier: BSD-3-Clause
#include "base/wait_report.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <thread>

namespace shm {
namespace {

// A launcher that listens to this process, which is PE 3 of 5 from here on and reports after 0.2 s by itself.
class WaitReport : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const std::string id = "wait-report-test-" + std::to_string(getpid());
    setenv("ATOLL_JOB_ID", id.c_str(), 1);
    sockaddr_un address;
    const socklen_t length = wait_report_address(id.c_str(), address);
    listener = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), length), 0);
    answer_wait_questions(3, 5, 0.2);
  }
  static void TearDownTestSuite() { close(listener); }

  static bool heard(int milliseconds) {
    pollfd event{listener, POLLIN, 0};
    return poll(&event, 1, milliseconds) == 1;
  }
  static WaitRecord next() {
    WaitRecord record;
    EXPECT_TRUE(heard(10'000));
    EXPECT_EQ(recv(listener, &record, sizeof record, 0), static_cast<ssize_t>(sizeof record));
    EXPECT_EQ(record.layout, WaitRecord::kLayout);
    EXPECT_EQ(record.pe, 3);
    return record;
  }

  static inline int listener = -1;
};

const auto describe = [](WaitRecord& record) { describe_wait(record, "some_call", 4, "for PE %d", 4); };

TEST_F(WaitReport, APeThatComputesIsPresent) {
  raise(kAskSignal);
  const WaitRecord record = next();
  EXPECT_EQ(record.news, WaitRecord::News::present);
  EXPECT_EQ(record.waiting, 0);
  EXPECT_FALSE(heard(20));
}

TEST_F(WaitReport, AThreadThatWaitsSaysWhatForOnceForEachQuestion) {
  WaitWatch watch;
  watch.look(WaitReason(describe));
  for (int question = 0; question < 2; ++question) {
    raise(kAskSignal);
    EXPECT_EQ(next().waiting, 1);
    watch.look(WaitReason(describe));
    const WaitRecord record = next();
    EXPECT_EQ(record.news, WaitRecord::News::waits);
    EXPECT_STREQ(record.call, "some_call");
    EXPECT_STREQ(record.what, "for PE 4");
    EXPECT_EQ(record.for_pe, 4);
    EXPECT_EQ(record.thread, gettid());
    watch.look(WaitReason(describe));
    EXPECT_FALSE(heard(20));
  }
}

TEST_F(WaitReport, AWaitThatBeginsAfterTheQuestionIsNotMeant) {
  raise(kAskSignal);
  next();
  WaitWatch watch;
  watch.look(WaitReason(describe));
  watch.look(WaitReason(describe));
  EXPECT_FALSE(heard(20));
}

TEST_F(WaitReport, ALongWaitReportsOnce) {
  ::testing::internal::CaptureStderr();
  WaitWatch watch;
  watch.look(WaitReason(describe));
  std::this_thread::sleep_for(std::chrono::milliseconds(210));
  watch.look(WaitReason(describe));
  watch.look(WaitReason(describe));
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
  EXPECT_NE(said.find("some_call waits for PE 4; since 0.2"), said.npos) << said;
}

TEST_F(WaitReport, AnEndWithoutFinalizeIsAnnounced) {
  announce_implied_end();
  EXPECT_EQ(next().news, WaitRecord::News::leaves);
}

TEST_F(WaitReport, LongTextsAreCut) {
  WaitRecord record;
  describe_wait(record, std::string(500, 'a').c_str(), 1, "%s", std::string(500, 'b').c_str());
  EXPECT_EQ(std::string(record.call).size(), sizeof record.call - 1);
  EXPECT_EQ(std::string(record.what).size(), sizeof record.what - 1);
}

}  // namespace
}  // namespace shm
