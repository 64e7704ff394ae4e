// SPDX-License-Identifier: BSD-3-Clause
#include "nvm/storage/store_space.hpp"

#include <algorithm>
#include <bit>

namespace shm::nvm {
namespace {

constexpr std::uint64_t kWord = 64;

bool test(const std::vector<std::uint64_t>& bits, std::uint64_t at) {
  return ((bits[at / kWord] >> (at % kWord)) & 1) != 0;
}

void set(std::vector<std::uint64_t>& bits, std::uint64_t first, std::uint64_t n) {
  for (const std::uint64_t last = first + n; first < last;) {
    const std::uint64_t here = std::min(kWord - first % kWord, last - first);
    bits[first / kWord] |= (~std::uint64_t{0} >> (kWord - here)) << (first % kWord);
    first += here;
  }
}

void clear(std::vector<std::uint64_t>& bits, std::uint64_t at) {
  bits[at / kWord] &= ~(std::uint64_t{1} << (at % kWord));
}

// The first of [at, end) whose bit is `value`, or end.  `word_of` gives the words.
template <class F>
std::uint64_t seek(const F& word_of, std::uint64_t at, std::uint64_t end, bool value) {
  while (at < end) {
    const std::uint64_t word = (value ? word_of(at / kWord) : ~word_of(at / kWord)) >> (at % kWord);
    if (word != 0) return std::min(end, at + static_cast<std::uint64_t>(std::countr_zero(word)));
    at = (at / kWord + 1) * kWord;
  }
  return end;
}

std::uint64_t seek(const std::vector<std::uint64_t>& bits, std::uint64_t at, std::uint64_t end, bool value) {
  return seek([&](std::uint64_t word) { return bits[word]; }, at, end, value);
}

}  // namespace

Space::Space(std::uint64_t places)
    : places_(places),
      live_((places + kWord - 1) / kWord),
      new_(live_),
      old_(live_),
      busy_(live_),
      roomy_(live_) {}

bool Space::take(std::uint64_t n, std::uint64_t room, std::vector<Run>& runs) {
  lowest_ = seek(busy_, lowest_, places_, false);
  room = std::min(room, places_);
  return take_one_run(n, lowest_, room, runs) || take_what_is_there(n, room, runs) ||
         take_one_run(n, std::max(room, lowest_), places_, runs) || take_what_is_there(n, places_, runs);
}

bool Space::take_one_run(std::uint64_t n, std::uint64_t first, std::uint64_t last, std::vector<Run>& runs) {
  while (first < last) {
    first = seek(busy_, first, last, false);
    const std::uint64_t end = seek(busy_, first, std::min(last, first + n), true);
    if (end - first == n) {
      runs.push_back({first, n});
      mark(runs.back());
      return true;
    }
    first = end;
  }
  return false;
}

bool Space::take_what_is_there(std::uint64_t n, std::uint64_t last, std::vector<Run>& runs) {
  std::vector<Run> found;
  for (std::uint64_t at = lowest_; n > 0;) {
    at = seek(busy_, at, last, false);
    if (at >= last) return false;
    const std::uint64_t end = seek(busy_, at, std::min(last, at + n), true);
    found.push_back({at, end - at});
    n -= end - at;
    at = end;
  }
  for (const Run& run : found) mark(run);
  runs.insert(runs.end(), found.begin(), found.end());
  return true;
}

void Space::mark(const Run& run) {
  set(live_, run.first, run.n);
  set(busy_, run.first, run.n);
  set(roomy_, run.first, run.n);
}

bool Space::take_this(std::uint64_t place) {
  if (test(live_, place)) return false;
  mark({place, 1});
  return true;
}

void Space::drop(std::uint64_t place) {
  clear(live_, place);
  if (test(new_, place) || test(old_, place)) return;
  clear(busy_, place);
  lowest_ = std::min(lowest_, place);
}

bool Space::fresh(std::uint64_t place) const {
  return test(live_, place) && !test(new_, place) && !test(old_, place);
}

void Space::prepared() { new_ = live_; }

void Space::settled() {
  old_ = new_;
  std::ranges::fill(new_, 0);
  for (std::size_t i = 0; i < busy_.size(); ++i) busy_[i] = live_[i] | old_[i];
  lowest_ = 0;
}

std::vector<Space::Run> Space::surplus(std::uint64_t room) {
  std::vector<Run> found;
  const auto unused = [&](std::uint64_t word) { return roomy_[word] & ~busy_[word]; };
  for (std::uint64_t at = seek(unused, room, places_, true); at < places_;) {
    const std::uint64_t end = seek(unused, at, places_, false);
    found.push_back({at, end - at});
    at = seek(unused, end, places_, true);
  }
  for (const Run& run : found) {
    for (std::uint64_t at = run.first; at < run.first + run.n; ++at) clear(roomy_, at);
  }
  return found;
}

std::vector<Space::Run> Space::free_runs(std::uint64_t first, std::uint64_t last) const {
  std::vector<Run> found;
  for (std::uint64_t at = seek(busy_, first, last, false); at < last;) {
    const std::uint64_t end = seek(busy_, at, last, true);
    found.push_back({at, end - at});
    at = seek(busy_, end, last, false);
  }
  return found;
}

}  // namespace shm::nvm
