// SPDX-License-Identifier: BSD-3-Clause
#include "base/wait_report.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <string>
#include <thread>

#include "processes.hpp"
#include "thread_state.hpp"

namespace shm {
namespace {

// A launcher that listens to this process, which is PE 3 of 5 from here on and reports after kLimit by
// itself.
class WaitReport : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    id = "wait-report-test-" + std::to_string(getpid());
    setenv("ATOLL_JOB_ID", outer.c_str(), 1);
    listener = listen_for(id);
    outer_listener = listen_for(outer);
    answer_wait_questions(3, 5, kLimit, id);
    WaitRecord record;
    bool ours = false;
    ASSERT_EQ(receive_from_user(listener, &record, sizeof record, MSG_DONTWAIT, ours, &listens_at),
              static_cast<ssize_t>(sizeof record));
    ASSERT_EQ(record.news, WaitRecord::News::listens);
    at_rest = descriptors();
  }
  static std::ptrdiff_t descriptors() {
    const std::filesystem::directory_iterator open("/proc/self/fd");
    return std::distance(begin(open), end(open));
  }
  static int listen_for(const std::string& job) {
    sockaddr_un address;
    const socklen_t length = wait_report_address(job.c_str(), address);
    const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), length), 0);
    return fd;
  }
  static void TearDownTestSuite() {
    close(listener);
    close(outer_listener);
  }

  static bool heard(int milliseconds) {
    pollfd event{listener, POLLIN, 0};
    return poll(&event, 1, milliseconds) == 1;
  }
  static WaitRecord next() {
    WaitRecord record;
    EXPECT_TRUE(heard(10'000));
    EXPECT_EQ(recv(listener, &record, sizeof record, MSG_DONTWAIT), static_cast<ssize_t>(sizeof record));
    EXPECT_EQ(record.layout, WaitRecord::kLayout);
    EXPECT_EQ(record.pe, 3);
    return record;
  }

  // What the launcher sends; its answer comes from a thread.
  static void ask() {
    ASSERT_EQ(sendto(listener, "?", 1, 0, reinterpret_cast<sockaddr*>(&listens_at.name), listens_at.length),
              1);
  }

  static constexpr double kLimit = 0.2;
  static inline int listener = -1;
  static inline int outer_listener = -1;
  static inline std::ptrdiff_t at_rest = 0;  // descriptors while nobody answers
  static inline UnixAddress listens_at;
  static inline std::string id;
  static inline const std::string outer = "the-job-that-has-started-mpirun";
};

const auto describe = [](WaitRecord& record) { describe_wait(record, "some_call", 4, "for PE %d", 4); };

TEST_F(WaitReport, APeThatComputesIsPresent) {
  raise(kAskSignal);
  const WaitRecord record = next();
  EXPECT_EQ(record.news, WaitRecord::News::present);
  EXPECT_EQ(record.waiting, 0);
  EXPECT_FALSE(heard(0));
}

TEST_F(WaitReport, TheLauncherAsksWithoutASignal) {
  WaitWatch watch;
  watch.look(WaitReason(describe));
  for (int question = 0; question < 2; ++question) {
    ask();
    EXPECT_EQ(next().waiting, 1);
    watch.look(WaitReason(describe));
    EXPECT_EQ(next().news, WaitRecord::News::waits);
  }
}

// A job of another launcher may have been started within one of oshrun's, whose variables it has.
TEST_F(WaitReport, AnotherJobsLauncherHearsNothing) {
  pollfd event{outer_listener, POLLIN, 0};
  EXPECT_EQ(poll(&event, 1, 0), 0);
}

// An address that other users could guess before would be theirs.
TEST_F(WaitReport, TheKernelChoosesWhereQuestionsAreHeard) {
  ASSERT_EQ(listens_at.length, offsetof(sockaddr_un, sun_path) + 6u)
      << "5 digits behind a zero: unix(7), autobind";
  EXPECT_EQ(listens_at.name.sun_path[0], '\0');
}

// Abstract addresses are open to all users.
TEST_F(WaitReport, OtherUsersAreNotAnswered) {
  if (geteuid() != 0) GTEST_SKIP() << "needs to be another user for a while";
  const pid_t child = fork();
  if (child == 0) {
    constexpr uid_t kNobody = 65534;
    if (setuid(kNobody) != 0) _exit(1);
    ask();
    _exit(HasFailure() ? 1 : 0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  ask();
  EXPECT_EQ(next().news, WaitRecord::News::present);
  EXPECT_FALSE(heard(100)) << "questions are answered in order: that was the answer to the first";
}

// Whether the launcher listens or not.
TEST_F(WaitReport, AnAnswerLeavesNoDescriptorBehind) {
  // A thread that has answered in the test before may not have closed its socket yet.
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (descriptors() != at_rest && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
  const auto before = descriptors();
  EXPECT_EQ(before, at_rest);
  raise(kAskSignal);
  next();
  EXPECT_EQ(descriptors(), before);
  close(listener);
  ::testing::internal::CaptureStderr();
  const auto without = descriptors();
  raise(kAskSignal);
  EXPECT_EQ(descriptors(), without);
  ::testing::internal::GetCapturedStderr();
  listener = listen_for(id);
}

TEST_F(WaitReport, AThreadThatHasWaitedIsNotMeantAnyMore) {
  {
    WaitWatch watch;
    watch.look(WaitReason(describe));
  }
  raise(kAskSignal);
  EXPECT_EQ(next().waiting, 0);
}

// A library that waits for us, such as PMIx, does not look.
TEST_F(WaitReport, AWaitOfAnotherLibraryIsAnsweredFor) {
  {
    const auto begun = std::chrono::steady_clock::now();
    const OutsideWait wait("shmem_finalize", "for other PEs");
    raise(kAskSignal);
    EXPECT_EQ(next().waiting, 1);
    const WaitRecord record = next();
    EXPECT_EQ(record.news, WaitRecord::News::waits);
    EXPECT_STREQ(record.call, "shmem_finalize");
    EXPECT_STREQ(record.what, "for other PEs");
    EXPECT_EQ(record.thread, gettid());
    EXPECT_GE(record.seconds, 0);
    EXPECT_LE(record.seconds,
              std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count());
  }
  raise(kAskSignal);
  EXPECT_EQ(next().waiting, 0);
  for (std::size_t i = 0; i < 2 * OutsideWait::kMost; ++i) const OutsideWait brief("a load or store", "");
  {
    const OutsideWait page("a load or store", "for a page"), end("shmem_finalize", "for other PEs");
    raise(kAskSignal);
    EXPECT_EQ(next().waiting, 2);
    EXPECT_STREQ(next().call, "a load or store");
    EXPECT_STREQ(next().call, "shmem_finalize");
  }
}

TEST_F(WaitReport, AnOutsideWaitMayNameWhatItIsFor) {
  const auto said = [&](std::uint64_t number, const char* rest) {
    const OutsideWait page("a load", "for page ", number, rest, false);
    raise(kAskSignal);
    EXPECT_EQ(next().waiting, 1);
    return std::string(next().what);
  };
  EXPECT_EQ(said(17, ", shared here"), "for page 17, shared here");
  EXPECT_EQ(said(UINT64_MAX, ""), "for page 18446744073709551615");
  const std::string longer(300, 'x');
  EXPECT_EQ(said(0, longer.c_str()).size(), sizeof WaitRecord::what - 1);
}

// A thread that cannot look may want others to listen for it; one whose wait is short is nobody's business.
TEST_F(WaitReport, OthersListenForAWaitThatCannot) {
  static std::atomic<int> looks;
  static const PeerWatch counting{[](int pe) {
                                    EXPECT_EQ(pe, Silence::kAnyPe);
                                    ++looks;
                                    return Silence{};
                                  },
                                  [](int) { return std::string(); }, 30};
  const auto looks_within = [](double seconds) {
    looks = 0;
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    while (std::chrono::steady_clock::now() < end) listen_for_outside_waits();
    return looks.load();
  };
  watch_peers(&counting);
  {
    const OutsideWait wait("shmem_finalize", "for other PEs");
    EXPECT_EQ(looks_within(0.8), 0);
  }
  {
    const OutsideWait wait("a load or store", "for a page", true);
    EXPECT_GE(looks_within(1.5), 1);
    EXPECT_LE(looks, 7);
  }
  EXPECT_EQ(looks_within(0.3), 0);
  watch_peers(nullptr);
}

// Asked by a signal, where no launcher of ours is there or listens.
TEST_F(WaitReport, WithoutAListenerAnswersAreOnStandardError) {
  close(listener);
  const auto said = [](const auto& answer) {
    ::testing::internal::CaptureStderr();
    raise(kAskSignal);
    answer();
    return ::testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(said([] {}), "atoll: PE 3 of 5: no thread waits in a call\n");
  {
    const OutsideWait wait("shmem_finalize", "for other PEs");
    EXPECT_EQ(said([] {}), "atoll: PE 3 of 5: shmem_finalize waits for other PEs\n");
  }
  {
    WaitWatch watch;
    watch.look(WaitReason(describe));
    EXPECT_EQ(said([] {}), "");
    EXPECT_EQ(said([&] { watch.look(WaitReason(describe)); }).find("atoll: some_call waits for PE 4; since "),
              0U);
  }
  listener = listen_for(id);
}

// A child of the program is no PE.
TEST_F(WaitReport, AForkedChildDoesNotAnswer) {
  test::run_process([] {
    raise(kAskSignal);
    return !heard(0);
  });
  EXPECT_FALSE(heard(0));
}

TEST_F(WaitReport, AQuestionLeavesErrnoAlone) {
  errno = ENOTTY;
  raise(kAskSignal);
  EXPECT_EQ(errno, ENOTTY);
  next();
}

TEST_F(WaitReport, AQuestionInterruptsNoCallOfTheProgram) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer runs no handler while a thread reads";
#endif
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pthread_t reader = pthread_self();
  std::thread asker([&, thread = gettid()] {
    while (!test::sleeps(thread)) std::this_thread::yield();
    pthread_kill(reader, kAskSignal);
    next();
    EXPECT_EQ(write(ends[1], "x", 1), 1);
  });
  char byte = '\0';
  EXPECT_EQ(read(ends[0], &byte, 1), 1) << strerror(errno);
  asker.join();
  for (const int end : ends) close(end);
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
    EXPECT_FALSE(heard(0));
  }
}

TEST_F(WaitReport, AWaitThatBeginsAfterTheQuestionIsNotMeant) {
  raise(kAskSignal);
  next();
  WaitWatch watch;
  watch.look(WaitReason(describe));
  watch.look(WaitReason(describe));
  EXPECT_FALSE(heard(0));
}

TEST_F(WaitReport, ALongWaitReportsOnce) {
  ::testing::internal::CaptureStderr();
  WaitWatch watch;
  watch.look(WaitReason(describe));
  const auto begin = std::chrono::steady_clock::now();
  double seconds = 0;
  while (seconds < 1.5 * kLimit) {
    watch.look(WaitReason(describe));
    seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
  const std::string since = "some_call waits for PE 4; since ";
  const std::size_t at = said.find(since);
  ASSERT_NE(at, said.npos) << said;
  EXPECT_GE(std::stod(said.substr(at + since.size())), kLimit);
  EXPECT_NE(said.find(" s, in thread " + std::to_string(gettid())), said.npos) << said;
  EXPECT_FALSE(heard(0)) << "nobody has asked";
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
