// SPDX-License-Identifier: BSD-3-Clause
// Handlers of signals that stand before others'.
#pragma once

#include <signal.h>

namespace shm {

/// What a handler with SA_SIGINFO does with a signal that is not its own: `before` is what it has replaced.
/// Async-signal-safe.
inline void pass_on(const struct sigaction& before, int number, siginfo_t* info, void* context) {
  if ((before.sa_flags & SA_SIGINFO) != 0) return before.sa_sigaction(number, info, context);
  if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) return before.sa_handler(number);
  // What has faulted faults again, as if there had never been a handler; a signal that somebody sent does not.
  sigaction(number, &before, nullptr);
  const bool faults = number == SIGSEGV || number == SIGBUS || number == SIGFPE || number == SIGILL;
  if (!faults || info->si_code <= 0) raise(number);
}

}  // namespace shm
