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
#include "ofi/op.hpp"
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

// What the user has not set, and what is not the user's to set.
TEST(OfiLoader, SetsWhatAtollNeedsOfProviders) {
  in_child([] {
    static constexpr const char* kSettings[][2] = {{"FI_OFI_RXM_BUFFER_SIZE", "16640"},
                                                   {"FI_OFI_RXM_MSG_RX_SIZE", "256"},
                                                   {"FI_OFI_RXM_CM_PROGRESS_INTERVAL", "100"},
                                                   {"FI_MR_CACHE_MONITOR", "disabled"},
                                                   {"IPATH_NO_BACKTRACE", "1"}};
    for (const auto& [name, value] : kSettings) unsetenv(name);
    setenv("IPATH_NO_BACKTRACE", "0", 1);
    ofi::set_environment();
    for (const auto& [name, value] : kSettings) EXPECT_STREQ(getenv(name), value) << name;
    EXPECT_GE(std::strtoul(kSettings[0][1], nullptr, 10), ofi::kMessageBuffer) << "no rendezvous";
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
  EXPECT_EQ(unknown.name, "unheard-of");
  EXPECT_EQ(unknown.rank, 0);
  EXPECT_EQ(unknown.order, ofi::Order::none);
  EXPECT_EQ(unknown.atomics, ofi::Atomics::none);
  EXPECT_EQ(unknown.wait, ofi::Wait::none);
  EXPECT_EQ(unknown.pack, Packed::atomics);
  EXPECT_EQ(unknown.gets, ofi::Gets::message);
  EXPECT_TRUE(unknown.local_mr) << "may be asked for";
  EXPECT_FALSE(unknown.warm || unknown.inbox || unknown.peeks || unknown.tested);
}

// Rows in which each column differs from its neighbour in one of them.
TEST(OfiQuirks, ColumnsAreInTheirOrder) {
  const ofi::Quirk tcp = ofi::find_quirk("tcp;ofi_rxm"), verbs = ofi::find_quirk("verbs;ofi_rxm"),
                   sockets = ofi::find_quirk("sockets"), cxi = ofi::find_quirk("cxi");
  EXPECT_EQ(tcp.rank, 1);
  EXPECT_TRUE(!tcp.local_mr && tcp.warm && tcp.inbox && tcp.peeks && tcp.tested);
  EXPECT_TRUE(verbs.local_mr && verbs.warm && !verbs.inbox && !verbs.peeks && !verbs.tested);
  EXPECT_TRUE(!sockets.local_mr && !sockets.warm && !sockets.inbox && sockets.peeks && !sockets.tested);
  EXPECT_EQ(tcp.order, ofi::Order::puts);
  EXPECT_EQ(tcp.gets, ofi::Gets::message);
  EXPECT_EQ(verbs.gets, ofi::Gets::message);
  EXPECT_EQ(cxi.gets, ofi::Gets::onesided);
  EXPECT_TRUE(ofi::puts_stay_in_order(ofi::Order::puts, true));
  EXPECT_FALSE(ofi::puts_stay_in_order(ofi::Order::puts, false))
      << "the provider's stores may be seen in any order";
  EXPECT_FALSE(ofi::puts_stay_in_order(ofi::Order::none, true));
#if defined(__x86_64__)
  EXPECT_TRUE(ofi::kStoresStayInOrder);
#else
  EXPECT_FALSE(ofi::kStoresStayInOrder) << "of no other processor has this been shown";
#endif
  EXPECT_EQ(verbs.order, ofi::Order::none);
  EXPECT_EQ(verbs.wait, ofi::Wait::fd);
  EXPECT_EQ(sockets.wait, ofi::Wait::none);
  EXPECT_EQ(verbs.atomics, ofi::Atomics::cpu);
  EXPECT_EQ(cxi.atomics, ofi::Atomics::own);
  EXPECT_EQ(cxi.pack, Packed::atomics);
  EXPECT_EQ(sockets.pack, Packed::in_sessions);
  EXPECT_EQ(sockets.credits, 128u);
}

}  // namespace
}  // namespace shm::test
