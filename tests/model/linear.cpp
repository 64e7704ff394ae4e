// SPDX-License-Identifier: BSD-3-Clause
#include "linear.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

namespace shm::linear {
namespace {

constexpr const char* kNames[kKinds + 1] = {
    "put",    "insert", "update", "insert_or_update", "get_or_insert", "exchange", "get", "contains",
    "remove", "take",   "add",    "upsert",           "compare_swap",  "clear"};
constexpr const char* kOutcomes[] = {"done", "not found", "exists", "mismatch", "inserted"};

bool same_answer(const Operation& a, const Operation& b) {
  return a.outcome == b.outcome && a.seen == b.seen;
}

// Whether it has no effect wherever it takes place, since it has answered what it has.
bool changes_nothing(const Operation& operation) {
  if (operation.returned == kNever) return false;
  if (operation.outcome == Outcome::inserted) return false;
  return operation.outcome != Outcome::done || operation.kind == Kind::get ||
         operation.kind == Kind::contains || operation.kind == Kind::get_or_insert;
}

std::string format(const char* text, std::uint64_t a, std::uint64_t b) {
  char line[128];
  std::snprintf(line, sizeof line, text, a, b);
  return line;
}

std::string describe(const State& state) {
  return state.there ? format("%" PRIx64 "/%" PRIx64, state.value.word, state.value.tag) : "nothing";
}

// Operations are taken one after the other, each time the first that could be next; where none can, the last
// is undone for another.
class Search {
 public:
  Search(std::span<const Operation> history, const State& initial, std::size_t most)
      : history_(history),
        most_(most),
        taken_(history.size()),
        previous_(history.size(), kNone),
        state_(initial) {
    for (std::size_t i = 0; i < history.size(); ++i) order_.push_back(i);
    std::stable_sort(order_.begin(), order_.end(),
                     [&](std::size_t a, std::size_t b) { return history[a].called < history[b].called; });
    std::unordered_map<std::uint32_t, std::size_t> last;
    for (const std::size_t i : order_) {
      const auto [at, is_first] = last.try_emplace(history[i].thread, i);
      if (!is_first) previous_[i] = at->second;
      at->second = i;
      left_ += history[i].returned != kNever;
    }
  }

  Verdict run() {
    stuck();
    while (left_ > 0 && known_.size() < most_) {
      if (advance()) continue;
      stuck();
      if (!undo()) return finish(false, true);
    }
    return finish(left_ == 0, left_ == 0);
  }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};

  struct Step {
    std::size_t place;  // in order_
    std::size_t first;  // before it
    State state;        // before it
    bool only;          // no other needs to be tried instead
  };

  Verdict finish(bool linearizable, bool decided) {
    Verdict verdict{linearizable, decided, known_.size(), {}, {}};
    if (!linearizable) verdict.before = deepest_state_, verdict.part = deepest_;
    return verdict;
  }

  // Remembers what could not go on, if the search has not been as far before.
  void stuck() {
    if (!deepest_.empty() && steps_.size() <= deepest_steps_) return;
    deepest_steps_ = steps_.size();
    deepest_state_ = state_;
    deepest_.clear();
    for (std::size_t place = first_; place < order_.size(); ++place) {
      if (!taken_[order_[place]] && history_[order_[place]].called <= first_return())
        deepest_.push_back(order_[place]);
    }
  }

  // The earliest return of what has not taken effect: only what was called until then can be next.
  std::uint64_t first_return() const {
    std::uint64_t earliest = kNever;
    for (std::size_t place = first_; place < order_.size(); ++place) {
      const Operation& operation = history_[order_[place]];
      if (operation.called > earliest) break;
      if (!taken_[order_[place]]) earliest = std::min(earliest, operation.returned);
    }
    return earliest;
  }

  bool possible(std::size_t i, State& state) const {
    if (taken_[i] || (previous_[i] != kNone && !taken_[previous_[i]])) return false;
    const Operation answer = apply(history_[i], state);
    return history_[i].returned == kNever || same_answer(answer, history_[i]);
  }

