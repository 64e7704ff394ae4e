// SPDX-License-Identifier: BSD-3-Clause
// Has debuggers attach to PEs that wait for them.
#pragma once

#include <string>
#include <vector>

#include "children.hpp"
#include "options.hpp"

namespace oshrun {

/// The debugger's path; empty: it is not there, and `error` is a line that says so.
std::string find_debugger(const Debugging& debugging, std::string& error);

/// Opens a window for each rank; or, where there are no windows, tells what to type elsewhere.  Returns the
/// lines for the user.
std::vector<std::string> open_debuggers(const Debugging& debugging, const std::string& path,
                                        const Children& children, const ProcessState& state,
                                        const std::vector<int>& ranks);

/// Whether a debugger has come.
bool has_debugger(pid_t pid);

}  // namespace oshrun
