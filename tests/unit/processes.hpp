// SPDX-License-Identifier: BSD-3-Clause
// Test bodies that run in processes of their own: for what changes a process for good, and for peers.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <string>
#include <vector>

namespace shm::test {

/// Runs body(0) .. body(n - 1) in n forked processes and expects every one to return true.  A process that
/// takes longer than `seconds` is killed.  Expectations inside a body also count.
inline void run_processes(int n, const std::function<bool(int)>& body, unsigned seconds = 60) {
  std::fflush(nullptr);
  std::vector<pid_t> children;
  for (int i = 0; i < n; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(seconds);
      const bool good = body(i) && !::testing::Test::HasFailure();
      std::fflush(nullptr);
      _exit(good ? 0 : 1);
    }
    children.push_back(child);
  }
  for (int i = 0; i < n; ++i) {
    int status = -1;
    waitpid(children[static_cast<std::size_t>(i)], &status, 0);
    EXPECT_EQ(status, 0) << "process " << i << (WIFSIGNALED(status) ? " was killed" : " failed");
  }
}

inline void run_process(const std::function<bool()>& body, unsigned seconds = 60) {
  run_processes(
      1, [&](int) { return body(); }, seconds);
}

/// Memory that processes forked later share; zeros.  Never unmapped: it is small.
template <class T>
T& shared_object() {
  void* at = mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return *static_cast<T*>(at);
}

/// A name that no other test, nor another run of this one, uses at the same time.
inline std::string unique_key(const std::string& test) {
  static int count = 0;
  return "test." + test + "." + std::to_string(getpid()) + "." + std::to_string(++count);
}

}  // namespace shm::test
