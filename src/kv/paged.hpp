// SPDX-License-Identifier: BSD-3-Clause
// A shard in the heap on NVM: of any PE, reached through the pages that this node has in memory, or where
// they are.  The same members as Mapped's (kv/memory.hpp).  A store is done when it returns, and that heap is
// coherent, so what Mapped orders by release and acquire is in order here.
#pragma once

#include <algorithm>
#include <cstring>

#include "core/region.hpp"
#include "core/runtime.hpp"

namespace shm::kv {

/// Whether the bytes lie in a region such as the heap on NVM, where a page may have to come first.  Nobody
/// may wait for one who holds a lock of a shard or handles a message: what drives the network for it may be
/// waiting for him.
inline bool may_fault(const void* bytes, std::size_t n) { return on_pages(bytes, n); }

class Paged {
 public:
  static constexpr bool kWordsAreQuick = false;

  /// Of PE `pe`, whose shard is at the same place of the heap as `shard` is of this PE's.
  Paged(const std::byte* shard, int pe)
      : region_(find_region(shard, 1)), shard_(reinterpret_cast<std::uintptr_t>(shard)), pe_(pe) {}

  template <class T>
  T load(std::uint64_t at) const {
    T word;
    region_->get(nullptr, &word, shard_ + at, sizeof word, pe_, false);
    return word;
  }
  template <class T>
  void store(std::uint64_t at, T word) const {
    region_->put(nullptr, shard_ + at, &word, sizeof word, pe_, false);
  }
  template <class T>
  T add(std::uint64_t at, T more) const {
    return atomic(AtomicOp::add, at, more, T{});
  }
  template <class T>
  bool compare_swap(std::uint64_t at, T expected, T desired) const {
    return atomic(AtomicOp::compare_swap, at, desired, expected) == expected;
  }

  void prefetch(std::uint64_t) const {}
  /// For a shard of this node, whose pages had better be here.  From other nodes Table has chosen.
  void expect(std::uint64_t at, bool writes) const {
    if (rt.heap.delta[pe_] != kNoMapping) region_->bring(shard_ + at, pe_, writes);
  }
  void read(std::uint64_t at, void* to, std::size_t n) const {
    if (n != 0) region_->get(nullptr, to, shard_ + at, n, pe_, false);
  }
  void write(std::uint64_t at, const void* from, std::size_t n) const {
    if (n != 0) region_->put(nullptr, shard_ + at, from, n, pe_, false);
  }
  bool is(std::uint64_t at, const void* bytes, std::size_t n) const {
    std::byte some[256];
    for (std::size_t done = 0; done < n; done += sizeof some) {
      const std::size_t now = std::min(n - done, sizeof some);
      read(at + done, some, now);
      if (std::memcmp(some, static_cast<const std::byte*>(bytes) + done, now) != 0) return false;
    }
    return true;
  }

  /// Who changes it may wait for a page, and that for the network of this PE.
  void look_again(unsigned looks) const;

 private:
  template <class T>
  T atomic(AtomicOp op, std::uint64_t at, T value, T compare) const {
    T old;
    region_->amo(nullptr, shard_ + at, op, atomic_type<T>(), &value, &compare, &old, pe_, false);
    return old;
  }

  Region* region_;
  std::uintptr_t shard_;
  int pe_;
};

}  // namespace shm::kv
