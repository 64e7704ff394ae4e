// SPDX-License-Identifier: BSD-3-Clause
// Read-ahead: which pages will be wanted next, judged from those that were.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "pages/page_word.hpp"

namespace shm::pages {

/// Finds sequences of pages, several at a time, and looks the further ahead the longer they go on.  Two pages
/// one behind the other begin a sequence; so do four with another distance between them, backward too, if
/// they come in regular turns, as less is chance wherever pages of a small range are used at random.  Where
/// many other pages came between the two, a third must follow: among many pages that were used at random
/// there is always one before this one.  Pure.
class ReadAhead {
 public:
  /// The last pages may lie outside of all memory.
  using Range = PageRange;

  explicit ReadAhead(std::uint64_t most_ahead) : most_ahead_(most_ahead) {}

  /// A sequence begins with page `page`.  Returns the pages to be brought now.
  Range begin(PageNumber page) {
    oldest() = {page, 1, most_ahead_, most_ahead_, ++clock_};
    return {page, 1, most_ahead_};
  }

  /// Page `page` is used.  Returns the pages to be brought now; each is returned once for a sequence.
  Range use(PageNumber page) {
    awaited_ = {};
    for (Sequence& sequence : sequences_) {
      if (sequence.used == 0 || !goes_on(sequence, page)) continue;
      if (is_chance(sequence)) return {};
      return look_further(sequence);
    }
    const std::int64_t stride = stride_to(page);
    recent_[recent_count_++ % recent_.size()] = page;
    if (stride != 0) return look_further(oldest() = {at(page, stride), stride, 0, 0, 0});
    oldest() = {page + 1, 1, 0, 0, ++clock_};
    return {};
  }

  /// The pages that have been asked for in the sequence of the page that was used last, the next one first.
  const Range& awaited() const { return awaited_; }

 private:
  struct Sequence {
    PageNumber next = 0;  // expected
    std::int64_t step = 1;
    std::uint64_t asked = 0;  // how many from `next` on have been asked for
    std::uint64_t depth = 0;
    std::uint64_t used = 0;  // when; 0: never
    bool has_gone_on = false;
  };
  static constexpr std::uint64_t kFewPages = 8;
  static constexpr std::int64_t kLongestStride = 64;
  static constexpr std::uint64_t kMostTurns = 4;

  // Far from all pages.
  static constexpr std::array<PageNumber, 16> nowhere() {
    std::array<PageNumber, 16> pages{};
    pages.fill(~PageNumber{0} / 2);
    return pages;
  }

  static PageNumber at(PageNumber page, std::int64_t distance) {
    return page + static_cast<PageNumber>(distance);
  }

  Sequence& oldest() { return *std::ranges::min_element(sequences_, {}, &Sequence::used); }

  // Whether `page` is the next one, or one of those asked for, or the first behind these.
  static bool goes_on(Sequence& sequence, PageNumber page) {
    const auto distance = static_cast<std::int64_t>(page - sequence.next);
    if (distance % sequence.step != 0 || distance / sequence.step < 0) return false;
    const auto passed = static_cast<std::uint64_t>(distance / sequence.step);
    if (passed > sequence.asked) return false;
    sequence.next = at(page, sequence.step);
    sequence.asked -= std::min(sequence.asked, passed + 1);
    return true;
  }

  // Whether a page that goes on with the sequence may do so by chance.  A second one does not.
  bool is_chance(Sequence& sequence) {
    const bool chance = !sequence.has_gone_on && sequence.depth == 0 && clock_ - sequence.used > kFewPages;
    sequence.has_gone_on = true;
    if (chance) sequence.used = ++clock_;
    return chance;
  }

  Range look_further(Sequence& sequence) {
    sequence.used = ++clock_;
    sequence.depth = std::min(most_ahead_, std::max<std::uint64_t>(1, sequence.depth * 2));
    const std::uint64_t before = sequence.asked;
    sequence.asked = std::max(before, sequence.depth);
    awaited_ = {sequence.next, sequence.step, sequence.asked};
    const PageNumber first = at(sequence.next, static_cast<std::int64_t>(before) * sequence.step);
    return {first, sequence.step, sequence.asked - before};
  }

  // With which step three recent pages lead to this one; 0: with none.  Where several sequences take turns,
  // each has every second, third or fourth page.
  std::int64_t stride_to(PageNumber page) const {
    for (std::uint64_t turns = 1; turns <= kMostTurns; ++turns) {
      const PageNumber before = recent(turns);
      const auto step = static_cast<std::int64_t>(page - before);
      if (step == 0 || step > kLongestStride || step < -kLongestStride) continue;
      if (recent(2 * turns) == at(before, -step) && recent(3 * turns) == at(before, -2 * step)) return step;
    }
    return 0;
  }
  PageNumber recent(std::uint64_t ago) const { return recent_[(recent_count_ - ago) % recent_.size()]; }

  std::array<Sequence, 32> sequences_;             // a program that merges reads as many as it has runs
  std::array<PageNumber, 16> recent_ = nowhere();  // pages that no sequence awaited
  std::uint64_t recent_count_ = 0;
  Range awaited_;
  const std::uint64_t most_ahead_;
  std::uint64_t clock_ = 0;
};

}  // namespace shm::pages
