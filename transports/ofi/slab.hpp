// SPDX-License-Identifier: BSD-3-Clause
// A fixed number of equal records with a free list: the operation records and the bounce buffers.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace shm::ofi {

/// Records are 64-byte aligned.  Memory that no record has used is never touched: records are handed out last
/// in, first out, and new ones only when none is free, so the resident size follows the peak of use.
/// Thread safety: none; the engine's lock.  in_use() alone may be called by any thread.
/// Invariants: 1. every record is either taken, on the free list, or at an index >= fresh_;
///             2. in_use() == number of take() that returned a record - number of give().
class Slab {
 public:
  /// Reserves address space for `count` records; ends the job if there is none.
  Slab(std::size_t record_size, std::size_t count);
  ~Slab();
  Slab(const Slab&) = delete;
  Slab& operator=(const Slab&) = delete;

  /// A record with undefined contents, or null when all are taken.
  void* take() {
    if (free_ != nullptr) {
      Link* record = free_;
      free_ = record->next;
      count_in_use(1);
      return record;
    }
    return take_fresh();
  }

  /// REQUIRES: `record` came from take() of this slab and was not given back since.
  void give(void* record) {
    auto* link = static_cast<Link*>(record);
    link->next = free_;
    free_ = link;
    count_in_use(-1);
  }

  /// Whether take() would return null; how many are taken; how many there are.
  bool exhausted() const { return free_ == nullptr && fresh_ == count_; }
  std::size_t in_use() const { return in_use_.load(std::memory_order_relaxed); }
  std::size_t capacity() const { return count_; }

  /// The whole range, for registration with a provider.
  std::byte* base() const { return base_; }
  std::size_t bytes() const { return record_size_ * count_; }

 private:
  // A free record holds the next free one.
  struct Link {
    Link* next;
  };
  void* take_fresh();
  // Only one thread writes at a time: no read-modify-write.
  void count_in_use(int change) {
    in_use_.store(in_use() + static_cast<std::size_t>(change), std::memory_order_relaxed);
  }

  std::size_t record_size_;  // a multiple of 64
  std::size_t count_;
  std::size_t fresh_ = 0;  // records below have been used once
  std::atomic<std::size_t> in_use_{0};
  Link* free_ = nullptr;
  std::byte* base_;
};

}  // namespace shm::ofi
