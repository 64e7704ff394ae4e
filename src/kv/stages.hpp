// SPDX-License-Identifier: BSD-3-Clause
// Many keys of one call, whose memory comes while others are worked on.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

namespace shm::kv {

/// As many lines come from memory at the same time.
inline constexpr std::size_t kKeysOfStage = 32;

/// ask_home(i, key), ask_slot(i, key) and use(i, key) for each i below n, each of them in order; `key` is
/// what the first keeps of it for the others.  A key's home is asked for long before its slot, and that long
/// before both are used.  Until use() returns false.
template <class Key, class AskHome, class AskSlot, class Use>
[[gnu::always_inline]] inline void in_stages(std::size_t n, AskHome ask_home, AskSlot ask_slot, Use use) {
  std::array<Key, 4 * kKeysOfStage> ring;  // a power of two; what is under way takes three
  const auto each = [&](std::size_t first, auto f) __attribute__((always_inline)) {
    if (first >= n) return true;  // as what is before the first is, too
    Key* keys = &ring[first % ring.size()];
    const std::size_t these = std::min(n - first, kKeysOfStage);
#pragma GCC unroll 4
    for (std::size_t i = 0; i < these; ++i)
      if (!f(first + i, keys[i])) return false;
    return true;
  };
  const auto always = [](auto f) {
    return [f](std::size_t i, Key & key) __attribute__((always_inline)) { return f(i, key), true; };
  };
  for (std::size_t first = 0; first < n + 2 * kKeysOfStage; first += kKeysOfStage) {
    each(first, always(ask_home));
    each(first - kKeysOfStage, always(ask_slot));
    if (!each(first - 2 * kKeysOfStage, use)) return;
  }
}

}  // namespace shm::kv
