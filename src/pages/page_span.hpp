// SPDX-License-Identifier: BSD-3-Clause
// Which pages a range of bytes lies in.
#pragma once

#include <cstddef>

#include "pages/page_word.hpp"

namespace shm::pages {

/// Pages [first, last).
struct PageSpan {
  PageNumber first, last;

  std::size_t count() const { return last - first; }
  bool meets(const PageSpan& other) const { return first < other.last && other.first < last; }
};

/// Those that lie wholly in [offset, offset + n); if there are none `last` may be less than `first`.
constexpr PageSpan whole_pages(std::size_t offset, std::size_t n, std::size_t page_bytes) {
  return {(offset + page_bytes - 1) / page_bytes, (offset + n) / page_bytes};
}

/// Those of which a part lies there.
constexpr PageSpan touched_pages(std::size_t offset, std::size_t n, std::size_t page_bytes) {
  const PageNumber first = offset / page_bytes;
  return {first, n == 0 ? first : (offset + n - 1) / page_bytes + 1};
}

}  // namespace shm::pages
