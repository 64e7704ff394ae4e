// SPDX-License-Identifier: BSD-3-Clause
// Which homes of a shard have got or lost elements: told by all who change the shard, on any PE of the node,
// and looked at by the PE that has it.
//
//   count | a byte for each group, padded to 8
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "kv/layout.hpp"

namespace shm::kv {

class Changes {
 public:
  static std::size_t bytes(const ShardLayout& layout) {
    return sizeof(std::uint64_t) + padded(layout.groups);
  }

  /// `memory`: bytes() of zeros at first.
  Changes(std::byte* memory, const ShardLayout& layout)
      : count_(reinterpret_cast<std::uint64_t*>(memory)),
        told_(memory + sizeof(std::uint64_t)),
        homes_(layout.groups),
        words_(padded(layout.groups) / sizeof(std::uint64_t)) {}

  /// After the change.  Any thread.
  void tell(std::uint64_t home) const {
    std::atomic_ref(told_[home]).store(std::byte{1}, std::memory_order_release);
    __atomic_fetch_add(count_, 1, __ATOMIC_RELEASE);
  }

  /// Of every home; before others can see it.
  void tell_all() {
    for (std::size_t home = 0; home < homes_; ++home) told_[home] = std::byte{1};
    *count_ = 1;
  }

  /// f(home) for some homes that have been told since f was last called for them.  Returns whether there were
  /// any.  One thread.
  template <class F>
  bool take(F f) {
    const std::uint64_t count = __atomic_load_n(count_, __ATOMIC_ACQUIRE);
    if (count == seen_ && left_ == 0) return false;
    if (count != seen_) left_ = words_;
    seen_ = count;
    std::size_t some = kAtOnce;
    for (; left_ != 0 && some != 0; --left_, next_ = next_ + 1 == words_ ? 0 : next_ + 1)
      some -= std::min(some, take_word(next_, f));
    return true;
  }

 private:
  static constexpr std::size_t kAtOnce = 64;  // or a few more; then others have their turn

  template <class F>
  std::size_t take_word(std::size_t word, F& f) {
    std::byte* bytes = told_ + word * sizeof(std::uint64_t);
    if (__atomic_load_n(reinterpret_cast<std::uint64_t*>(bytes), __ATOMIC_RELAXED) == 0) return 0;
    std::size_t n = 0;
    for (std::size_t i = 0; i < sizeof(std::uint64_t); ++i) {
      // Before f looks at the shard: what changes after that is told again.
      if (std::atomic_ref(bytes[i]).exchange(std::byte{0}, std::memory_order_acq_rel) == std::byte{0})
        continue;
      f(word * sizeof(std::uint64_t) + i);
      ++n;
    }
    return n;
  }

  std::uint64_t* count_;
  std::byte* told_;
  std::size_t homes_, words_;
  std::uint64_t seen_ = 0;
  std::size_t next_ = 0, left_ = 0;  // words to look at
};

}  // namespace shm::kv
