// SPDX-License-Identifier: BSD-3-Clause
// The C library's mask of signals, for handlers.cpp, which must hold back SIGSEGV, too.
#pragma once

#include <signal.h>

#include "next.hpp"

namespace remote_malloc::masks {

inline constinit Next<int(int, const sigset_t*, sigset_t*)> next_pthread_sigmask("pthread_sigmask");

}  // namespace remote_malloc::masks
