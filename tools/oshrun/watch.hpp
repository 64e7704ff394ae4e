// SPDX-License-Identifier: BSD-3-Clause
// Keeps a time limit for another command. Main thread only, and the only thread.
#pragma once

#include <functional>

#include "time_limit.hpp"

namespace oshrun {

/// `exit_code` is the command's, 128 + n where signal n has ended it, or 124 where the limit has. `error` is
/// an errno: it could not be started.
struct Watched {
  int exit_code = 0;
  int error = 0;
};

/// Forks a process that calls `become`, which executes the command or returns an exit code, and waits for it.
///
/// The command is in the process group of this process, so it may use the terminal, and what is signalled to
/// the group (keys, `kill %1`) reaches both. Signals to this process alone are passed on, up to half a second later,
/// so the command gets each of both kinds once (witness.hpp). It gets SIGTERM if this process is killed.
Watched watch(const TimeLimit& time, const std::function<int()>& become);

}  // namespace oshrun
