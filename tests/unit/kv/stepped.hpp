// SPDX-License-Identifier: BSD-3-Clause
// A shard's memory that stops before each access, where a test may have something else happen: what threads
// do to each other by chance, at each place where they can, and the same way each time.
#pragma once

#include <cstring>
#include <functional>

#include "kv/shard_operations.hpp"

namespace shm::kv {

/// As Mapped, word by word.  Not thread-safe.
class Stepped {
 public:
  static constexpr bool kWordsAreQuick = true;

  /// `step` is called before each access; it must not access the memory through this object.
  Stepped(std::byte* shard, const std::function<void()>& step) : memory_(shard), step_(&step) {}

  template <class T>
  T load(std::uint64_t at) const {
    (*step_)();
    return memory_.load<T>(at);
  }
  template <class T>
  void store(std::uint64_t at, T word) const {
    (*step_)();
    memory_.store(at, word);
  }
  template <class T>
  T add(std::uint64_t at, T more) const {
    (*step_)();
    return memory_.add(at, more);
  }
  template <class T>
  bool compare_swap(std::uint64_t at, T expected, T desired) const {
    (*step_)();
    return memory_.compare_swap(at, expected, desired);
  }

  void prefetch(std::uint64_t) const {}
  void expect(std::uint64_t, bool) const {}
  void read(std::uint64_t at, void* to, std::size_t n) const {
    auto* out = static_cast<std::byte*>(to);
    for (std::size_t done = 0; done < n; done += 8) {
      const auto word = load<std::uint64_t>(at + done);
      std::memcpy(out + done, &word, std::min<std::size_t>(8, n - done));
    }
  }
  void write(std::uint64_t at, const void* from, std::size_t n) const {
    const auto* in = static_cast<const std::byte*>(from);
    for (std::size_t done = 0; done < n; done += 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, in + done, std::min<std::size_t>(8, n - done));
      store(at + done, word);
    }
  }
  bool is(std::uint64_t at, const void* bytes, std::size_t n) const {
    (*step_)();
    return memory_.is(at, bytes, n);
  }
  void look_again(unsigned) const { (*step_)(); }

 private:
  Mapped memory_;
  const std::function<void()>* step_;
};

}  // namespace shm::kv
