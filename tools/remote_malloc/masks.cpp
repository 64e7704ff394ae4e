// SPDX-License-Identifier: BSD-3-Clause
// Masks of signals, without SIGSEGV: the system ends a process that faults while it is blocked, and the fault
// may be a page that has to come.
#include "masks.hpp"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>

#include "handlers.hpp"
#include "next.hpp"

namespace remote_malloc {
namespace {

constinit Next<int(int, const sigset_t*, sigset_t*)> next_sigprocmask("sigprocmask");
constinit Next<int(const sigset_t*)> next_sigsuspend("sigsuspend");
constinit Next<int(pollfd*, nfds_t, const timespec*, const sigset_t*)> next_ppoll("ppoll");
constinit Next<int(int, fd_set*, fd_set*, fd_set*, const timespec*, const sigset_t*)> next_pselect("pselect");
constinit Next<int(int, epoll_event*, int, int, const sigset_t*)> next_epoll_pwait("epoll_pwait");
constinit Next<int(int, epoll_event*, int, const timespec*, const sigset_t*)> next_epoll_pwait2(
    "epoll_pwait2");
constinit Next<int(int)> next_sigblock("sigblock"), next_sigsetmask("sigsetmask");
constinit Next<int(int)> next_sighold("sighold");
constinit Next<int(pthread_attr_t*, const sigset_t*)> next_attr_setsigmask("pthread_attr_setsigmask_np");

// What the system gets of a mask; null stays null.
class Without {
 public:
  explicit Without(const sigset_t* mask) : given_(mask) {
    if (given_ == nullptr || !handlers::enabled()) return;
    mask_ = *mask;
    sigdelset(&mask_, SIGSEGV);
    given_ = &mask_;
  }
  Without(const Without&) = delete;
  Without& operator=(const Without&) = delete;
  const sigset_t* get() const { return given_; }

 private:
  const sigset_t* given_;
  sigset_t mask_;
};

// As sets of 32 signals, of old.
int without(int mask) { return handlers::enabled() ? mask & ~(1 << (SIGSEGV - 1)) : mask; }

// `before` may be remote.
int set_mask(Next<int(int, const sigset_t*, sigset_t*)>& next, int how, const sigset_t* mask,
             sigset_t* before) {
  sigset_t was;
  const int failed = how == SIG_UNBLOCK ? next(how, mask, &was) : next(how, Without(mask).get(), &was);
  if (failed == 0 && before != nullptr) *before = was;
  return failed;
}

}  // namespace
}  // namespace remote_malloc

using namespace remote_malloc;

REMOTE_MALLOC_WRAPPER int sigprocmask(int how, const sigset_t* mask, sigset_t* before) noexcept {
  return set_mask(next_sigprocmask, how, mask, before);
}
REMOTE_MALLOC_WRAPPER int pthread_sigmask(int how, const sigset_t* mask, sigset_t* before) noexcept {
  return set_mask(masks::next_pthread_sigmask, how, mask, before);
}
REMOTE_MALLOC_WRAPPER int sigblock(int mask) noexcept { return next_sigblock(without(mask)); }
REMOTE_MALLOC_WRAPPER int sigsetmask(int mask) noexcept { return next_sigsetmask(without(mask)); }
REMOTE_MALLOC_WRAPPER int sighold(int number) noexcept {
  return number == SIGSEGV && handlers::enabled() ? 0 : next_sighold(number);
}
// Of threads to come.
REMOTE_MALLOC_WRAPPER int pthread_attr_setsigmask_np(pthread_attr_t* attributes, const sigset_t* mask) {
  return next_attr_setsigmask(attributes, Without(mask).get());
}

// Masks for the length of a call, which handlers run with.
REMOTE_MALLOC_WRAPPER int sigsuspend(const sigset_t* mask) { return next_sigsuspend(Without(mask).get()); }
REMOTE_MALLOC_WRAPPER int ppoll(pollfd* polled, nfds_t count, const timespec* limit, const sigset_t* mask) {
  return next_ppoll(polled, count, limit, Without(mask).get());
}
REMOTE_MALLOC_WRAPPER int pselect(int count, fd_set* read, fd_set* write, fd_set* except,
                                  const timespec* limit, const sigset_t* mask) {
  return next_pselect(count, read, write, except, limit, Without(mask).get());
}
REMOTE_MALLOC_WRAPPER int epoll_pwait(int epoll, epoll_event* events, int most, int milliseconds,
                                      const sigset_t* mask) {
  return next_epoll_pwait(epoll, events, most, milliseconds, Without(mask).get());
}
REMOTE_MALLOC_WRAPPER int epoll_pwait2(int epoll, epoll_event* events, int most, const timespec* limit,
                                       const sigset_t* mask) {
  return next_epoll_pwait2(epoll, events, most, limit, Without(mask).get());
}
