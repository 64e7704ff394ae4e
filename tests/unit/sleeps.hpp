// SPDX-License-Identifier: BSD-3-Clause
// How often a thread has slept, which a thread that merely yields does not.
#pragma once

#include <unistd.h>

#include <chrono>
#include <fstream>
#include <string>
#include <thread>

namespace shm::test {

/// Of a thread of this process: how often it has given up its core until something or some time would wake
/// it.
inline long sleeps_of(pid_t thread) {
  std::ifstream status("/proc/self/task/" + std::to_string(thread) + "/status");
  for (std::string word; status >> word;) {
    if (word != "voluntary_ctxt_switches:") continue;
    long n = 0;
    status >> n;
    return n;
  }
  return 0;
}

/// Returns whether the thread has slept `n` times more within 30 s.
inline bool has_slept(pid_t thread, long n) {
  const long before = sleeps_of(thread);
  for (int i = 0; i < 30'000; ++i) {
    if (sleeps_of(thread) >= before + n) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

}  // namespace shm::test
