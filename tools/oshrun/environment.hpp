// SPDX-License-Identifier: BSD-3-Clause
// The environment of the job's processes, and where a program is found in it. These functions read and change
// the environment of this process: main thread only, before any other thread exists.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "options.hpp"

namespace oshrun {

/// Prepares this process's environment for the job that will be forked from it: the job's own variables, and
/// nothing of an outer PMIx job (a launcher inside srun or mpirun).
void prepare_environment(const Options& options, const std::string& job_id);

/// A PE that a debugger holds is silent for as long as a person thinks: what limits that is off, unless the
/// user sets it.
void let_debuggers_take_their_time();

/// Applies the `-x` of one program to this process (called in the forked process).
void apply_settings(const std::vector<EnvSetting>& settings);

/// The names given as `-x NAME` that have no value to pass on.
std::vector<std::string> missing_settings(const Options& options);
/// The line that says so.
std::string missing_setting(const std::string& name);

/// `tunables` (the value of GLIBC_TUNABLES, may be empty) with the room for static TLS that the library needs
/// when it is loaded late; a value the user chose stays.
std::string with_static_tls(std::string_view tunables);

/// Has valgrind and the sanitizers say nothing of what other libraries never free, and the like, by the files
/// in `folder`. Where the user names suppressions for one of them, that stays as it is. Returns lines about
/// what cannot be named: valgrind's options end at blanks, which matters only to programs that it runs.
std::vector<std::string> suppress_others_errors(const std::string& folder, const std::vector<App>& apps);

/// The outcome of looking for a program as a shell in the PEs' directory would. `error` is an errno, 0 if
/// found.
struct ProgramPath {
  std::string path;
  int error = 0;
};
ProgramPath find_program(const App& app);

/// Exit codes of shells: 127 not found, 126 found but not to be executed.
int exec_exit_code(int error);

/// Of this host.
std::string host_name();

}  // namespace oshrun
