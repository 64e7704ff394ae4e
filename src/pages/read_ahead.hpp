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

  /// Page `page` is used.  Returns the pages to be brought now; each is returned once for a sequence.
  Range use(PageNumber page) {
    for (Stream& stream : read_ahead_) {
      if (stream.next == 0 || page < stream.next || page > stream.asked) continue;
      stream.depth = std::min(most_ahead_, std::max<std::uint64_t>(1, stream.depth * 2));
      stream.next = page + 1;
      const Range range{std::max(stream.asked, stream.next), stream.next + stream.depth};
      stream.asked = std::max(range.first, range.last);
      stream.used = ++clock_;
      return range.first < range.last ? range : Range{};
    }
    Stream& oldest = *std::ranges::min_element(read_ahead_, {}, &Stream::used);
    oldest = {page + 1, page + 1, 0, ++clock_};
    return {};
  }

 private:
  struct Stream {
    PageNumber next = 0;   // expected; 0: none
    PageNumber asked = 0;  // the first that has not been asked for
    std::uint64_t depth = 0;
    std::uint64_t used = 0;  // when
  };
  std::array<Stream, 8> read_ahead_;
  const std::uint64_t most_ahead_;
  std::uint64_t clock_ = 0;
};

}  // namespace shm::pages
