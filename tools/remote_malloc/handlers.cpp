// SPDX-License-Identifier: BSD-3-Clause
#include "handlers.hpp"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "inside.hpp"
#include "masks.hpp"
#include "next.hpp"

namespace remote_malloc::handlers {
namespace {

using Action = struct sigaction;
using Handler = void (*)(int);
using masks::next_pthread_sigmask;

constinit Next<int(int, const Action*, Action*)> next_sigaction("sigaction");
constinit Next<Handler(int, Handler)> next_signal("signal");
constinit Next<Handler(int, Handler)> next_sysv_signal("__sysv_signal");
constinit Next<Handler(int, Handler)> next_sigset("sigset");
constinit Next<int(int)> next_sigignore("sigignore");

constinit std::atomic_flag changing;
constinit Action programs{};          // once Atoll has a handler; guarded by `changing`
constinit bool atoll_has_it = false;  // likewise
constinit pid_t owner = 0;  // the process that all this is of: not a child of vfork(), which shares it

// For few instructions and a system call, in handlers too.  SIGSEGV waits as well: one that is sent comes
// here.
void begin_change(sigset_t& before) {
  sigset_t all;
  sigfillset(&all);
  next_pthread_sigmask(SIG_BLOCK, &all, &before);
  while (changing.test_and_set(std::memory_order_acquire)) {
  }
}
void end_change(const sigset_t& before) {
  changing.clear(std::memory_order_release);
  next_pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

class Changing {
 public:
  Changing() { begin_change(before_); }
  ~Changing() { end_change(before_); }
  Changing(const Changing&) = delete;
  Changing& operator=(const Changing&) = delete;

 private:
  sigset_t before_;
};

// So that a forked child finds nothing half changed.
sigset_t forking_thread_has;
void before_fork() {
  sigset_t mask;
  begin_change(mask);
  forking_thread_has = mask;
}
void after_fork() { end_change(forking_thread_has); }
void in_child() {
  owner = getpid();
  after_fork();
}

bool is_function(const Action& action) {
  return (action.sa_flags & SA_SIGINFO) != 0 ||
         (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN);
}

// What the system would do if the program's action were its own.
void pass_on(int number, siginfo_t* info, void* context) {
  Action action;
  {
    const Changing changes;
    action = programs;
    if ((action.sa_flags & SA_RESETHAND) != 0) programs = {};
  }
  if (is_function(action)) {
    sigset_t before;
    sigdelset(&action.sa_mask, SIGSEGV);  // it may use remote memory
    next_pthread_sigmask(SIG_BLOCK, &action.sa_mask, &before);
    if ((action.sa_flags & SA_SIGINFO) != 0) {
      action.sa_sigaction(number, info, context);
    } else {
      action.sa_handler(number);
    }
    next_pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return;
  }
  const bool sent = info->si_code <= 0;  // by somebody, so that it does not come again
  if (sent && action.sa_handler == SIG_IGN) return;
  const Action default_action{};
  next_sigaction(number, &default_action, nullptr);
  if (sent) raise(number);
}

// As which Atoll sees the program's.
Action for_atoll() {
  Action action{};
  action.sa_sigaction = pass_on;
  action.sa_flags = SA_SIGINFO;
  return action;
}

int change_programs(const Action* action, Action& before) {
  if (!atoll_has_it) return next_sigaction(SIGSEGV, action, &before);
  before = programs;
  if (action != nullptr && getpid() == owner) programs = *action;
  return 0;
}

int change_atolls(const Action* action, Action& before) {
  const bool gives_back = action != nullptr && action->sa_sigaction == pass_on;
  const int failed = next_sigaction(SIGSEGV, gives_back ? &programs : action, &before);
  if (failed != 0) return failed;
  const Action systems = before;
  if (!atoll_has_it) before = for_atoll();
  if (action == nullptr) return 0;
  if (!atoll_has_it && !gives_back) programs = systems;
  atoll_has_it = !gives_back;
  return 0;
}

int change(const Action* action, Action* before) {
  Action wanted{}, was;
  if (action != nullptr) wanted = *action;  // which may be remote, as `before` may be
  int failed;
  {
    const Changing changes;
    const Action* const given = action != nullptr ? &wanted : nullptr;
    failed = Inside::now() ? change_atolls(given, was) : change_programs(given, was);
  }
  if (failed == 0 && before != nullptr) *before = was;
  return failed;
}

int set_action(int number, const Action* action, Action* before) {
  if (!enabled()) return next_sigaction(number, action, before);
  if (number == SIGSEGV) return change(action, before);
  if (action == nullptr) return next_sigaction(number, action, before);
  Action without = *action;
  sigdelset(&without.sa_mask, SIGSEGV);
  return next_sigaction(number, &without, before);
}

Handler set_handler(Handler handler, int flags) {
  if (handler == SIG_ERR) {
    errno = EINVAL;
    return SIG_ERR;
  }
  Action action{}, before;
  action.sa_handler = handler;
  action.sa_flags = flags;
  return change(&action, &before) == 0 ? before.sa_handler : SIG_ERR;
}

Handler set_signal(int number, Handler handler) {
  if (number != SIGSEGV || !enabled()) return next_signal(number, handler);
  return set_handler(handler, SA_RESTART);
}

Handler set_sysv_signal(int number, Handler handler) {
  if (number != SIGSEGV || !enabled()) return next_sysv_signal(number, handler);
  return set_handler(handler, SA_RESETHAND | SA_NODEFER);
}

// SIGSEGV is never held.
Handler set_or_hold(int number, Handler handler) {
  if (number != SIGSEGV || !enabled()) return next_sigset(number, handler);
  if (handler != SIG_HOLD) return set_handler(handler, 0);
  Action now;
  return change(nullptr, &now) == 0 ? now.sa_handler : SIG_ERR;
}

int ignore(int number) {
  if (number != SIGSEGV || !enabled()) return next_sigignore(number);
  return set_handler(SIG_IGN, 0) == SIG_ERR ? -1 : 0;
}

}  // namespace

void enable() {
  // All are found now: they are called in handlers, too.
  sigset_t mask;
  Action action;
  next_pthread_sigmask(SIG_BLOCK, nullptr, &mask);
  next_sigaction(SIGSEGV, nullptr, &action);
  next_signal(0, SIG_DFL);
  next_sysv_signal(0, SIG_DFL);
  // The parent process may have blocked it.
  sigemptyset(&mask);
  sigaddset(&mask, SIGSEGV);
  next_pthread_sigmask(SIG_UNBLOCK, &mask, nullptr);
  owner = getpid();
  pthread_atfork(before_fork, after_fork, in_child);
  is_enabled.store(true);
}

}  // namespace remote_malloc::handlers

REMOTE_MALLOC_WRAPPER int sigaction(int number, const struct sigaction* action,
                                    struct sigaction* before) noexcept {
  return remote_malloc::handlers::set_action(number, action, before);
}
REMOTE_MALLOC_WRAPPER int __sigaction(int number, const struct sigaction* action,
                                      struct sigaction* before) noexcept {
  return remote_malloc::handlers::set_action(number, action, before);
}
REMOTE_MALLOC_WRAPPER void (*signal(int number, void (*handler)(int)) noexcept)(int) {
  return remote_malloc::handlers::set_signal(number, handler);
}
REMOTE_MALLOC_WRAPPER void (*bsd_signal(int number, void (*handler)(int)) noexcept)(int) {
  return remote_malloc::handlers::set_signal(number, handler);
}
REMOTE_MALLOC_WRAPPER void (*ssignal(int number, void (*handler)(int)) noexcept)(int) {
  return remote_malloc::handlers::set_signal(number, handler);
}
REMOTE_MALLOC_WRAPPER void (*sysv_signal(int number, void (*handler)(int)) noexcept)(int) {
  return remote_malloc::handlers::set_sysv_signal(number, handler);
}
REMOTE_MALLOC_WRAPPER void (*__sysv_signal(int number, void (*handler)(int)) noexcept)(int) {
  return remote_malloc::handlers::set_sysv_signal(number, handler);
}
REMOTE_MALLOC_WRAPPER void (*sigset(int number, void (*handler)(int)) noexcept)(int) {
  return remote_malloc::handlers::set_or_hold(number, handler);
}
REMOTE_MALLOC_WRAPPER int sigignore(int number) noexcept { return remote_malloc::handlers::ignore(number); }
