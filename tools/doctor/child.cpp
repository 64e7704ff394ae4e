// SPDX-License-Identifier: BSD-3-Clause
#include "child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

extern char** environ;

namespace doctor {
namespace {

constexpr std::size_t kMostText = std::size_t{64} << 10;

// Of a job that this process may be in.
void leave_outer_job() {
  std::vector<std::string> names;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (text.starts_with("PMIX_") || text.starts_with("ATOLL_JOB_ID"))
      names.emplace_back(text.substr(0, text.find('=')));
  }
  for (const std::string& name : names) unsetenv(name.c_str());
}

}  // namespace

Child::Child(const std::function<int()>& work) { start(work); }

Child::Child(const std::vector<std::string>& command,
             const std::vector<std::pair<std::string, std::string>>& variables) {
  start([&] {
    leave_outer_job();
    for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
    std::vector<char*> words;
    for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    execv(words[0], words.data());
    std::perror(words[0]);
    return 127;
  });
}

void Child::start(const std::function<int()>& work) {
  int ends[2];
  std::fflush(nullptr);
  if (pipe2(ends, O_CLOEXEC) != 0) return;
  pid_ = fork();
  if (pid_ == 0) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int null = open("/dev/null", O_RDONLY);
    dup2(null, 0);
    dup2(ends[1], 1);
    dup2(ends[1], 2);
    const int code = work();
    std::fflush(nullptr);
    _exit(code);
  }
  close(ends[1]);
  out_ = ends[0];
  if (pid_ > 0) setpgid(pid_, pid_);
}

Child::~Child() {
  if (pid_ > 0) {
    kill(-pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  if (out_ >= 0) close(out_);
}

int Child::wait_until(Clock::time_point end, std::string& said) {
  if (pid_ < 0) return -1;
  bool open = true;
  while (open) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
    pollfd ready{out_, POLLIN, 0};
    if (left <= 0 || poll(&ready, 1, static_cast<int>(left)) <= 0) break;
    char text[4096];
    const ssize_t n = read(out_, text, sizeof text);
    if (n > 0 && said.size() < kMostText) said.append(text, static_cast<std::size_t>(n));
    open = n > 0;
  }
  // Who has closed its output is about to end.
  int status = 0;
  pid_t ended = 0;
  while ((ended = waitpid(pid_, &status, WNOHANG)) == 0 && !open && Clock::now() < end) usleep(1000);
  kill(-pid_, SIGKILL);
  if (ended == 0) waitpid(pid_, nullptr, 0);
  pid_ = -1;
  if (ended == 0) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace doctor
