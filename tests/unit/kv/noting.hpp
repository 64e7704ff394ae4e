// SPDX-License-Identifier: BSD-3-Clause
// A shard's memory that tells which bytes are accessed.
#pragma once

#include "kv/shard_operations.hpp"

namespace shm::kv {

/// As Mapped; calls note(at, n) before each access.
template <class Note>
class Noting {
 public:
  static constexpr bool kWordsAreQuick = true;

  Noting(std::byte* shard, Note note) : memory_(shard), note_(note) {}

  template <class T>
  T load(std::uint64_t at) const {
    return note_(at, sizeof(T)), memory_.load<T>(at);
  }
  template <class T>
  void store(std::uint64_t at, T word) const {
    note_(at, sizeof(T)), memory_.store(at, word);
  }
  template <class T>
  T add(std::uint64_t at, T more) const {
    return note_(at, sizeof(T)), memory_.add(at, more);
  }
  template <class T>
  bool compare_swap(std::uint64_t at, T expected, T desired) const {
    return note_(at, sizeof(T)), memory_.compare_swap(at, expected, desired);
  }
  void prefetch(std::uint64_t) const {}
  void expect(std::uint64_t, bool) const {}
  void read(std::uint64_t at, void* to, std::size_t n) const { note_(at, n), memory_.read(at, to, n); }
  void write(std::uint64_t at, const void* from, std::size_t n) const {
    note_(at, n), memory_.write(at, from, n);
  }
  bool is(std::uint64_t at, const void* bytes, std::size_t n) const {
    return note_(at, n), memory_.is(at, bytes, n);
  }
  void look_again(unsigned) const {}

 private:
  Mapped memory_;
  Note note_;
};

}  // namespace shm::kv
