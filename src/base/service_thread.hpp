// SPDX-License-Identifier: BSD-3-Clause
// Threads of the library's own.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <thread>
#include <utility>

namespace shm {

/// Runs `body` on a thread that takes none of the program's signals.  `name`, of at most 15 characters, is
/// what debuggers show.  Throws what std::thread does when there are no threads left.
template <class Body>
std::thread start_service_thread(const char* name, Body body) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // inherited
  struct Restore {
    const sigset_t& mask;
    ~Restore() { pthread_sigmask(SIG_SETMASK, &mask, nullptr); }
  } const restore{before};
  std::thread thread(std::move(body));
  pthread_setname_np(thread.native_handle(), name);
  return thread;
}

}  // namespace shm
