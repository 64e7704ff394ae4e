// SPDX-License-Identifier: BSD-3-Clause
// Names for what waits for an answer: what travels is a number, and a number that names nothing, or nothing
// any more, is found out.
#pragma once

#include <array>
#include <cassert>
#include <cstdint>

#include "base/mutex.hpp"
#include "base/spin.hpp"

namespace shm {

/// A name is a place, and how often others have had that place before: it comes again after 2^32 of
/// them.  Thread safety: any thread.  The lock is held for some instructions; places never move, and more of
/// them are made without it.
template <class Entry>
class Names {
 public:
  Names() = default;
  ~Names() {
    for (const Place* segment : segments_) delete[] segment;
  }
  Names(const Names&) = delete;
  Names& operator=(const Names&) = delete;

  /// Never 0.
  std::uint64_t add(const Entry& entry) {
    for (;; grow()) {
      const LockGuard guard(lock_);
      if (free_ == nullptr) [[unlikely]]
        continue;
      Place& place = *free_;
      free_ = place.next_free;
      place.name &= ~kFree;
      place.entry = entry;
      return place.name;
    }
  }

  /// False: there is none of that name.
  bool find(std::uint64_t name, Entry& entry) const {
    const LockGuard guard(lock_);
    const Place* place = place_of(name);
    if (place == nullptr) return false;
    entry = place->entry;
    return true;
  }

  /// Names it no more.  False: there was none of that name.
  bool take(std::uint64_t name, Entry& entry) {
    const LockGuard guard(lock_);
    Place* place = place_of(name);
    if (place == nullptr) return false;
    entry = place->entry;
    place->name = (name + (std::uint64_t{1} << 32)) | kFree;
    place->next_free = free_;
    free_ = place;
    return true;
  }

 private:
  // The lower half of a name is the number of its place, whose highest bit says which segment: that of bit k
  // has 2^k places.
  static constexpr unsigned kFirstBit = 6, kBits = 31;
  static constexpr std::uint64_t kFree = std::uint64_t{1} << kBits;

  struct Place {
    std::uint64_t name = 0;  // with kFree: the next that it will have
    Place* next_free = nullptr;
    Entry entry{};
  };

  // Null: there is none of that name.
  Place* place_of(std::uint64_t name) const REQUIRES(lock_) {
    const auto number = static_cast<std::uint32_t>(name);
    const unsigned bit = 31U ^ static_cast<unsigned>(__builtin_clz(number | 1U));
    if (segments_[bit] == nullptr) return nullptr;
    Place& place = segments_[bit][number & ~(1U << bit)];
    return place.name == name ? &place : nullptr;
  }

  [[gnu::cold, gnu::noinline]] void grow() EXCLUDES(lock_) {
    const LockGuard growing(growing_);
    {
      const LockGuard guard(lock_);
      if (free_ != nullptr) return;  // another thread has
    }
    assert(next_bit_ < kBits);  // or there are 2^31 of them
    const std::uint32_t n = std::uint32_t{1} << next_bit_;
    auto* places = new Place[n];
    for (std::uint32_t i = 0; i < n; ++i) {
      places[i].name = kFree | n | i;
      places[i].next_free = i + 1 < n ? &places[i + 1] : nullptr;
    }
    const LockGuard guard(lock_);
    segments_[next_bit_++] = places;
    places[n - 1].next_free = free_;
    free_ = places;
  }

  mutable SpinLock lock_;
  Place* free_ GUARDED_BY(lock_) = nullptr;
  std::array<Place*, kBits + 1> segments_ GUARDED_BY(lock_){};  // the last is never there
  Mutex growing_;                                               // taken before lock_
  unsigned next_bit_ GUARDED_BY(growing_) = kFirstBit;
};

}  // namespace shm
