// SPDX-License-Identifier: BSD-3-Clause
// Calls that the system takes long for: who hears of their end, and what becomes of them where there are no
// threads left.
#include "nvm/storage/slow_calls.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <optional>

namespace shm::nvm {
namespace {

// What the caller was given, once the call has ended.
Status wait_for_result(SlowCalls& calls, const void* caller) {
  for (;;) {
    if (const std::optional<Status> status = calls.result(caller)) return *status;
    usleep(100);
  }
}

TEST(SlowCalls, AreMadeOneAfterTheOtherAndRing) {
  std::atomic<int> rings{0}, made{0};
  int callers[2];
  {
    SlowCalls calls([&] { ++rings; });
    calls.begin(&callers[0], [&] {
      ++made;
      return Status();
    });
    calls.begin(&callers[1], [&] { return Status::error(std::to_string(made)); });
    EXPECT_EQ(wait_for_result(calls, &callers[1]).text(), "1") << "before the first one";
    EXPECT_TRUE(calls.any_result()) << "the first one's has not been taken";
    EXPECT_TRUE(wait_for_result(calls, &callers[0]).ok());
    EXPECT_FALSE(calls.any_result());
  }
  EXPECT_EQ(rings, 2);
}

TEST(SlowCalls, NobodyIsRungForWhatNobodyWaitsFor) {
  std::atomic<int> rings{0};
  const int caller = 0;
  {
    SlowCalls calls([&] { ++rings; });
    calls.begin_untold(&caller, [] { return Status(); });
    EXPECT_TRUE(wait_for_result(calls, &caller).ok());
  }
  EXPECT_EQ(rings, 0);
}

// In a process of its own, whose user may have no threads.
TEST(SlowCalls, WhereThereAreNoThreadsWhoBeginsMakesThem) {
  const auto call_without_threads = [] {
    const rlimit none{0, 0};
    if (setrlimit(RLIMIT_NPROC, &none) != 0 || (geteuid() == 0 && setuid(65534) != 0)) _exit(77);
    SlowCalls calls([] { _exit(2); });
    const int caller = 0;
    pthread_t maker{};
    calls.begin(&caller, [&] {
      maker = pthread_self();
      return Status::error("made");
    });
    const std::optional<Status> status = calls.result(&caller);
    _exit(status && status->text() == "made" && maker == pthread_self() ? 0 : 1);
  };
  EXPECT_EXIT(call_without_threads(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace shm::nvm
