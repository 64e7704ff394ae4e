// SPDX-License-Identifier: BSD-3-Clause
// How a debugger gets at a PE: a process of oshrun's that has not executed its program yet, and waits for it.
// Pure; debug_windows.hpp starts it.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "options.hpp"

namespace oshrun {

/// What stands behind --debug=; none: it means nothing.
std::optional<Debugging> debugging_of(const std::string& text);

/// Attaches to the process, lets it execute its program, and stops in main if it is gdb.  `path`: of the
/// debugger.
std::vector<std::string> debugger_command(const std::string& path, const std::string& debugger, pid_t pid);

/// Opens a window named `name` with the command in it: in the session that oshrun runs in, or, if that is not
/// empty, in `session`, which the first command makes.
std::vector<std::string> window_command(const std::string& tmux, const std::string& session, bool first,
                                        const std::string& name, const std::vector<std::string>& command);

/// A process that a debugger has attached to, by the text of /proc/PID/status.
bool is_traced(const std::string& status);

}  // namespace oshrun
