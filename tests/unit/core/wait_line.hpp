// SPDX-License-Identifier: BSD-3-Clause
// What the library says of a wait that takes too long (SHMEM_WAIT_REPORT).
#pragma once

#include <gmock/gmock.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <thread>

#include "base/wait_report.hpp"
#include "core/runtime.hpp"
#include "processes.hpp"

namespace shm::test {

/// Expects that `wait` says `text` on standard error; only then runs `end`, on another thread, which lets it
/// return.  In a process of its own, since what is told stays so.
inline void expect_wait_line(const std::string& text, const std::function<void()>& wait,
                             const std::function<void()>& end) {
  run_process([&] {
    int ends[2];
    if (pipe(ends) != 0 || dup2(ends[1], STDERR_FILENO) < 0) return false;
    answer_wait_questions(rt.me, static_cast<int>(rt.npes), 1e-9, "");
    std::string line;
    std::thread reader([&] {
      for (char c = 0; c != '\n' && read(ends[0], &c, 1) == 1;) line += c;
      end();
    });
    wait();
    reader.join();
    EXPECT_THAT(line, ::testing::HasSubstr(text));
    return true;
  });
}

}  // namespace shm::test
