// SPDX-License-Identifier: BSD-3-Clause
// The time limit of a job that an engine starts: what engines have for it counts in other units and has exit
// codes of its own. oshrun keeps it in a mode of its own, in which it watches over any command (watch.hpp):
//
//     oshrun --run-within SECONDS KILL-AFTER COMMAND [ARGUMENT]...
//
// So the command that starts the job is one line for a shell still (--dry-run). Pure; thread safe.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace oshrun {

/// `command` may run for `limit`. Then it gets SIGTERM, and SIGKILL `kill_after` later. `error` is empty, or
/// one line: the words were not understood.
struct TimeLimit {
  std::chrono::milliseconds limit{};
  std::chrono::milliseconds kill_after{};
  std::vector<std::string> command;
  std::string error;
};

/// The words before an engine's command that keep the limit; `oshrun` is the launcher's path.
std::vector<std::string> run_within(const std::string& oshrun, std::chrono::milliseconds limit);

/// Whether the words after the launcher's name ask for this mode.
bool is_run_within(const std::vector<std::string>& words);
TimeLimit parse_run_within(const std::vector<std::string>& words);

/// The line at the limit, whoever keeps it.
std::string time_is_up(std::chrono::milliseconds limit);

inline constexpr int kExitTimeIsUp = 124;

}  // namespace oshrun
