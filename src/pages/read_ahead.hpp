// SPDX-License-Identifier: BSD-3-Clause
// Read-ahead: which pages will be wanted next, judged from those that were.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "pages/pool.hpp"

namespace shm::pages {

/// Finds sequences of pages, several at a time, and looks the further ahead the longer they go on.  Pure.
class ReadAhead {
 public:
  struct Range {
    PageNumber first = 0, last = 0;  // without `last`
  };

  explicit ReadAhead(std::uint64_t most_ahead) : most_ahead_(most_ahead) {}

  /// A sequence begins with page `page`.  Returns the pages to be brought now.
  Range begin(PageNumber page) {
    Sequence& oldest = *std::ranges::min_element(sequences_, {}, &Sequence::used);
    oldest = {page, page + most_ahead_, most_ahead_, ++clock_};
    return {page, page + most_ahead_};
  }

  /// Page `page` is used.  Returns the pages to be brought now; each is returned once for a sequence.
  Range use(PageNumber page) {
    for (Sequence& sequence : sequences_) {
      if (sequence.used == 0 || page < sequence.next || page > sequence.asked) continue;
      sequence.depth = std::min(most_ahead_, std::max<std::uint64_t>(1, sequence.depth * 2));
      sequence.next = page + 1;
      const Range range{std::max(sequence.asked, sequence.next), sequence.next + sequence.depth};
      sequence.asked = std::max(range.first, range.last);
      sequence.used = ++clock_;
      return range.first < range.last ? range : Range{};
    }
    Sequence& oldest = *std::ranges::min_element(sequences_, {}, &Sequence::used);
    oldest = {page + 1, page + 1, 0, ++clock_};
    return {};
  }

 private:
  struct Sequence {
    PageNumber next = 0;   // expected
    PageNumber asked = 0;  // the first that has not been asked for
    std::uint64_t depth = 0;
    std::uint64_t used = 0;  // when; 0: never
  };
  std::array<Sequence, 8> sequences_;
  const std::uint64_t most_ahead_;
  std::uint64_t clock_ = 0;
};

}  // namespace shm::pages
