// SPDX-License-Identifier: BSD-3-Clause
// Libraries of the installation that are loaded where a variable asks for what they do.
#pragma once

namespace shm {

/// Loads `name`, which lies beside this library, and never unloads it: calls go through it from now on. Null:
/// a line has said why `variable` has no effect.
void* load_tool_library(const char* name, const char* variable);

}  // namespace shm
