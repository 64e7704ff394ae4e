// SPDX-License-Identifier: BSD-3-Clause
#include "remote/paper_suspension.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <deque>
#include <thread>

#include "base/service_thread.hpp"
#include "paper_fixture.hpp"

namespace shm::remote::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// A thread that counts.
class Runner {
 public:
  explicit Runner(bool takes_signals = true)
      : thread_([this, takes_signals] {
          const SignalsBlocked blocked;
          if (takes_signals) take_signals();
          while (!stop_) {
            if (told_ && !takes_signals) take_signals();
            ++steps;
          }
        }) {
    while (steps == 0) std::this_thread::yield();
  }
  ~Runner() {
    stop_ = true;
    thread_.join();
  }
  void tell_to_take_signals() { told_ = true; }
  bool runs(milliseconds within) const {
    const auto limit = steady_clock::now() + within;
    const std::uint64_t before = steps;
    while (steps == before && steady_clock::now() < limit) std::this_thread::yield();
    return steps != before;
  }
  std::atomic<std::uint64_t> steps{0};

 private:
  static void take_signals() {
    sigset_t none;
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &none, nullptr);
  }
  std::atomic<bool> stop_{false}, told_{false};
  std::thread thread_;
};

// On a busy machine a thread may take its signal late, or be held up until its suspension is over.
std::uint64_t run_on() { return suspension_counts().missed + suspension_counts().escaped; }

constexpr milliseconds kSoon{20}, kAtLast{10'000};

class PaperSuspension : public ::testing::Test {
 protected:
  void SetUp() override {
    if (kHandlersRunLate) GTEST_SKIP() << "ThreadSanitizer runs handlers late";
  }
};

TEST_F(PaperSuspension, ThreadsStandStillAndGoOn) {
  std::deque<Runner> runners(3);
  on_service_thread([&] {
    for (int round = 0; round < 5; ++round) {
      const std::uint64_t excused = run_on();
      std::uint64_t running = 0;
      {
        const UserThreadsSuspended suspended;
        for (const Runner& runner : runners) running += runner.runs(kSoon);
      }
      EXPECT_LE(running, run_on() - excused);
      for (const Runner& runner : runners) EXPECT_TRUE(runner.runs(kAtLast));
    }
  });
  EXPECT_GT(suspension_counts().signals, 0u);
}

TEST_F(PaperSuspension, WhoWaitsForAPageIsNotDisturbedAndWaitsForTheOthers) {
  std::atomic<int> step{0};
  std::thread faulting([&] {
    const SignalsBlocked blocked(kOwnFaults);
    {
      const WaitsForPage waits;
      step = 1;
      while (step < 2) std::this_thread::yield();
    }
    step = 3;
  });
  while (step < 1) std::this_thread::yield();
  on_service_thread([&] {
    const std::uint64_t before = suspension_counts().signals, excused = run_on();
    {
      const UserThreadsSuspended suspended;
      step = 2;
      std::this_thread::sleep_for(kSoon);
      EXPECT_TRUE(step == 2 || run_on() > excused);
    }
    while (step < 3) std::this_thread::yield();
    EXPECT_LE(suspension_counts().signals - before, 1u) << "the main thread";
  });
  faulting.join();
}

// Only once: no signals pile up.
TEST_F(PaperSuspension, WhoTakesNoSignalsIsWaitedForOnce) {
  Runner deaf(false);
  on_service_thread([&] {
    const SuspensionCounts before = suspension_counts();
    const auto start = steady_clock::now();
    for (int round = 0; round < 10; ++round) {
      const UserThreadsSuspended suspended;
      EXPECT_TRUE(deaf.runs(kAtLast));
    }
    EXPECT_GE(steady_clock::now() - start, kSignalPatience);
    EXPECT_GE(suspension_counts().missed - before.missed, 1u);
    EXPECT_LE(suspension_counts().signals - before.signals, 11u) << "the main thread ten times";
    // From now on it is one of the others.
    deaf.tell_to_take_signals();
    const std::uint64_t excused = run_on();
    std::uint64_t running = 0;
    for (int round = 0; round < 3; ++round) {
      EXPECT_TRUE(deaf.runs(kAtLast));
      std::this_thread::sleep_for(kSoon);
      const UserThreadsSuspended suspended;
      running += deaf.runs(kSoon);
    }
    EXPECT_LE(running, run_on() - excused);
  });
}

// It might hold a lock that who has suspended it needs.
TEST_F(PaperSuspension, EndsForThreadsAfterAWhile) {
  Runner runner;
  on_service_thread([&] {
    const std::uint64_t before = run_on();
    const UserThreadsSuspended suspended;
    EXPECT_TRUE(runner.runs(kAtLast));
    EXPECT_GT(run_on(), before);
  });
}

// read() goes on, and does not fail.
TEST_F(PaperSuspension, SystemCallsAreNotInterrupted) {
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  std::atomic<bool> reads{false};
  ssize_t got = -2;
  std::thread reader([&] {
    char byte;
    reads = true;
    got = ::read(pipe_ends[0], &byte, 1);
  });
  while (!reads) std::this_thread::yield();
  std::this_thread::sleep_for(kSoon);
  on_service_thread([] {
    for (int round = 0; round < 5; ++round) const UserThreadsSuspended suspended;
  });
  EXPECT_EQ(write(pipe_ends[1], "x", 1), 1);
  reader.join();
  EXPECT_EQ(got, 1);
  for (const int end : pipe_ends) close(end);
}

}  // namespace
}  // namespace shm::remote::test
