// SPDX-License-Identifier: BSD-3-Clause
#include "base/service_thread.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace shm {
namespace {

sigset_t blocked_here() {
  sigset_t blocked;
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  return blocked;
}

// The signals of the program are for the threads of the program.
TEST(ServiceThread, TakesNoSignals) {
  sigset_t one, in_thread;
  sigemptyset(&one);
  sigaddset(&one, SIGUSR2);
  pthread_sigmask(SIG_BLOCK, &one, nullptr);
  std::thread thread = start_service_thread("atoll-test", [&] { in_thread = blocked_here(); });
  thread.join();
  const sigset_t after = blocked_here();
  pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
  for (const int signal : {SIGINT, SIGTERM, SIGALRM, SIGURG, SIGUSR1, SIGCHLD}) {
    EXPECT_EQ(sigismember(&in_thread, signal), 1) << signal;
    EXPECT_EQ(sigismember(&after, signal), 0) << signal << ": this thread takes what it took before";
  }
  EXPECT_EQ(sigismember(&after, SIGUSR2), 1) << "and no more than that";
  for (const int fault : kOwnFaults)
    EXPECT_EQ(sigismember(&in_thread, fault), 0) << fault << ": it would end the process without a report";
}

}  // namespace
}  // namespace shm
