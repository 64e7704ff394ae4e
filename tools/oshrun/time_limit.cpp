// SPDX-License-Identifier: BSD-3-Clause
#include "time_limit.hpp"

#include "words.hpp"

namespace oshrun {
namespace {

constexpr const char* kMode = "--run-within";

/// For longer than engines need to end a job whose processes do not listen: srun waits 32 s for them.
constexpr std::chrono::seconds kKillEngineAfter{60};

}  // namespace

std::vector<std::string> run_within(const std::string& oshrun, std::chrono::milliseconds limit) {
  return {oshrun, kMode, in_seconds(limit), in_seconds(kKillEngineAfter)};
}

bool is_run_within(const std::vector<std::string>& words) { return !words.empty() && words.front() == kMode; }

TimeLimit parse_run_within(const std::vector<std::string>& words) {
  TimeLimit result;
  const auto limit = words.size() > 1 ? seconds(words[1]) : std::nullopt;
  const auto kill_after = words.size() > 2 ? seconds(words[2]) : std::nullopt;
  if (!limit || !kill_after || words.size() < 4) {
    result.error =
        std::string("oshrun: ") + kMode +
        ": give it as 'oshrun --dry-run --timeout SECONDS' prints it: seconds, seconds and a command";
    return result;
  }
  return {*limit, *kill_after, {words.begin() + 3, words.end()}, {}};
}

std::string time_is_up(std::chrono::milliseconds limit) {
  return "oshrun: the job has not ended within " + in_seconds(limit) + " s (--timeout); the job ends";
}

}  // namespace oshrun
