// SPDX-License-Identifier: BSD-3-Clause
// The part of the job's loop that asks who waits for whom: before a job is ended from outside, when somebody
// sends SIGURG, and when a PE has gone while others remain.
#include <algorithm>
#include <cstdio>
#include <string>

#include "job.hpp"

namespace oshrun {
namespace {

/// What waits for less is not worth a word in a job that is merely interrupted.
constexpr double kWorthTelling = 1.0;
/// After a PE has gone it is looked into whether the others are stuck after --stuck-after, and again after
/// times that double up to this many of it.
constexpr int kLongestLook = 16;
/// The part of --stuck-after that all remaining PEs must have waited by then.
constexpr double kStuck = 0.8;

}  // namespace

/// Returns false if there is nobody to ask; a question that is under way goes on, for the new purpose.
bool Job::ask(Asking purpose) {
  if (!inquiry_.deadline()) {
    take_pmix_events();
    std::vector<PeWaits> states(static_cast<std::size_t>(roster_.pes));
    bool anybody = false;
    for (int pe = 0; pe < roster_.pes; ++pe) {
      PeWaits::State& state = states[static_cast<std::size_t>(pe)].state;
      const bool member = policy_.stage(pe) == Stage::kConnected;
      if (children_.at(pe).reaped || policy_.stage(pe) == Stage::kExited) {
        state = PeWaits::State::kEnded;
      } else if (!member) {
        state = PeWaits::State::kFinalized;
      }
      anybody |= state == PeWaits::State::kSilent;
    }
    if (!anybody || inquiry_.fd() < 0) return false;
    inquiry_.begin(std::move(states));
  }
  asking_ = purpose;
  if (inquiry_.done()) conclude_inquiry();  // nobody listens
  return true;
}

/// Like fail(), but first lets the PEs say what they wait for.
void Job::fail_after_asking(int exit_code, const std::string& line, Asking purpose) {
  if (exit_code_) return end(*exit_code_);
  output_.say(line);
  exit_code_ = exit_code;
  if (!ask(purpose)) end(exit_code);
}

void Job::on_answers() {
  inquiry_.take_answers();
  if (inquiry_.anybody_left_early()) watch_the_rest();
  if (inquiry_.deadline() && inquiry_.done()) conclude_inquiry();
}

void Job::conclude_inquiry() {
  const std::vector<PeWaits> pes = inquiry_.finish();
  const double stuck = kStuck * std::chrono::duration<double>(options_.stuck_after).count();
  const double all_waited = all_have_waited(pes);
  const bool worth = asking_ != Asking::kWhetherStuck || (all_waited > 0 && all_waited >= stuck);
  if (worth) {
    const double at_least = asking_ == Asking::kBeforeEnd ? kWorthTelling : 0;
    std::vector<std::string> lines = summarize(pes, at_least);
    if (lines.empty() && at_least == 0) lines.push_back(nobody_waits(pes));
    for (const std::string& line : lines) output_.say("oshrun: " + line);
  }
  switch (asking_) {
    case Asking::kOnRequest: break;
    case Asking::kBeforeTimeout:
    case Asking::kBeforeEnd: end(exit_code_.value_or(1)); break;
    case Asking::kWhetherStuck:
      if (worth) {
        char seconds[32];
        std::snprintf(seconds, sizeof seconds, "%.1f", all_waited);
        output_.say("oshrun: a PE has gone, and all that remain have waited for " + std::string(seconds) +
                    " s; if none of them has a thread that works, nothing can go on: end the job with ^C");
      }
      look_period_ = std::min(2 * look_period_, kLongestLook * options_.stuck_after);
      if (!worth) look_at_ = Clock::now() + look_period_;
      break;
  }
}

/// A PE has gone, or is about to: others that wait for it would do so for ever.
void Job::watch_the_rest() {
  if (look_period_.count() > 0 || exit_code_ || roster_.pes == 1) return;
  look_period_ = options_.stuck_after;
  look_at_ = Clock::now() + look_period_;
}

void Job::check_waits(Clock::time_point now) {
  if (inquiry_.deadline() && *inquiry_.deadline() <= now) conclude_inquiry();
  if (look_at_ && *look_at_ <= now) {
    look_at_.reset();
    if (!exit_code_ && !inquiry_.deadline() && !ask(Asking::kWhetherStuck))
      look_period_ = kLongestLook * options_.stuck_after;
  }
}

}  // namespace oshrun
