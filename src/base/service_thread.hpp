// SPDX-License-Identifier: BSD-3-Clause
// Threads of the library's own, and which signals threads take.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <thread>
#include <utility>

namespace shm {

/// While this lives the calling thread takes no signals, and threads that it starts never do.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

/// While this lives the calling thread takes no signals but those of its own faults and those that ask the
/// process to end.
class SignalsPutOff {
 public:
  SignalsPutOff() {
    sigset_t most;
    sigfillset(&most);
    for (const int other :
         {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGTERM, SIGINT, SIGHUP, SIGQUIT})
      sigdelset(&most, other);
    pthread_sigmask(SIG_BLOCK, &most, &before_);
  }
  ~SignalsPutOff() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsPutOff(const SignalsPutOff&) = delete;
  SignalsPutOff& operator=(const SignalsPutOff&) = delete;

 private:
  sigset_t before_;
};

/// Runs `body` on a thread that takes none of the program's signals.  `name`, of at most 15 characters, is
/// what debuggers show.  Throws what std::thread does when there are no threads left.
template <class Body>
std::thread start_service_thread(const char* name, Body body) {
  const SignalsBlocked blocked;
  std::thread thread(std::move(body));
  pthread_setname_np(thread.native_handle(), name);
  return thread;
}

}  // namespace shm