  // Lets one more operation take effect, from `next_` on; one that changes nothing goes first and needs no
  // alternative: all that can come later can come after it.
  bool advance() {
    const std::uint64_t until = first_return();
    std::size_t chosen = kNone;
    bool only = false;
    for (std::size_t place = first_; !only && place < order_.size(); ++place) {
      if (history_[order_[place]].called > until) break;
      State after = state_;
      if (!possible(order_[place], after)) continue;
      only = next_ == 0 && changes_nothing(history_[order_[place]]);
      if (only || (chosen == kNone && place >= next_)) chosen = place;
    }
    for (; chosen < order_.size(); chosen = following(chosen, until)) {
      if (take(chosen, only)) return true;
      if (only) return false;
    }
    return false;
  }

  std::size_t following(std::size_t place, std::uint64_t until) const {
    for (++place; place < order_.size() && history_[order_[place]].called <= until; ++place) {
      State after = state_;
      if (possible(order_[place], after)) return place;
    }
    return kNone;
  }

  // False if that leads to where the search has been.
  bool take(std::size_t place, bool only) {
    const std::size_t i = order_[place];
    const Step step{place, first_, state_, only};
    apply(history_[i], state_);
    taken_[i] = true;
    while (first_ < order_.size() && taken_[order_[first_]]) ++first_;
    steps_.push_back(step);
    left_ -= history_[i].returned != kNever;
    next_ = 0;
    if (known_.insert(configuration()).second) return true;
    back();
    return false;
  }

  void back() {
    const Step& step = steps_.back();
    const std::size_t i = order_[step.place];
    taken_[i] = false;
    left_ += history_[i].returned != kNever;
    first_ = step.first;
    state_ = step.state;
    next_ = step.place + 1;
    steps_.pop_back();
  }

  bool undo() {
    while (!steps_.empty()) {
      const bool only = steps_.back().only;
      back();
      if (!only) return true;
    }
    return false;
  }

  // What has been taken and what is there: the number of operations before the first that is not taken, the
  // state, and bits for those behind.
  std::string configuration() const {
    std::string key(reinterpret_cast<const char*>(&first_), sizeof first_);
    if (state_.there) {
      key.append(reinterpret_cast<const char*>(&state_.value.word), 8);
      key.append(reinterpret_cast<const char*>(&state_.value.tag), 8);
    }
    key.push_back(state_.there ? 1 : 0);
    std::size_t left = steps_.size() - first_;
    for (std::size_t place = first_; left > 0; place += 8) {
      unsigned char bits = 0;
      for (std::size_t i = 0; i < 8 && place + i < order_.size(); ++i)
        if (taken_[order_[place + i]]) bits |= static_cast<unsigned char>(1u << i), --left;
      key.push_back(static_cast<char>(bits));
    }
    return key;
  }

  std::span<const Operation> history_;
  std::size_t most_;
  std::vector<bool> taken_;
  std::vector<std::size_t> previous_;  // of the same thread
  std::vector<std::size_t> order_;     // of calls
  std::size_t left_ = 0;               // that have returned and not been taken
  std::size_t first_ = 0;              // in order_: all before are taken
  std::size_t next_ = 0;               // in order_: those before have been tried here
  State state_;
  std::vector<Step> steps_;
  std::unordered_set<std::string> known_;
  std::size_t deepest_steps_ = 0;
  State deepest_state_;
  std::vector<std::size_t> deepest_;
};

// The history until its return number `count`: what has not returned then has answered nothing yet.
std::vector<Operation> beginning(std::span<const Operation> history,
                                 const std::vector<std::uint64_t>& returns, std::size_t count) {
  std::vector<Operation> part(history.begin(), history.end());
  for (Operation& operation : part) {
    if (operation.returned > returns[count - 1]) operation.returned = kNever;
    if (operation.called > returns[count - 1]) operation.called = kNever;
  }
  return part;
}

}  // namespace

