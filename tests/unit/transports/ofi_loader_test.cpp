// SPDX-License-Identifier: BSD-3-Clause
// Loading libfabric leaves the program's signal handlers alone, and the tuning environment to the user.
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "ofi/fabric.hpp"
#include "ofi/loader.hpp"
#include "ofi/quirks.hpp"

namespace shm::test {
namespace {

void own_handler(int) {}

// In a process of its own: another test may have loaded the library already.
template <class Body>
void in_child(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);
    body();
    std::fflush(stdout);
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGTERM, SIGINT,  SIGILL,
                            SIGABRT, SIGFPE, SIGPIPE, SIGCHLD, SIGUSR1};

TEST(OfiLoader, SignalHandlersStayTheProgramsOwn) {
  in_child([] {
    struct sigaction before[std::size(kSignals)];
    signal(SIGINT, own_handler);
    for (std::size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], nullptr, &before[i]);
    {
      const auto start = std::chrono::steady_clock::now();
      Result<std::unique_ptr<Network>> net = open_fabric({.loopback_only = true});
      ASSERT_TRUE(net.ok()) << net.status().text();
      std::printf(
          "first open: %.0f ms\n",
          std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
      for (std::size_t i = 0; i < std::size(kSignals); ++i) {
        struct sigaction now {};
        sigaction(kSignals[i], nullptr, &now);
        EXPECT_EQ(now.sa_handler, before[i].sa_handler) << strsignal(kSignals[i]);
      }
    }
    const auto start = std::chrono::steady_clock::now();
    EXPECT_TRUE(open_fabric({.loopback_only = true}).ok());
    std::printf("second open: %.1f ms\n",
                std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  });
}

TEST(OfiLoader, TheUsersEnvironmentWins) {
  in_child([] {
    setenv("FI_OFI_RXM_BUFFER_SIZE", "32768", 1);
    unsetenv("FI_OFI_RXM_MSG_RX_SIZE");
    ofi::set_environment();
    EXPECT_STREQ(getenv("FI_OFI_RXM_BUFFER_SIZE"), "32768");
    EXPECT_STREQ(getenv("FI_OFI_RXM_MSG_RX_SIZE"), "256");
  });
}

TEST(OfiLoader, SleepsAreAsExactAfterwardsAsBefore) {
  in_child([] {
    ASSERT_EQ(prctl(PR_SET_TIMERSLACK, 70'000UL), 0);
    EXPECT_TRUE(ofi::load_library().ok());
    EXPECT_EQ(prctl(PR_GET_TIMERSLACK), 70'000);
  });
}

TEST(OfiLoader, ItIsLoadedOnce) {
  in_child([] {
    Result<const ofi::Library*> first = ofi::load_library();
    Result<const ofi::Library*> second = ofi::load_library();
    ASSERT_TRUE(first.ok());
    EXPECT_EQ(first.value(), second.value());
    EXPECT_GE(first.value()->version(), FI_VERSION(1, 17));
    EXPECT_STREQ(first.value()->error(-FI_EAGAIN), first.value()->error(FI_EAGAIN));
  });
}

TEST(OfiQuirks, RowsAreFoundAndOnlyTestedOnesAreChosen) {
  for (const ofi::Quirk& row : ofi::quirks()) {
    EXPECT_EQ(ofi::find_quirk(row.name).why, row.why);
    EXPECT_TRUE(row.rank == 0 || row.tested) << row.name;
    EXPECT_FALSE(row.why.empty());
    EXPECT_GT(row.credits, 0u);
  }
  const ofi::Quirk unknown = ofi::find_quirk("unheard-of");
  EXPECT_EQ(unknown.order, ofi::Order::none);
  EXPECT_EQ(unknown.atomics, ofi::Atomics::none);
  EXPECT_EQ(unknown.wait, ofi::Wait::none);
}

}  // namespace
}  // namespace shm::test
