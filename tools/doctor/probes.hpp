// SPDX-License-Identifier: BSD-3-Clause
// What the system says, and does when it is tried.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "finding.hpp"

namespace doctor {

/// Of this process: hard or soft limit.
Limit limit_of(int resource, bool hard);

std::string read_text(const char* path);  ///< empty: cannot be read
std::optional<int> read_number(const char* path);
/// The program of this name in PATH; empty: there is none.
std::string in_path(const std::string& name);

struct SharedFolder {
  bool there;
  std::size_t free;
};
SharedFolder look_at_shared_folder();

/// What a process may do to another one of this user's that is no child of its.
struct Reach {
  bool trace, read_memory;
  std::string why_not;  ///< to read its memory
};
Reach reach_of_processes();

/// Empty: permitted.
std::string why_no_io_uring();

/// Writes a file in the folder and reads it, for half a second each or 64 MiB, and takes it away.
FolderSpeed measure_folder(const std::string& folder);

}  // namespace doctor
