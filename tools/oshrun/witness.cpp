// SPDX-License-Identifier: BSD-3-Clause
#include "witness.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <cerrno>

namespace oshrun {
namespace {

using Report = unsigned char;  // the number of a signal
constexpr Report kAnswered = 0;

/// Asks it for what it has not reported yet: of pending signals the lowest number comes first, so the rest is
/// reported before this one.
int asking() { return SIGRTMAX; }

}  // namespace

Witness::~Witness() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

int Witness::start() {
  sigemptyset(&got_);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return errno;
  reports_.reset(ends[0]);
  const UniqueFd writer(ends[1]);
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) live(parent, writer.get());
  return pid_ > 0 ? 0 : errno;
}

void Witness::live(pid_t parent, int reports) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);  // it died before the line above
  prctl(PR_SET_NAME, "oshrun-witness");
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, nullptr);
  for (;;) {
    siginfo_t info{};
    const int signal = sigwaitinfo(&all, &info);
    const bool woken = signal == SIGCONT && info.si_pid == parent;
    if (signal <= 0 || woken) continue;
    const bool asked = signal == asking() && info.si_pid == parent;
    const Report report = asked ? kAnswered : static_cast<Report>(signal);
    if (write(reports, &report, sizeof report) != sizeof report) _exit(1);
  }
}

bool Witness::has_got(int signal) {
  question();
  const bool result = sigismember(&got_, signal) == 1;
  sigdelset(&got_, signal);
  return result;
}

void Witness::question() {
  kill(pid_, SIGCONT);  // it may be stopped
  kill(pid_, asking());
  Report report = kAnswered;
  while (read(reports_.get(), &report, sizeof report) == sizeof report && report != kAnswered)
    sigaddset(&got_, report);
}

}  // namespace oshrun
