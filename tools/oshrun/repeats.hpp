// SPDX-License-Identifier: BSD-3-Clause
// A mistake in a setting or a call is often every PE's mistake: the library's line about it is worth reading
// once. Used by the main loop only: not thread safe.
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "roster.hpp"

namespace oshrun {

/// Passes on what PEs write to standard error, but for the library's lines ("atoll: ...") that another PE has
/// just said in the same words, whatever the addresses; who has said them follows in one line.
class Repeats {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Repeats(const Roster& roster) : roster_(roster) {}

  /// Processes that say the same within this time of each other say it together.
  static constexpr std::chrono::milliseconds kTogether{500};

  /// `text` of `rank`, whole lines but for the last, without the lines that repeat another's.
  std::string first_of(int rank, std::string_view text, Clock::time_point now);

  /// When summary() has something to say or to forget.
  std::optional<Clock::time_point> deadline() const;
  /// Lines that say which processes have repeated what was said before `until`, which is then forgotten.
  std::vector<std::string> summary(Clock::time_point until);

 private:
  struct Said {
    int first = 0;
    std::set<int> others;
    Clock::time_point forget_at;
  };
  using Texts = std::map<std::string, Said, std::less<>>;  // by text without the name of who says it, and addresses
  bool repeats(int rank, std::string_view line, Clock::time_point now);

  Roster roster_;
  Texts said_;
  std::deque<Texts::iterator> in_order_;  // of time
};

}  // namespace oshrun
