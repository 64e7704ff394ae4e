// SPDX-License-Identifier: BSD-3-Clause
// How long vectors are divided: into a share for each PE, and each share into chunks that stay in the first
// cache.
#pragma once

#include <algorithm>

#include "coll/group.hpp"

namespace shm {

inline constexpr std::size_t kChunk = 8192;  // bytes

struct Share {
  std::size_t begin, end;  // elements
};

/// Share `i` of `parts`.  Shares begin at multiples of a cache line, if the vector does: no two PEs write one
/// line.
inline Share share_of(std::size_t count, std::size_t element, int i, int parts) {
  const std::size_t line = std::max<std::size_t>(kCacheLine / element, 1);
  const std::size_t lines = (count + line - 1) / line;
  const auto cut = [&](int k) {
    return std::min(count, lines * static_cast<std::size_t>(k) / static_cast<std::size_t>(parts) * line);
  };
  return {cut(i), cut(i + 1)};
}

/// Calls f(first element, elements) for each chunk.
template <class F>
void for_chunks(Share share, std::size_t element, F f) {
  const std::size_t step = kChunk / element;
  for (std::size_t at = share.begin; at < share.end; at += step) f(at, std::min(step, share.end - at));
}

/// The local members' copies of a symmetric object, as mapped here.
class Pointers {
 public:
  Pointers(const Group& g, Call call, const char* argument, const void* address, std::size_t n) {
    if (g.local_size() > kFew) more_.resize(static_cast<std::size_t>(g.local_size()));
    at_ = more_.empty() ? few_ : more_.data();
    for (int i = 0; i < g.local_size(); ++i) {
      at_[i] = at_member(g, call, argument, address, n, g.locals()[static_cast<std::size_t>(i)]);
    }
  }
  Pointers(const Pointers&) = delete;
  Pointers& operator=(const Pointers&) = delete;

  std::byte* operator[](int local) const { return at_[local]; }

 private:
  static constexpr int kFew = 32;
  std::byte* few_[kFew];
  std::vector<std::byte*> more_;
  std::byte** at_;
};

}  // namespace shm
