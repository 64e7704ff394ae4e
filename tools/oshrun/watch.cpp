// SPDX-License-Identifier: BSD-3-Clause
#include "watch.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>
#include <string>

#include "fd.hpp"
#include "witness.hpp"

namespace oshrun {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kWaitForRoomMs = 1000;  // for the line at the limit

/// A signal that comes to this process and within this time to its group is one: timeout(1) sends both of
/// them what is to end a job.
constexpr timespec kTogether{0, 50'000'000}, kTogetherAtTheEnd{0, 500'000'000};

sigset_t set_of(int signal) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  return set;
}

class Watch {
 public:
  explicit Watch(const TimeLimit& time) : time_(time), due_(Clock::now() + time.limit) {
    struct sigaction standard {};
    standard.sa_handler = SIG_DFL;
    sigaction(SIGCHLD, &standard, nullptr);  // ignored, there would be no exit code to wait for
    sigset_t blocked;
    sigfillset(&blocked);
    // What stops both, as processes in the background that use the terminal, and faults of this process.
    for (int signal : {SIGTTIN, SIGTTOU, SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV, SIGSYS})
      sigdelset(&blocked, signal);
    sigprocmask(SIG_BLOCK, &blocked, &mask_);
    awaited_ = blocked;
    // What the line at the limit may bring about.
    for (int signal : {SIGPIPE, SIGXFSZ}) sigdelset(&awaited_, signal);
  }

  /// Returns 0 or an errno.
  int start(const std::function<int()>& become) {
    if (const int error = witness_.start()) return error;
    const pid_t watcher = getpid();
    sigpending(&early_);
    command_ = fork();
    if (command_ != 0) return command_ > 0 ? 0 : errno;
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != watcher) _exit(1);  // it died before the line above
    sigprocmask(SIG_SETMASK, &mask_, nullptr);
    _exit(become());
  }

  int run() {
    for (;;) {
      int status = 0;
      if (waitpid(command_, &status, WNOHANG) == command_) return exit_code(status);
      if (due_ && *due_ <= Clock::now()) on_time();
      wait_for_signal();
    }
  }

 private:
  int exit_code(int status) const {
    if (time_is_up_) return kExitTimeIsUp;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }

  void on_time() {
    if (time_is_up_) {
      kill(command_, SIGKILL);
      due_.reset();
      return;
    }
    time_is_up_ = true;
    // Where nobody reads, the line is not worth a job that does not end.
    pollfd room{STDERR_FILENO, POLLOUT, 0};
    if (poll(&room, 1, kWaitForRoomMs) == 1) say(time_is_up(time_.limit) + "\n");
    kill(command_, SIGTERM);
    kill(command_, SIGCONT);                 // a stopped process takes no SIGTERM
    due_ = Clock::now() + time_.kill_after;  // this process may have been stopped, too, far beyond the limit
  }

  /// Also in the background of a terminal where that stops processes (stty tostop): not if the signal is
  /// blocked.
  static void say(const std::string& line) {
    const sigset_t to_stop = set_of(SIGTTOU);
    sigprocmask(SIG_BLOCK, &to_stop, nullptr);
    write_all(STDERR_FILENO, line);
    sigprocmask(SIG_UNBLOCK, &to_stop, nullptr);
  }

  void wait_for_signal() {
    if (!due_) return on_signal(sigwaitinfo(&awaited_, nullptr));
    using std::chrono::nanoseconds, std::chrono::seconds;
    const nanoseconds left = std::max(nanoseconds(*due_ - Clock::now()), nanoseconds(0));
    const timespec limit{left / seconds(1), (left % seconds(1)).count()};
    on_signal(sigtimedwait(&awaited_, nullptr, &limit));
  }

  void on_signal(int signal) {
    if (signal <= 0 || signal == SIGCHLD) return;
    const bool ends = signal == SIGTERM || signal == SIGINT || signal == SIGHUP || signal == SIGQUIT;
    nanosleep(ends ? &kTogetherAtTheEnd : &kTogether, nullptr);
    const sigset_t again = set_of(signal);
    const timespec at_once{};
    sigtimedwait(&again, nullptr, &at_once);
    const bool had_by_the_group = witness_.has_got(signal);
    if (!had_by_the_group || sigismember(&early_, signal) == 1) kill(command_, signal);
    sigdelset(&early_, signal);
    if (signal == SIGTSTP) stop();
  }

  /// As this signal does where nobody waits for it; in a process group without a shell it does nothing.
  static void stop() {
    sigset_t pending;
    if (sigpending(&pending) == 0 && sigismember(&pending, SIGCONT) == 1) return;  // it shall go on by now
    const sigset_t to_stop = set_of(SIGTSTP);
    raise(SIGTSTP);
    sigprocmask(SIG_UNBLOCK, &to_stop, nullptr);
    // Here somebody has sent SIGCONT.
    sigprocmask(SIG_BLOCK, &to_stop, nullptr);
  }

  const TimeLimit& time_;
  std::optional<Clock::time_point> due_;  // the next thing to do
  bool time_is_up_ = false;
  Witness witness_;
  pid_t command_ = -1;
  sigset_t mask_{};
  sigset_t awaited_{};
  sigset_t early_{};  // came before there was a command
};

}  // namespace

Watched watch(const TimeLimit& time, const std::function<int()>& become) {
  Watch watch(time);
  if (const int error = watch.start(become)) return {0, error};
  return {watch.run(), 0};
}

}  // namespace oshrun
