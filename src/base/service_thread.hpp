// SPDX-License-Identifier: BSD-3-Clause
// Threads of the library's own, and which signals threads take.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <initializer_list>
#include <system_error>
#include <thread>
#include <utility>

#include "base/fatal.hpp"
#include "base/limits.hpp"

namespace shm {

/// Signals that a thread raises by what it does itself: one that is blocked ends the process.
inline constexpr std::initializer_list<int> kOwnFaults = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};

/// While this lives the calling thread takes no signals, and threads that it starts never do.
class SignalsBlocked {
 public:
  /// `but`: with these nothing changes.
  SignalsBlocked(std::initializer_list<int> but = {}) {
    sigset_t others;
    sigfillset(&others);
    for (const int signal : but) sigdelset(&others, signal);
    pthread_sigmask(SIG_BLOCK, &others, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

/// Runs `body` on a thread that takes none of the program's signals but those of kOwnFaults: so a fault of its
/// own ends the process with a report, like any other thread's.  `name`, of at most 15 characters, is
/// what debuggers show.  Throws what std::thread does when there are no threads left.
template <class Body>
std::thread start_service_thread(const char* name, Body body) {
  const SignalsBlocked blocked(kOwnFaults);
  std::thread thread(std::move(body));
  pthread_setname_np(thread.native_handle(), name);
  return thread;
}

/// The same; the job ends with a line where there are no threads left.
template <class Body>
std::thread start_needed_thread(const char* name, Body body) {
  try {
    return start_service_thread(name, std::move(body));
  } catch (const std::system_error&) {
    fatal("the library's thread %s cannot be started%s", name, limit_of_threads().c_str());
  }
}

}  // namespace shm