Operation apply(const Operation& operation, State& state) {
  Operation answer = operation;
  const bool was_there = state.there;
  const bool makes =
      (stores(operation.kind) && operation.kind != Kind::update) || operation.kind == Kind::upsert;
  const bool is_done = was_there || makes || operation.kind == Kind::clear;
  answer.outcome = is_done ? Outcome::done : Outcome::not_found;
  answer.seen = {};
  if (answer.outcome == Outcome::not_found) return answer;
  switch (operation.kind) {
    case Kind::insert:
      if (was_there) answer.outcome = Outcome::exists;
      if (was_there) break;
      [[fallthrough]];
    case Kind::put:
    case Kind::update: state = {true, operation.argument}; break;
    case Kind::insert_or_update:
    case Kind::get_or_insert:
    case Kind::exchange:
      if (!was_there) answer.outcome = Outcome::inserted;
      if (operation.kind != Kind::insert_or_update) answer.seen = state.value;
      if (!was_there || operation.kind != Kind::get_or_insert) state = {true, operation.argument};
      break;
    case Kind::get: answer.seen = state.value; break;
    case Kind::take:
      answer.seen = state.value;
      state = {};
      break;
    case Kind::contains: break;
    case Kind::clear:
    case Kind::remove: state = {}; break;
    case Kind::upsert:
      if (!was_there) state = {true, {0, kUpserted}};
      [[fallthrough]];
    case Kind::add:
      answer.seen.word = state.value.word;
      state.value.word += operation.argument.word;
      break;
    case Kind::compare_swap:
      answer.seen.word = state.value.word;
      if (state.value.word != operation.expected)
        answer.outcome = Outcome::mismatch;
      else
        state.value.word = operation.argument.word;
      break;
  }
  return answer;
}

Verdict check(std::span<const Operation> history, const State& initial, std::size_t most) {
  const Verdict whole = Search(history, initial, most).run();
  if (whole.linearizable || !whole.decided) return whole;
  std::vector<std::uint64_t> returns;
  for (const Operation& operation : history)
    if (operation.returned != kNever) returns.push_back(operation.returned);
  std::sort(returns.begin(), returns.end());
  // Every beginning of a linearizable history is one.
  std::size_t good = 0, bad = returns.size();
  Verdict found = whole;
  while (bad - good > 1) {
    const std::size_t middle = (good + bad) / 2;
    const Verdict verdict = Search(beginning(history, returns, middle), initial, most).run();
    if (!verdict.decided) break;
    if (verdict.linearizable)
      good = middle;
    else
      bad = middle, found = verdict;
  }
  return found;
}

std::string describe(const Operation& operation) {
  char line[512];
  std::string more = operation.kind == Kind::compare_swap
                         ? format(" %" PRIx64 " -> %" PRIx64, operation.expected, operation.argument.word)
                         : format(" %" PRIx64 "/%" PRIx64, operation.argument.word, operation.argument.tag);
  std::snprintf(line, sizeof line,
                "thread %" PRIu32 " from %" PRIu64 " to %" PRIu64 ": %s%s: %s, saw %" PRIx64 "/%" PRIx64,
                operation.thread, operation.called, operation.returned,
                kNames[static_cast<int>(operation.kind)], more.c_str(),
                kOutcomes[static_cast<int>(operation.outcome)], operation.seen.word, operation.seen.tag);
  return line;
}

std::string describe(std::span<const Operation> history, const Verdict& verdict) {
  if (!verdict.decided) return "given up\n";
  if (verdict.linearizable) return "linearizable\n";
  std::string text = "when there was " + describe(verdict.before) + ", none of these could be next:\n";
  for (const std::size_t i : verdict.part) text += "  " + describe(history[i]) + "\n";
  return text;
}

}  // namespace shm::linear
