// SPDX-License-Identifier: BSD-3-Clause
// Which states a model has been in: hashes of 64 bits.
#pragma once

#define XXH_INLINE_ALL
#include <sys/mman.h>
#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <type_traits>
#include <vector>

namespace shm::model {

/// Of a state that has no padding.
template <class State>
std::uint64_t hash_of(const State& state) {
  static_assert(std::has_unique_object_representations_v<State>);
  const std::uint64_t hash = XXH3_64bits(&state, sizeof(state));
  return hash == 0 ? 1 : hash;
}

/// Memory of huge pages, as who looks up a hash misses the cache, and would miss the TLB.
template <class Element>
struct OnHugePages {
  using value_type = Element;
  static constexpr std::size_t kHugePage = std::size_t{2} << 20;

  Element* allocate(std::size_t n) {
    const std::size_t bytes = (n * sizeof(Element) + kHugePage - 1) / kHugePage * kHugePage;
    void* at = std::aligned_alloc(kHugePage, bytes);
    if (at == nullptr) throw std::bad_alloc();
    madvise(at, bytes, MADV_HUGEPAGE);
    return static_cast<Element*>(at);
  }
  void deallocate(Element* at, std::size_t) { std::free(at); }
  bool operator==(const OnHugePages&) const = default;
};

/// Hashes of visited states, with their numbers; open addressing, 0 is free.
class Visited {
 public:
  Visited() : slots_(1 << 16) {}

  /// What add() is about to look at comes into the cache.
  void prefetch(std::uint64_t hash) const { __builtin_prefetch(&slots_[hash & (slots_.size() - 1)]); }

  /// The number of the state: `next` if it is new.
  std::uint32_t add(std::uint64_t hash, std::uint32_t next) {
    if (2 * (count_ + 1) > slots_.size()) grow();
    Slot& slot = find(hash);
    if (slot.hash == hash) return slot.number;
    slot = {hash, next};
    ++count_;
    return next;
  }

 private:
  struct Slot {
    std::uint64_t hash = 0;
    std::uint32_t number = 0;
  };
  using Slots = std::vector<Slot, OnHugePages<Slot>>;

  Slot& find(std::uint64_t hash) {
    std::size_t i = hash & (slots_.size() - 1);
    while (slots_[i].hash != 0 && slots_[i].hash != hash) i = (i + 1) & (slots_.size() - 1);
    return slots_[i];
  }
  void grow() {
    Slots old(slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.hash != 0) find(slot.hash) = slot;
    }
  }

  Slots slots_;
  std::size_t count_ = 0;
};

}  // namespace shm::model
