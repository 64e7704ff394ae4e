// SPDX-License-Identifier: BSD-3-Clause
// What may hang, crash or take too long is done by processes that are ended then.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace doctor {

using Clock = std::chrono::steady_clock;

/// A process in a group of its own, and what it writes on standard output and error.
class Child {
 public:
  /// Runs `work` in a copy of this process, whose standard output is read; it ends with what that returns.
  explicit Child(const std::function<int()>& work);
  /// Runs a command, with these variables set.
  Child(const std::vector<std::string>& command,
        const std::vector<std::pair<std::string, std::string>>& variables);
  ~Child();
  Child(Child&& other) noexcept : pid_(std::exchange(other.pid_, -1)), out_(std::exchange(other.out_, -1)) {}
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// The exit code, 128 + n of who died by signal n, or -1: it had not ended by then, and is killed.
  int wait_until(Clock::time_point end, std::string& said);

 private:
  void start(const std::function<int()>& work);
  pid_t pid_ = -1;
  int out_ = -1;
};

}  // namespace doctor
